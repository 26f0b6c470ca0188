"""A mapping from (key, value) to its writer for the definitions, answered from the arrays.

`observed.recover` wants a dictionary of all writes. That would cost objects for each write, and only the few
odd transactions ask. So what these have read is looked up in advance in one call, and the rest on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dvs_model.columns.lookup import spread
from dvs_model.columns.table import READ, Columns, Ints

Wrote = Callable[[Ints, Ints], Ints]
"""From keys and the codes of values to the operations that wrote them, or -1."""

LAST_ITEMS = 5
"""Elements at the end of each list whose writers are looked up in advance.

The definitions look up the last element that is not the reader's own append, so five elements are enough for
readers with up to four own appends. Others are looked up one by one, which is slower and no less right.
"""


class Written(Mapping[tuple[str, object], tuple[int, int]]):
    """By key and value the index of the transaction that wrote the value, and the place of the write in it.

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

    def __getitem__(self, wanted: tuple[str, object]) -> tuple[int, int]:
        place: tuple[int, int] | None = self.get(wanted)
        if place is None:
            raise KeyError(wanted)
        return place

    # `Mapping.get` would raise and catch KeyError for each value that nobody wrote. Where lists contradict
    # each other, every element of every read is looked up, so that this way must be short.
    def get(self, wanted: tuple[str, object], default: Any = None) -> Any:
        """Returns the transaction and the place of the write; `default` if nobody wrote the value."""
        try:
            place = self.known[wanted]
        except KeyError:
            place = self.known[wanted] = self.found(*wanted)
        return default if place is None else place

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

    def __iter__(self) -> Iterator[tuple[str, object]]:
        columns = self.columns
        for op in np.flatnonzero(self.columns.is_write()).tolist():
            yield columns.keys[int(columns.key[op])], columns.values.value(int(columns.value[op]))

    def __len__(self) -> int:
        return len(np.flatnonzero(self.columns.is_write()))
