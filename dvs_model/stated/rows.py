"""The events of a history as columns, before it is known to be well-formed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.lookup import coded
from dvs_model.columns.table import Ints
from dvs_model.histories.draft import DraftEvent

if TYPE_CHECKING:
    import pyarrow as pa

START, WRITE, READ, DERIVE, COMMIT, ABORT = range(6)
LETTERS = b"swrdca"
"""The letter of an event in the notation, by the code of its kind."""

CODES = np.full(256, -1, np.int8)
CODES[list(LETTERS)] = range(6)
CODES[ord("b")] = START
"""The code of a kind by its letter; b is another name of s."""


@dataclass(frozen=True, slots=True)
class Names:
    """The different names of versions, by place.

    `texts`: each as written. `obj`: a number of its object. `txn`: the number of its transaction. `number`:
    of the modification; 0: the final one.
    """

    texts: Sequence[str]
    obj: Ints
    txn: Ints
    number: Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """Events by place: starts, writes, reads, derivations, commits and aborts; clauses beside them.

    `kind`: the code of an event. `txn`: its transaction, a place in `numbers`. `name`: the version that it
    writes, reads or derives, a place in `names`; -1: none. `starts`, with one more at the end: where the
    sources of each derivation begin in `sources`, which are places in `names`. `chains`: the stated version
    orders, of places in `names`. `sessions`: by name the numbers of their transactions. `drafts`: from places
    to these events as they were written.
    """

    kind: NDArray[np.int8]
    txn: Ints
    numbers: Ints
    name: Ints
    names: Names
    starts: Ints
    sources: Ints
    chains: Sequence[Sequence[int]]
    sessions: Mapping[str, Sequence[int]]
    drafts: Callable[[Ints], list[DraftEvent]]


@dataclass(frozen=True, slots=True)
class Written:
    """The events and clauses of a history as a file has them.

    `kind`: the code of an event. `txn`: its number of a transaction. `versions`: the texts of the versions
    that writes, reads and derivations name first, in their order. `sources`: those of the sources of all
    derivations, one after the other; `counts`: how many each has. `chains`, `sessions`, `drafts`: as in
    `Rows`, with texts.
    """

    kind: NDArray[np.int8]
    txn: Ints
    versions: pa.Array
    sources: Sequence[str]
    counts: Sequence[int]
    drafts: Callable[[Ints], list[DraftEvent]]
    chains: Sequence[Sequence[str]] = ()
    sessions: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def rows(self) -> Rows | None:
        """Returns the columns; None: a name of a version has another form, such as x_init."""
        # Imported here, because every command would start later with it.
        import pyarrow as pa

        of_chains = [text for chain in self.chains for text in chain]
        texts = pa.chunked_array([self.versions, pa.array([*self.sources, *of_chains], pa.string())])
        encoded = texts.combine_chunks().dictionary_encode()
        place, first = ints(encoded.indices), len(self.versions)
        names = _names(encoded.dictionary)
        if names is None:
            return None
        name = np.full(len(self.kind), -1)
        name[np.isin(self.kind, (WRITE, READ, DERIVE))] = place[:first]
        txn, numbers = coded(self.txn)
        chained = iter(place[first + len(self.sources) :].tolist())
        chains = [[next(chained) for _ in chain] for chain in self.chains]
        starts = np.concatenate([[0], np.cumsum(np.asarray(self.counts, np.int64))])
        sources = place[first : first + len(self.sources)]
        return Rows(self.kind, txn, numbers, name, names, starts, sources, chains, self.sessions, self.drafts)


FORM = (
    r"^(?:(?P<plain>[A-Za-z]+)(?P<plain_txn>[0-9]{1,18})(?:\.(?P<plain_number>[0-9]{1,18}))?"
    r"|(?P<marked>[A-Za-z][A-Za-z0-9_]*)_(?P<marked_txn>[0-9]{1,18})(?:\.(?P<marked_number>[0-9]{1,18}))?)$"
)
"""The name of a version with the number of its transaction: x1, x1.2, my_table_1."""


def _names(texts: pa.Array) -> Names | None:
    """Returns the parts of different names; None: one of them has another form, such as x_init."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(texts, FORM)
    if parts.null_count:
        return None
    field = {name: pc.struct_field(parts, name) for name in ("plain", "plain_txn", "plain_number")}
    marked = {name: pc.struct_field(parts, name) for name in ("marked", "marked_txn", "marked_number")}
    plain = pc.not_equal(field["plain"], "")
    obj, txn, number = (
        pc.if_else(plain, one, other) for one, other in zip(field.values(), marked.values(), strict=True)
    )
    if pc.any(pc.match_substring_regex(number, "^0+$")).as_py():
        return None
    number = pc.if_else(pc.equal(number, ""), "0", number)
    return Names(texts.to_pylist(), ints(obj.dictionary_encode().indices), ints(txn), ints(number))


def ints(array: pa.Array) -> Ints:
    """Returns an array of Arrow, of integers or digits, as numbers."""
    import pyarrow as pa

    found: Ints = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found
