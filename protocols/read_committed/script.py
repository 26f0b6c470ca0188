"""Scripts of a few lines: which session runs which statement, in which order.

`SETUP: CREATE TABLE t (id INT, n INT)` comes first; `T1: UPDATE t SET n = 1` runs a statement in session T1;
`CLOCK: 60` lets 60 seconds pass. Empty lines and lines that begin with # say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

LINE = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_]*)\s*:\s*(.*?);?\s*$", re.DOTALL)


class ScriptError(ValueError):
    """A script that cannot be run; the message names the line."""


class Kind(Enum):
    """What a statement does with transactions."""

    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    SET = "set a parameter"
    DISCONNECT = "the session is lost"
    CLOSE = "the session is closed"
    LOGIN = "log in"
    ABORT = "abort a transaction"
    SELECT = "read"
    INSERT = "insert"
    CHANGE = "update, delete or merge"
    DDL = "define"
    CALL = "call a procedure"
    REFRESH = "refresh a dynamic table"


PATTERNS: Mapping[Kind, str] = {
    Kind.BEGIN: r"BEGIN(\s+(TRANSACTION|WORK))?|START\s+TRANSACTION",
    Kind.COMMIT: r"COMMIT(\s+WORK)?",
    Kind.ROLLBACK: r"ROLLBACK(\s+WORK)?",
    Kind.SET: r"ALTER\s+(?:SESSION|ACCOUNT)\s+SET\s+(?P<name>\w+)\s*=\s*(?P<value>\w+)",
    Kind.DISCONNECT: r"DISCONNECT",
    Kind.CLOSE: r"CLOSE",
    Kind.LOGIN: r"LOGIN\s+(?P<user>\w+)(?P<admin>\s+ADMIN)?",
    Kind.ABORT: r"(?:SELECT|CALL)\s+SYSTEM\$ABORT_TRANSACTION\s*\(\s*'?(?P<session>\w+)'?\s*\)",
    Kind.CALL: r"CALL\s+(?P<procedure>\w+)\s*\(\s*\)",
    Kind.REFRESH: r"ALTER\s+DYNAMIC\s+TABLE\s+(?P<table>\w+)\s+REFRESH",
    Kind.DDL: r"(?:CREATE|DROP|ALTER|TRUNCATE)\b.*",
    Kind.INSERT: r"INSERT\b.*",
    Kind.CHANGE: r"(?:UPDATE|DELETE|MERGE)\b.*",
    Kind.SELECT: r"(?:SELECT|WITH)\b.*",
}
"""By kind the text of a statement; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `words`: what its pattern names. `line`: where it stands in the script, from 1."""

    kind: Kind
    text: str
    words: tuple[tuple[str, str], ...] = ()
    line: int = 0

    def word(self, name: str) -> str:
        """Returns what a pattern has named; empty if it has not."""
        return dict(self.words).get(name, "")


@dataclass(frozen=True, slots=True)
class Step:
    """A statement in a session, or seconds that pass (then `statement` is None)."""

    session: str
    statement: Statement | None
    seconds: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Script:
    """Statements that make the tables, and the steps of the sessions in the order of the text."""

    setup: tuple[Statement, ...]
    steps: tuple[Step, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions in the order in which they appear."""
        return tuple(dict.fromkeys(step.session for step in self.steps if step.statement is not None))

    def of(self, session: str) -> tuple[Step, ...]:
        """Returns the steps of one session; CLOCK names those of the clock."""
        return tuple(step for step in self.steps if step.session == session)


def statement_of(text: str, line: int = 0) -> Statement:
    """Returns a statement from its text. Raises ScriptError: no kind of statement that the model knows."""
    stripped = " ".join(text.strip().rstrip(";").split())
    for kind, pattern in PATTERNS.items():
        found = re.fullmatch(pattern, stripped, re.IGNORECASE | re.DOTALL)
        if found is not None:
            words = tuple((name, value) for name, value in found.groupdict().items() if value)
            return Statement(kind, stripped, words, line)
    raise ScriptError(
        f"line {line}: {stripped[:60]!r} is no statement that the model runs; there are BEGIN, COMMIT, "
        "ROLLBACK, SELECT, INSERT, UPDATE, DELETE, MERGE, CREATE, DROP, CALL, ALTER SESSION SET, "
        "ALTER DYNAMIC TABLE ... REFRESH, DISCONNECT, CLOSE, LOGIN"
    )


def script_of(text: str) -> Script:
    """Reads a script. Raises ScriptError: a line is not in the form SESSION: STATEMENT."""
    setup: list[Statement] = []
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "--")):
            continue
        found = LINE.match(line)
        if found is None:
            raise ScriptError(f"line {number}: {line.strip()[:60]!r} names no session; write T1: BEGIN")
        session, rest = found[1], found[2]
        if session.upper() == "CLOCK":
            if not (rest.isascii() and rest.isdecimal() and len(rest) < 10):
                raise ScriptError(f"line {number}: CLOCK takes a whole number of seconds, not {rest!r}")
            steps.append(Step("CLOCK", None, int(rest), number))
        elif session.upper() == "SETUP":
            if steps:
                raise ScriptError(f"line {number}: SETUP stands before the first statement of a session")
            setup.append(statement_of(rest, number))
        else:
            steps.append(Step(session, statement_of(rest, number), line=number))
    if not any(step.statement for step in steps):
        raise ScriptError("the script has no statement of a session; write one as T1: SELECT ...")
    return Script(tuple(setup), tuple(steps))
