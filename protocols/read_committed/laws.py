"""What each step of a script must do to the committed rows and to the open transactions, and to nothing else.

The history of a run records what the machine did; so a machine that commits too much or too little shows a
history that is fine. These laws say what each statement may do, from the statement alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dvs_model.histories.draft import Name
from protocols.read_committed.machine import Machine
from protocols.read_committed.script import Kind, Statement, Step
from protocols.read_committed.state import Contents, Row, Session

TABLE = re.compile(
    r"(?P<word>CREATE|DROP)\s+(?P<dynamic>DYNAMIC\s+)?TABLE\s+(IF\s+(NOT\s+)?EXISTS\s+)?"
    r"(?:\w+\.)*\"?(?P<name>\w+)",
    re.IGNORECASE,
)

JUDGED = (
    Kind.SELECT,
    Kind.INSERT,
    Kind.CHANGE,
    Kind.REFRESH,
    Kind.BEGIN,
    Kind.COMMIT,
    Kind.ROLLBACK,
    Kind.DDL,
)
"""The statements with a law; the others are about sessions and procedures."""


@dataclass(frozen=True, slots=True)
class Before:
    """A machine before a step: what is committed, what is open, who waits, and how much was recorded.

    `open`: by number the session of a transaction, and the rows that it has written so far. `own`: the open
    transactions of the session of the step. `events`: how many are recorded.
    """

    committed: Contents
    open: Mapping[int, tuple[str, Mapping[str, Mapping[str, Row]]]]
    waiting: frozenset[str]
    own: tuple[int, ...]
    events: int


def before(machine: Machine, step: Step) -> Before | None:
    """Returns what a machine holds before a step; None: the step has no law.

    Nor has a step beside a procedure that waits: it may go on in this step, and do whatever it says.
    """
    if step.statement is None or step.statement.kind not in JUDGED:
        return None
    session = machine.session(step.session)
    if session.lost or session.in_procedure or session.abort_on_error:
        return None
    sessions = machine.sessions.values()
    if any(one.waiting is not None and (one.in_procedure or one.queue) for one in sessions):
        return None
    return Before(
        committed=machine.committed,
        open={
            each.number: (one.name, {name: dict(rows) for name, rows in each.changes.items()})
            for one in sessions
            for each in one.open
        },
        waiting=frozenset(one.name for one in sessions if one.waiting is not None),
        own=tuple(each.number for each in session.open),
        events=len(machine.recorder.events),
    )


def broken(old: Before, machine: Machine, step: Step) -> str:
    """Returns which law a step has broken; empty if none."""
    statement = step.statement
    assert statement is not None
    ended = {
        event.txn: event.kind == "c"
        for event in machine.recorder.events[old.events :]
        if event.kind in ("c", "a")
    }
    due = _due(old, statement)
    wrong = _ends(old, ended, due) or _rows(old, machine, ended, due, statement) or _both(machine)
    if not wrong and statement.kind is Kind.DDL:
        wrong = _tables(old, machine, statement) or _left(machine.session(step.session))
    if not wrong and statement.kind is Kind.REFRESH:
        wrong = _apart(old, machine, step, statement.word("table").lower())
    return wrong and f"{step.session}: {statement.text}: {wrong}"


def _due(old: Before, statement: Statement) -> Mapping[int, bool]:
    """Returns the open transactions that a statement ends, and whether they commit."""
    match statement.kind:
        case Kind.DDL:
            return dict.fromkeys(old.own, True)
        case Kind.COMMIT | Kind.ROLLBACK:
            return dict.fromkeys(old.own[-1:], statement.kind is Kind.COMMIT)
        case _:
            return {}


def _ends(old: Before, ended: Mapping[int, bool], due: Mapping[int, bool]) -> str:
    """Returns which transaction a step has wrongly ended or left open; empty if none.

    `ended`: those that it ended, and whether they commit. `due`: those that it must end.
    """
    for number, commits in due.items():
        if ended.get(number) is not commits:
            must = "be committed" if commits else "be rolled back"
            return f"T{number} must {must} by it"
    for number in ended.keys() - due.keys():
        # What waited may go on and end by itself, and so may what began in this step.
        if number in old.open and old.open[number][0] not in old.waiting:
            return f"T{number} ends with it"
    return ""


def _rows(
    old: Before,
    machine: Machine,
    ended: Mapping[int, bool],
    due: Mapping[int, bool],
    statement: Statement,
) -> str:
    """Returns which committed row or table is wrong: neither of before nor of what has committed."""
    expected = {name: dict(rows) for name, rows in old.committed.items()}
    for number in (number for number, commits in due.items() if commits):
        for name, rows in old.open[number][1].items():
            expected.setdefault(name, {}).update(rows)
    others = {number for number, commits in ended.items() if commits and number not in due}
    dropped = _named(statement) if statement.kind is Kind.DDL else ""
    for name, rows in machine.committed.items():
        for identity in expected.get(name, {}).keys() | rows.keys():
            row, right = rows.get(identity), expected.get(name, {}).get(identity)
            if row != right and not (row is not None and row.version.txn in others):
                return (
                    f"of table {name} row {identity} must be {_shown(right)} after it, and is {_shown(row)}"
                )
    lost = [name for name in expected if name not in machine.committed and name != dropped]
    return f"table {lost[0]} is gone after it" if lost else ""


def _both(machine: Machine) -> str:
    """Returns which row two sessions have changed at once, which locks are there to prevent; else empty."""
    changed: dict[tuple[str, str], tuple[str, int]] = {}
    for session in machine.sessions.values():
        for transaction in session.open:
            for name, rows in transaction.changes.items():
                for identity in rows:
                    other, number = changed.setdefault((name, identity), (session.name, transaction.number))
                    if other != session.name:
                        numbers = f"T{number} and T{transaction.number}"
                        return f"{numbers} have both changed row {identity} of table {name}"
    return ""


def _apart(old: Before, machine: Machine, step: Step, name: str) -> str:
    """Returns which dynamic table a refresh has read without refreshing it to its own data timestamp.

    Nothing is said of a refresh that failed or waits: the table has the version that it had.
    """
    session = machine.session(step.session)
    after: list[Mapping[str, Mapping[str, Row]]] = [each.changes for each in reversed(session.open)]
    before = [old.open[number][1] for number in reversed(old.own)]
    version = _version([*after, machine.committed], name)
    if version is None or version == _version([*before, old.committed], name):
        return ""
    for other in machine.dynamic.upstream(name):
        read = _version([*after, machine.committed], other)
        if read is None or read.txn != version.txn:
            return f"{name} was refreshed in T{version.txn}, and {other}, which it reads, was not"
    return ""


def _version(layers: Sequence[Mapping[str, Mapping[str, Row]]], name: str) -> Name | None:
    """Returns the version of a dynamic table, from the first of some layers of rows that has the table."""
    rows = next((layer[name] for layer in layers if layer.get(name)), {})
    return next((row.version for row in rows.values()), None)


def _tables(old: Before, machine: Machine, statement: Statement) -> str:
    """Returns which table CREATE TABLE has not made or DROP TABLE has not dropped; else empty."""
    found = TABLE.match(statement.text)
    if found is None or found["dynamic"] or machine.lines[-1].outcome.startswith("fails"):
        return ""
    name, creates = found["name"].lower(), found["word"].upper() == "CREATE"
    if creates:
        return "" if name in machine.committed else f"there is no table {name} after it"
    dropped = name not in machine.dynamic.definitions
    return f"there is a table {name} after it" if dropped and name in machine.committed else ""


def _left(session: Session) -> str:
    return f"T{session.open[-1].number} is open after it" if session.open else ""


def _named(statement: Statement) -> str:
    found = TABLE.match(statement.text)
    return found["name"].lower() if found is not None and found["word"].upper() == "DROP" else ""


def _shown(row: Row | None) -> str:
    if row is None:
        return "absent"
    return "deleted" if row.dead else str(row.values)
