"""A history that is larger than memory: its operations in shares of keys, looked at one after the other.

What is held of all is one row a transaction, and later one pair a dependency. Who wrote what was read,
version orders and dependencies are a matter of one key each, so that a share tells them of its keys alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.table import STATUSES, Ints, Rows
from dvs_model.observed.seen import LazyTransactions, Status, Transaction
from dvs_model.observed.time import Windows, window_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """What transactions did with some keys.

    `rows`: these transactions, with these operations alone. `txns`: by transaction its index among all.
    `ops`: by operation its number among all.
    """

    rows: Rows
    txns: Ints
    ops: Ints


class Shares(Protocol):
    """The operations of a history, by keys."""

    def each(self, task: Callable[[Share], T]) -> Iterable[T]:
        """Yields what a task, which can be sent to other processes, returns of each share, in any order."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed(LazyTransactions):
    """The transactions of a history whose operations lie in shares; each is made without them.

    `place`: where a transaction stands. `windows`, `timed`: begin and end by transaction; NaN: none.
    """

    number: Ints
    status: NDArray[np.int8]
    session: Ints
    sessions: Sequence[str]
    place: Callable[[int], str]
    windows: Windows | None
    timed: Windows | None
    shares: Shares

    def __len__(self) -> int:
        return len(self.number)

    def made(self, index: int) -> Transaction:
        """Returns one, by its index from 0."""
        return Transaction(
            int(self.number[index]),
            self.sessions[int(self.session[index])],
            STATUSES[int(self.status[index])],
            (),
            self.place(index),
            None if self.windows is None else window_of(self.windows, index),
            None if self.timed is None else window_of(self.timed, index),
        )

    def number_of(self, index: int) -> int:
        """Returns the number of one."""
        return int(self.number[index])

    def status_of(self, index: int) -> Status:
        """Returns how one ended."""
        return STATUSES[int(self.status[index])]

    def session_of(self, index: int) -> str:
        """Returns the session of one."""
        return self.sessions[int(self.session[index])]

    def in_real_time(self, *, by_time: bool) -> Listed:
        """Returns them with the real time of one order alone, where there are two."""
        if self.timed is None:
            return self
        return replace(self, windows=self.timed if by_time else self.windows, timed=None)
