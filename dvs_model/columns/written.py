"""Who wrote a value to a key, for the few odd transactions whose reads are matched one after the other.

A dictionary of all writes would cost objects for each write. So what odd transactions have read is looked up
in advance in one call, and the rest on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dvs_model.columns.lookup import spread
from dvs_model.columns.table import READ, Columns, Ints

Wrote = Callable[[Ints, Ints], Ints]
"""From keys and the codes of values to the operations that wrote them, or -1."""

LAST_ITEMS = 5
"""Elements at the end of each list whose writers are looked up in advance.

`Explained` looks up the last element that is not the reader's own append, so five elements are enough for
readers with up to four own appends. Others are looked up one by one, which is slower and no less right.
"""


class Writers:
    """From key and value to the index of the transaction that wrote it, and the place of the write in it.

    `known`: the answers so far; None: nobody wrote the value. `odd`: the transactions that will ask.
    """

    def __init__(self, columns: Columns, wrote: Wrote, odd: Ints) -> None:
        self.columns, self.wrote = columns, wrote
        self.codes = {name: code for code, name in enumerate(columns.keys)}
        self.known: dict[tuple[str, object], tuple[int, int] | None] = dict(self.of(odd))

    def of(self, odd: Ints) -> Iterator[tuple[tuple[str, object], tuple[int, int]]]:
        """Yields what some transactions are likely to ask for: (key, value), with its writer and place."""
        columns = self.columns
        ops, _ = spread(columns.first[odd], columns.first[odd + 1])
        ops = ops[columns.kind[ops] >= READ]
        key, value = columns.key[ops], columns.value[ops]
        if columns.starts is not None:
            end = columns.starts[ops + 1]
            place, of = spread(np.maximum(columns.starts[ops], end - LAST_ITEMS), end)
            key, value = np.concatenate((key, key[of])), np.concatenate((value, columns.items[place]))
        wrote = self.wrote(key, value)
        there = np.flatnonzero(wrote >= 0)
        ops = wrote[there]
        txn = columns.txn[ops]
        places = zip(txn.tolist(), (ops - columns.first[txn]).tolist(), strict=True)
        names = zip(key[there].tolist(), value[there].tolist(), strict=True)
        for (code, shown), place_of in zip(names, places, strict=True):
            yield (columns.keys[code], columns.values.value(shown)), place_of

    # Short, because where lists contradict each other every element of every read is looked up.
    def __call__(self, key: str, value: object) -> tuple[int, int] | None:
        try:
            return self.known[key, value]
        except KeyError:
            place = self.known[key, value] = self.found(key, value)
            return place

    def found(self, key: str, value: object) -> tuple[int, int] | None:
        """Returns the transaction that wrote a value, and the place of the write; None: nobody wrote it."""
        if key not in self.codes:
            return None
        columns = self.columns
        code = columns.values.code(value)
        op = int(self.wrote(np.array([self.codes[key]]), np.array([code]))[0])
        if op < 0:
            return None
        txn = int(columns.txn[op])
        return txn, op - int(columns.first[txn])
