"""A history that is larger than memory, split into shares of its keys that are looked at one by one.

Who wrote what was read, the version order and the dependencies are a matter of one key each. So a share,
which holds all operations on some keys, tells them for its keys without the other shares. In memory at all
times is only one row per transaction, and later one pair per dependency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from dvs_model.columns.table import Ints, Rows

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
class Listed(Rows):
    """The transactions of a history whose operations lie in shares; the columns hold none of them."""

    shares: Shares = field(kw_only=True)
