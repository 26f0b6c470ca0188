"""Writers of register histories as text: for Plume, AWDIT, and dbcop's `.hist`."""

from __future__ import annotations

from dvs_model.errors import HistoryError
from dvs_model.formats.written.plain import by_session, number, sessions_of, value_of
from dvs_model.observed.seen import Kind, Observed, Op, Status


def plume(observed: Observed) -> bytes:
    """Returns the lines of Plume, PolySI and IsoVista.

    Raises HistoryError: a list, a key or value that is no number, or a transaction without an answer.
    """
    # Only for its check: Plume has no transaction without an answer.
    by_session(observed)
    numbers, lines = sessions_of(observed), []
    for each in observed.transactions:
        txn = -1 if each.status is Status.ABORTED else each.number
        for op in each.ops:
            if txn != -1 or op.kind is Kind.WRITE:
                word = "w" if op.kind is Kind.WRITE else "r"
                lines.append(f"{word}({number(op.key)},{value_of(op)},{numbers[each.session]},{txn})\n")
    return "".join(lines).encode()


def awdit(observed: Observed) -> bytes:
    """Returns the text of AWDIT. A first session writes the values from before the run, if any was read.

    Raises HistoryError: a list, a key or value that is no number, or a transaction that did not commit.
    """
    if any(each.status is not Status.COMMITTED for each in observed.transactions):
        raise HistoryError("AWDIT's text has committed transactions alone; write .edn")
    ops = [op for each in observed.transactions for op in each.ops]
    # AWDIT has no mark for "before the run": a first session writes a value that no operation of the key has.
    used = {(op.key, op.value) for op in ops}
    initial = {
        key: next(value for value in range(len(ops) + 1) if (key, value) not in used)
        for key in sorted({op.key for op in ops if op.kind is Kind.READ and op.value is None})
    }

    def line(op: Op) -> str:
        value = value_of(op, zero_marks=False)
        shown = initial[op.key] if op.value is None else value
        return f"{'w' if op.kind is Kind.WRITE else 'r'} {number(op.key)} {shown}\n"

    sessions = [
        "-----\n".join("".join(map(line, each.ops)) for each in mine if each.ops)
        for mine in observed.by_session().values()
    ]
    if initial:
        sessions.insert(0, "".join(f"w {number(key)} {value}\n" for key, value in initial.items()))
    return "=====\n".join(filter(None, sessions)).encode()


def hist(observed: Observed) -> bytes:
    """Returns dbcop's `.hist`: one line for each transaction, and `---` between sessions.

    Raises HistoryError: a list, a value that is no number, a transaction without an answer, a key with other
    characters than letters, digits and _, or two keys that would get one name.
    """
    names = {op.key for each in observed.transactions for op in each.ops}
    if len(set(map(_name, names))) < len(names):
        raise HistoryError("two keys would have one name here, such as 1 and k1; write .edn")
    sessions = [
        "".join(
            f"[{' '.join(map(_event, each.ops))}]{'!' if each.status is Status.ABORTED else ''}\n"
            for each in mine
            if each.ops
        )
        for mine in by_session(observed).values()
    ]
    return "---\n".join(sessions).encode()


def _name(key: str) -> str:
    """Returns a key as the pages of dbcop want a name: a letter or _ comes first."""
    return f"k{key}" if key[:1].isdigit() else key


def _event(op: Op) -> str:
    key = _name(op.key)
    if not (key.isascii() and key.isidentifier()):
        raise HistoryError(f"a name has letters, digits and _, and {op.key[:60]!r} has others; write .edn")
    if op.kind is Kind.READ and op.value is None:
        return f"{key}==?"
    value = value_of(op, 2**64 - 1, zero_marks=False)
    return f"{key}:={value}" if op.kind is Kind.WRITE else f"{key}=={value}"
