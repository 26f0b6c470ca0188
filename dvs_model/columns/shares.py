"""A history that is larger than memory, split into shares of its keys that are looked at one by one.

Who wrote what was read, the version order and the dependencies are a matter of one key each. So a share,
which holds all operations on some keys, tells them for its keys without the other shares. In memory at all
times is only one row per transaction, and later one pair per dependency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.table import STATUSES, Ints, Rows
from dvs_model.observed.seen import LazyTransactions, Transaction
from dvs_model.observed.time import Windows, window_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """What transactions did with some keys.

    `rows`: the transactions with an operation on these keys, with these operations alone. `txns`: one int64
    per transaction of the share, its index in the whole history. `ops`: one int64 per operation of the share,
    its number in the whole history, so that operations of one transaction can be ordered across shares.
    """

    rows: Rows
    txns: Ints
    ops: Ints


class Shares(Protocol):
    """The shares of a history. They may be files in a folder, or lie on the machines of a cluster."""

    def each(self, task: Callable[[Share], T]) -> Iterable[T]:
        """Runs a task on each share and yields its results, in any order.

        A task can be pickled: it may run in another process.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Listed(LazyTransactions):
    """The transactions of a history whose operations lie in shares; each is built without operations.

    `number`, `status`, `session`: by transaction. `place`: from an index to where the transaction stands in
    the file. `windows`, `timed`: a row (begin, end) per transaction; NaN: not known.
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
        return self.bare(index)

    def bare(self, index: int) -> Transaction:
        """Builds and returns a transaction, which is without operations, by its index from 0."""
        return Transaction(
            int(self.number[index]),
            self.sessions[int(self.session[index])],
            STATUSES[int(self.status[index])],
            (),
            self.place(index),
            None if self.windows is None else window_of(self.windows, index),
            None if self.timed is None else window_of(self.timed, index),
        )

    def in_real_time(self, *, by_time: bool) -> Listed:
        """Returns the transactions with one source of real time, where the file has two.

        `by_time`: the times of the file instead of its order.
        """
        if self.timed is None:
            return self
        return replace(self, windows=self.timed if by_time else self.windows, timed=None)
