"""What the recorder asks of a database: a place of its own, and sessions that run transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar


class Promise(Enum):
    """What an isolation level must keep: a level of Adya's, and one that recordings of clients can decide.

    For snapshot isolation it is PL-2+: Adya's PL-SI needs to know when the database began a transaction.
    """

    SERIALIZABLE = ("PL-3", "serializable without sessions")
    SNAPSHOT = ("PL-2+", "snapshot isolation")
    COMMITTED = ("PL-2", "read committed")
    UNCOMMITTED = ("PL-1", "")


class RecordingError(Exception):
    """Raised where nothing can be recorded: no server, a wrong password, an unknown level. One line."""


class Aborted(Exception):
    """Raised where the database refused a transaction: nothing of it was done. The text: its error class."""


class NoAnswer(Exception):
    """Raised where a connection broke: whether a COMMIT sent on it was done is unknown. The text says why."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a client has read of a key. `value`: None if the key is not there; of a list its elements."""

    value: int | tuple[int, ...] | None


class Connection(ABC):
    """One connection. Every method but `close` raises Aborted or NoAnswer.

    What writes returns the place of the new version among those of its key, counted by the database from 1;
    None: the key was not there, and nothing was written.
    """

    @abstractmethod
    def begin(self) -> None:
        """Begins a transaction at the level of the run."""

    @abstractmethod
    def read(self, key: int) -> Read:
        """Reads a key."""

    @abstractmethod
    def append(self, key: int, value: int) -> int:
        """Appends an element to the list of a key."""

    @abstractmethod
    def write(self, key: int, value: int) -> int:
        """Gives a key a value, whether it is there or not."""

    @abstractmethod
    def update(self, key: int, value: int) -> int | None:
        """Gives a key that is there another value."""

    @abstractmethod
    def delete(self, key: int) -> int | None:
        """Takes a key away."""

    @abstractmethod
    def select(self, modulus: int, remainder: int) -> Mapping[int, int]:
        """Reads all keys whose value has this remainder."""

    @abstractmethod
    def versions(self) -> Mapping[int, int]:
        """Returns of each key how many versions it has had, as all see it outside a transaction."""

    @abstractmethod
    def commit(self) -> None:
        """Commits the transaction."""

    @abstractmethod
    def rollback(self) -> None:
        """Ends a transaction that was refused."""

    @abstractmethod
    def sever(self) -> None:
        """Breaks the connection from this side, whatever it is doing; may be called by another thread."""

    @abstractmethod
    def close(self) -> None:
        """Ends the session."""


@dataclass(slots=True)
class Database(ABC):
    """A database at one isolation level.

    `name`: as people call it. `levels`: by its isolation levels what each of them must keep; the first
    one is the default. `where`: the address of a server, or a file that is not there yet. `crash`: kills the
    server and starts it again; None: it was not started for the run.
    """

    name: ClassVar[str]
    levels: ClassVar[Mapping[str, Promise]]
    where: str
    isolation: str
    crash: Callable[[], None] | None = field(default=None, kw_only=True)

    @abstractmethod
    def place(self, *, lists: bool) -> AbstractContextManager[None]:
        """Makes a schema, or a database, of its own for the run, and removes it at the end.

        `lists`: keys hold lists. Raises RecordingError: the server is not there, or the name is taken.
        """

    @abstractmethod
    def session(self) -> Connection:
        """Opens a connection. Raises RecordingError; NoAnswer: the server ends while it connects."""
