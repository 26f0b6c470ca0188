"""The data model of a black-box history: what clients saw of a database, as Jepsen and others record it.

A session is a sequence of transactions of one client; a transaction reads and writes values of keys. Versions
and their order are not recorded: `columns.match` and `columns.versions` recover them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, overload


class Status(Enum):
    """How a transaction ended. UNKNOWN: the client got no answer, so the transaction may have committed."""

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

    `key`: the key as the file shows it. `value`: the value written or read; a tuple if a list was read; None:
    the version before the run. `writer`: of a read, where the file names it: the number of the transaction
    that wrote the value, and the number of the write.
    """

    kind: Kind
    key: str
    value: object
    writer: tuple[int, int] | None = None


class Window(NamedTuple):
    """When a client began and ended a transaction, as positions in one order of events.

    If the end is infinite, no transaction comes after this one: the client got no answer, for example.
    """

    begin: float
    end: float


@dataclass(slots=True)
class Transaction:
    """One transaction, as its client saw it.

    `number`: its name in reports is T and this number. `place`: where it stands in the file. `window`,
    `timed`: when it began and ended, by the order of the file and by the times in it; None: the file does not
    say. `start`, `commit`: timestamps of the database, where clients recorded them.
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
    """What a format can record. What it cannot record is unknown, never absent.

    `aborts`: aborted transactions. `sessions`: the order of the transactions of one client. `real_time`: when
    transactions began and ended. `lists`: reads show whole lists, and with them the order of versions.
    `stamps`: commit timestamps of the database, which give the order of versions. `initial`: the values that
    mean "before the run" where nobody wrote them. `loaded`: those of `initial` that the user names; if one is
    written again, a read of it does not tell what it has read. `complete`: the file has every committed
    write, so a value that nobody wrote there was never committed. `converted`: a program wrote the file from
    another one and kept, of each transaction and key, the first read and the last write, so that the order
    inside a transaction is lost. `assumed`: the values of `Assumption` that the user assumes of versions.
    `partial`: transactions of the file are left out, so that nothing holds, and no value is surely unwritten.
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
    partial: bool = False

    def assumes(self, assumption: Assumption) -> bool:
        """Tells whether something is assumed of the versions of one key."""
        return assumption.value in self.assumed


class LazyTransactions(Sequence[Transaction], ABC):
    """A sequence that builds each transaction on access, so that a million fit in memory."""

    @abstractmethod
    def made(self, index: int) -> Transaction:
        """Builds and returns a transaction, by its index from 0."""

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
    def bare(self, index: int) -> Transaction:
        """Builds and returns a transaction without its operations, by its index from 0."""

    @abstractmethod
    def in_real_time(self, *, by_time: bool) -> LazyTransactions:
        """Returns the transactions with one source of real time: the times of the file, or its order."""


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
    """What tells that a transaction ended before another began: the order of the file, its times, or both."""

    BOTH = "both"
    FILE = "file"
    TIME = "time"


AGREED = "real time is what the order of the file and :time agree on"
"""Said of a history whose times go back."""


@dataclass(slots=True)
class Observed:
    """A history as clients saw it. The transactions of a session stand in its order.

    `notes`: remarks of the file's reader, for the report. `follows`: pairs (a, b) of numbers of transactions,
    of which the file says that b's write of some key replaced a's.
    """

    name: str
    transactions: Sequence[Transaction]
    records: Records
    notes: list[str] = field(default_factory=list)
    follows: list[tuple[int, int]] = field(default_factory=list)

    def in_real_time(self, order: RealTime) -> Observed:
        """Returns the history with one source of real time, where the file has two that differ."""
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

    def bare(self, index: int) -> Transaction:
        """Returns a transaction, without its operations where it is built for this call."""
        transactions = self.transactions
        return transactions.bare(index) if isinstance(transactions, LazyTransactions) else transactions[index]

    def number(self, index: int) -> int:
        """Returns the number of a transaction."""
        return self.bare(index).number

    def status(self, index: int) -> Status:
        """Returns how a transaction ended."""
        return self.bare(index).status

    def session(self, index: int) -> str:
        """Returns the session of a transaction."""
        return self.bare(index).session

    def by_session(self) -> Mapping[str, list[Transaction]]:
        """Returns the transactions of each session, in its order."""
        sessions: dict[str, list[Transaction]] = {}
        for transaction in self.transactions:
            sessions.setdefault(transaction.session, []).append(transaction)
        return sessions


LONG = 8
"""Elements of a list that reports show. Of a longer list the last ones: they name its version."""


def value_text(value: object) -> str:
    """Returns a value as people read it."""
    if isinstance(value, tuple):
        left_out = f"... {len(value) - LONG} more ... " if len(value) > LONG else ""
        return f"[{left_out}{' '.join(map(value_text, value[-LONG:]))}]"
    return "nothing" if value is None else str(getattr(value, "text", value))
