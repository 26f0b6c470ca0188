"""What clients of a database saw: sessions of transactions that read and wrote values of keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, overload


class Status(Enum):
    """How a transaction ended. UNKNOWN: the client got no answer."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "indeterminate"


class Kind(Enum):
    """What an operation does. READ shows a value, READ_LIST a whole list, APPEND adds one element to it."""

    WRITE = "w"
    APPEND = "append"
    READ = "r"
    READ_LIST = "r list"


READS = (Kind.READ, Kind.READ_LIST)


class Op(NamedTuple):
    """One operation.

    `key`: the key as the file shows it. `value`: what was written or read; of a list a tuple; None: the
    version before the run. `writer`: of a read the writing transaction and its number of the write, where a
    file names them.
    """

    kind: Kind
    key: str
    value: object
    writer: tuple[int, int] | None = None


class Window(NamedTuple):
    """When a client began and ended a transaction: positions in one order of events."""

    begin: float
    end: float


@dataclass(slots=True)
class Transaction:
    """One transaction. `number`: as it is called, T5. `place`: where it stands in the file.

    `window`: by the order of the file, `timed`: by its times; None: the file does not say. `commit`: the
    commit timestamp of the database, `start`: its start timestamp.
    """

    number: int
    session: str
    status: Status
    ops: Sequence[Op]
    place: str
    window: Window | None = None
    timed: Window | None = None
    start: tuple[int, int] | None = None
    commit: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What a format can record. What it cannot is unknown, never absent (history_formats, "unknown").

    `aborts`: aborted transactions; `sessions`, `real_time`: the order of transactions for one client, for
    all. `lists`: reads show whole lists, and with them the order of versions; `stamps`: commit timestamps do.
    `initial`: the values that mean "before the run" where nobody wrote them. `loaded`: those of them that the
    user names; who writes one again hides what a read of it shows. `complete`: every committed
    write is in the file, so a value that nobody wrote there was never committed. `converted`: a program has
    written the file from another one and kept, of each transaction and key, the first read and the last
    write, so that the order inside a transaction is lost. `assumed`: what the user assumes of versions.
    """

    aborts: bool
    sessions: bool = True
    real_time: bool = False
    lists: bool = False
    stamps: bool = False
    initial: frozenset[object] = frozenset({None})
    loaded: frozenset[object] = frozenset()
    complete: bool = False
    converted: bool = False
    assumed: tuple[str, ...] = ()

    def assumes(self, assumption: Assumption) -> bool:
        """Tells whether something is assumed of the versions of one key."""
        return assumption.value in self.assumed


class LazyTransactions(Sequence[Transaction], ABC):
    """A sequence that builds each transaction on access, so that a million fit in memory."""

    @abstractmethod
    def made(self, index: int) -> Transaction:
        """Returns one, by its index from 0."""

    @overload
    def __getitem__(self, index: int) -> Transaction: ...

    @overload
    def __getitem__(self, index: slice) -> list[Transaction]: ...

    def __getitem__(self, index: int | slice) -> Transaction | list[Transaction]:
        if isinstance(index, slice):
            return [self.made(at) for at in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.made(index % len(self))

    @abstractmethod
    def number_of(self, index: int) -> int:
        """Returns the number of one, which is not made for it."""

    @abstractmethod
    def status_of(self, index: int) -> Status:
        """Returns how one ended."""

    @abstractmethod
    def session_of(self, index: int) -> str:
        """Returns the session of one."""

    @abstractmethod
    def in_real_time(self, *, by_time: bool) -> LazyTransactions:
        """Returns them with the real time of one order alone."""


class Assumption(Enum):
    """What a user says of versions of one key, because nothing in a file of registers tells their order.

    WRITES_FOLLOW_READS: who reads a version and then writes the key has written a later one. SESSIONS: of
    two writes of one session the second one is later. REAL_TIME: a write that was over before another one
    began is earlier.
    """

    WRITES_FOLLOW_READS = "writes-follow-reads"
    SESSIONS = "sessions"
    REAL_TIME = "real-time"


class RealTime(Enum):
    """By what it is decided that one transaction was over before another one began."""

    BOTH = "both"
    FILE = "file"
    TIME = "time"


AGREED = "real time is what the order of the file and :time agree on"
"""Said of a history whose times go back."""


@dataclass(slots=True)
class Observed:
    """A history as clients saw it. Transactions of one session are in its order.

    `notes`: what a reader had to say about the file. `follows`: pairs (a, b) of transactions whose write of
    some key b's write replaced, where the file says so.
    """

    name: str
    transactions: Sequence[Transaction]
    records: Records
    notes: list[str] = field(default_factory=list)
    follows: list[tuple[int, int]] = field(default_factory=list)

    def in_real_time(self, order: RealTime) -> Observed:
        """Returns the history with the real time of one order, where the file has two that differ."""
        if order is RealTime.BOTH:
            return self
        by_time, transactions = order is RealTime.TIME, self.transactions
        if isinstance(transactions, LazyTransactions):
            transactions = transactions.in_real_time(by_time=by_time)
        elif any(each.timed is not None for each in transactions):
            transactions = [
                replace(each, window=each.timed if by_time else each.window, timed=None)
                for each in transactions
            ]
        else:
            return self
        chosen = f"real time is by {order.value}"
        notes = [note.replace(AGREED, chosen) for note in self.notes]
        return replace(self, transactions=transactions, notes=notes)

    def number(self, index: int) -> int:
        """Returns the number of a transaction."""
        held = self.transactions
        return held.number_of(index) if isinstance(held, LazyTransactions) else held[index].number

    def status(self, index: int) -> Status:
        """Returns how a transaction ended."""
        held = self.transactions
        return held.status_of(index) if isinstance(held, LazyTransactions) else held[index].status

    def session(self, index: int) -> str:
        """Returns the session of a transaction."""
        held = self.transactions
        return held.session_of(index) if isinstance(held, LazyTransactions) else held[index].session

    def by_session(self) -> Mapping[str, list[Transaction]]:
        """Returns the transactions of each session, in its order."""
        sessions: dict[str, list[Transaction]] = {}
        for transaction in self.transactions:
            sessions.setdefault(transaction.session, []).append(transaction)
        return sessions


LONG = 8
"""Elements of a list that are shown; of a longer one the last ones."""


def value_text(value: object) -> str:
    """Returns a value as people read it."""
    if isinstance(value, tuple):
        left_out = f"... {len(value) - LONG} more ... " if len(value) > LONG else ""
        return f"[{left_out}{' '.join(map(value_text, value[-LONG:]))}]"
    return "nothing" if value is None else str(getattr(value, "text", value))
