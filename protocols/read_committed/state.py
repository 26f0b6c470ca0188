"""What the model holds: committed rows, open transactions, sessions, locks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dvs_model.histories.draft import Name
from protocols.read_committed.rows import Value
from protocols.read_committed.script import Statement

LOCK_TIMEOUT = 43_200
"""Seconds that a statement waits for a lock by default, as in Snowflake."""

IDLE = 4 * 3_600
"""Seconds after which an open transaction without a statement is rolled back, as in Snowflake."""


@dataclass(frozen=True, slots=True)
class Row:
    """One version of a row. `partition`: the micro-partition that holds it. `dead`: it was deleted."""

    values: tuple[Value, ...]
    partition: int
    version: Name
    dead: bool = False


Contents = Mapping[str, Mapping[str, Row]]
"""By table the committed rows by id, deleted ones too: a version set must tell them from rows to come.

A commit makes a new mapping, so a snapshot is a reference."""


@dataclass(slots=True)
class Transaction:
    """An open transaction. `number`: its name in the history.

    `changes`: its own rows by table and id, deleted ones too.
    `explicit`: begun by BEGIN, or by a statement while AUTOCOMMIT is off. `counts`: by row id its own
    modifications so far. `session`: empty after the session was lost.
    """

    number: int
    owner: str
    session: str
    explicit: bool
    last_statement: int
    changes: dict[str, dict[str, Row]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    in_procedure: bool = False


@dataclass(slots=True)
class Waiting:
    """A statement that waits for locks. `snapshot`: what was committed when it began; `order`: its number.

    `owner`: the transaction that holds the lock; `since`: the time from which its timeout counts.
    """

    statement: Statement
    snapshot: Contents
    order: int
    since: int
    partitions: frozenset[int]
    owner: int


@dataclass(slots=True)
class Session:
    """A session. `open`: its transactions, the innermost last; more than one only inside procedures.

    `queue`: statements of a procedure that are still to run; None ends the procedure. `in_procedure`: for
    each procedure that runs, the outermost first, how many transactions were open when it was called.
    """

    name: str
    user: str = "user"
    admin: bool = False
    autocommit: bool = True
    abort_on_error: bool = False
    lock_timeout: int = LOCK_TIMEOUT
    open: list[Transaction] = field(default_factory=list)
    waiting: Waiting | None = None
    queue: list[Statement | None] = field(default_factory=list)
    lost: bool = False
    in_procedure: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the trace: when, which session, which statement, what came of it.

    `waits_for`: the transactions that hold what the statement needs, such as T1.
    """

    time: int
    session: str
    statement: str
    outcome: str
    waits_for: tuple[str, ...] = ()
