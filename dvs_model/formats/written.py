"""Histories of clients as text: Jepsen's EDN, Plume's lines, dbcop's `.hist`, TimeKiller's JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from dvs_model.errors import HistoryError
from dvs_model.observed.seen import Kind, Observed, Op, Status, Transaction

TYPES = {Status.COMMITTED: ":ok", Status.ABORTED: ":fail", Status.UNKNOWN: ":info"}


def edn(observed: Observed) -> str:
    """Returns the history as Jepsen writes it: invocations and completions of transactions, in order."""
    moments: list[tuple[float, int, str]] = []
    numbers = _sessions(observed)
    for place, each in enumerate(observed.transactions):
        begin, end = (2.0 * place, 2.0 * place + 1) if each.window is None else each.window
        head = f":process {numbers[each.session]}"
        moments.append((begin, 2 * place, f"{{:type :invoke, {head}, :value [{_ops(each, shown=False)}]}}"))
        if end != float("inf"):
            done = f"{{:type {TYPES[each.status]}, {head}, :value [{_ops(each, shown=True)}]}}"
            moments.append((end, 2 * place + 1, done))
    return "".join(f"{line}\n" for _, _, line in sorted(moments, key=lambda moment: moment[:2]))


def _sessions(observed: Observed) -> Mapping[str, int]:
    """Returns the number of each session: its own, or one by their order where a name is no number."""
    names = dict.fromkeys(each.session for each in observed.transactions)
    if all(name.isdigit() for name in names):
        return {name: int(name) for name in names}
    return {name: number for number, name in enumerate(names, 1)}


def _ops(transaction: Transaction, *, shown: bool) -> str:
    return " ".join(_op(op, shown=shown) for op in transaction.ops)


def _op(op: Op, *, shown: bool) -> str:
    word = {Kind.WRITE: ":w", Kind.APPEND: ":append"}.get(op.kind, ":r")
    value = "nil" if word == ":r" and not shown else _value(op.value)
    # A key of a file of EDN is kept as it stands there.
    key = op.key if re.fullmatch(r'[^\s"\[\](){}]+|"[^"]*"', op.key) else json.dumps(op.key)
    return f"[{word} {key} {value}]"


def _value(value: object) -> str:
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{' '.join(map(_value, value))}]"
        case bool() | int() | float():
            return str(value).lower()
        case _:
            return json.dumps(str(value))


def plume(observed: Observed) -> str:
    """Returns the lines of Plume, PolySI and IsoVista.

    Raises HistoryError: a list, or a key or value that is no number.
    """
    sessions, lines = _sessions(observed), []
    for each in observed.transactions:
        txn = -1 if each.status is Status.ABORTED else each.number
        for op in each.ops:
            if txn != -1 or op.kind is Kind.WRITE:
                word = "w" if op.kind is Kind.WRITE else "r"
                lines.append(f"{word}({_number(op.key)},{_plain(op)},{sessions[each.session]},{txn})\n")
    return "".join(lines)


def hist(observed: Observed) -> str:
    """Returns dbcop's `.hist`: a line for each transaction, and one that ends each session.

    Raises HistoryError: a list, or a value that is no number.
    """
    sessions: dict[str, list[str]] = {}
    for each in observed.transactions:
        ops = " ".join(_event(op) for op in each.ops)
        end = "!" if each.status is Status.ABORTED else ""
        sessions.setdefault(each.session, []).append(f"[{ops}]{end}")
    return "---\n".join("".join(f"{text}\n" for text in texts) for texts in sessions.values())


def timekiller(observed: Observed) -> str:
    """Returns TimeKiller's JSON. Raises HistoryError: a transaction that has no timestamps, or aborted."""
    numbers = _sessions(observed)
    return (
        json.dumps([_stamped(each, numbers[each.session]) for each in observed.transactions], indent=1) + "\n"
    )


def _stamped(each: Transaction, session: int) -> Mapping[str, object]:
    if each.start is None or each.commit is None or each.status is not Status.COMMITTED:
        raise HistoryError("TimeKiller's JSON has committed transactions with the database's timestamps")
    words = {Kind.WRITE: "w", Kind.APPEND: "a"}
    return {
        "tid": each.number,
        "sid": session,
        "sts": dict(zip("pl", each.start, strict=True)),
        "cts": dict(zip("pl", each.commit, strict=True)),
        "ops": [
            {
                "t": words.get(op.kind, "r"),
                "k": int(op.key),
                "v": list(op.value) if isinstance(op.value, tuple) else op.value,
            }
            for op in each.ops
        ],
    }


def _event(op: Op) -> str:
    key = f"k{op.key}" if op.key[:1].isdigit() else op.key
    if op.kind is Kind.WRITE:
        return f"{key}:={_plain(op)}"
    return f"{key}==?" if op.value is None else f"{key}=={_plain(op)}"


def _plain(op: Op) -> str:
    """Returns the value of an operation on a register."""
    if op.kind in (Kind.APPEND, Kind.READ_LIST):
        raise HistoryError("this format has no lists; write .edn")
    return "0" if op.value is None else _number(op.value)


def _number(value: object) -> str:
    text = str(value)
    if not text.isdigit():
        raise HistoryError(f"this format has numbers alone, and {text!r} is none; write .edn")
    return text


WRITERS: Mapping[str, Callable[[Observed], str]] = {
    ".edn": edn,
    ".txt": plume,
    ".hist": hist,
    ".json": timekiller,
}
"""The writer of a format by the suffix of the file."""
