"""The events of a large history in Adya's notation as columns, before it is known to be well-formed.

Readers of files fill `Written`; its names of versions are told apart and numbered with Arrow, which gives
`EventRows`. `stated.made` then finds out what the names mean.
"""

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
"""The letters of events in the notation; a letter stands at the code of its kind."""

CODES = np.full(256, -1, np.int8)
CODES[list(LETTERS)] = range(6)
CODES[ord("b")] = START
"""By the byte of a letter the code of its kind; -1: none. "b" (begin) is another name of "s" (start)."""


@dataclass(frozen=True, slots=True)
class VersionNames:
    """The different names of versions, one entry each, taken apart: x1.2 is x, transaction 1, number 2.

    `texts`: the name as written. `obj`: a number for its object. `txn`: the number of its transaction, as
    written. `number`: which version of the transaction it is, from 1; 0: the name does not say, so the last.
    """

    texts: Sequence[str]
    obj: Ints
    txn: Ints
    number: Ints


@dataclass(frozen=True, slots=True)
class EventRows:
    """The events of a history as arrays, in the order of the text, and its clauses.

    One entry per event: `kind`: its code. `txn`: its transaction, a place in `numbers`. `name`: the version
    that it writes, reads or derives, a place in `names`; -1: none.

    `numbers`: the numbers of the transactions, ascending. `sources`: what all derivations derive from, places
    in `names`; `starts`: where those of each derivation begin, with one more entry at the end. `chains`: the
    stated version orders, as places in `names`. `sessions`: by session the numbers of its transactions.
    `drafts`: from places of events to the events as they were written.
    """

    kind: NDArray[np.int8]
    txn: Ints
    numbers: Ints
    name: Ints
    names: VersionNames
    starts: Ints
    sources: Ints
    chains: Sequence[Sequence[int]]
    sessions: Mapping[str, Sequence[int]]
    drafts: Callable[[Ints], list[DraftEvent]]


@dataclass(frozen=True, slots=True)
class Written:
    """The events and clauses of a history as a file has them, with names as texts.

    `kind`: by event its code. `txn`: by event the number of its transaction. `versions`: the version that
    each write, read and derivation names first, in the order of these events. `sources`: the sources of all
    derivations, one after the other; `counts`: how many each derivation has. `chains`, `sessions`, `drafts`:
    as in `EventRows`, with texts for names.
    """

    kind: NDArray[np.int8]
    txn: Ints
    versions: pa.Array
    sources: Sequence[str]
    counts: Sequence[int]
    drafts: Callable[[Ints], list[DraftEvent]]
    chains: Sequence[Sequence[str]] = ()
    sessions: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def rows(self) -> EventRows | None:
        """Returns the columns; None: some name of a version has another form than FORM, such as x_init."""
        # Imported here, because every command would start later if Arrow were imported at once.
        import pyarrow as pa

        of_chains = [text for chain in self.chains for text in chain]
        texts = pa.chunked_array([self.versions, pa.array([*self.sources, *of_chains], pa.string())])
        # All names at once, so that equal names get equal numbers. Only the different ones are taken apart.
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
        return EventRows(
            self.kind, txn, numbers, name, names, starts, sources, chains, self.sessions, self.drafts
        )


FORM = (
    r"^(?:(?P<plain>[A-Za-z]+)(?P<plain_txn>[0-9]{1,18})(?:\.(?P<plain_number>[0-9]{1,18}))?"
    r"|(?P<marked>[A-Za-z][A-Za-z0-9_]*)_(?P<marked_txn>[0-9]{1,18})(?:\.(?P<marked_number>[0-9]{1,18}))?)$"
)
"""The form of names of versions: x1, x1.2, my_table_1. Up to 18 digits, which fit into an int64."""


def _names(texts: pa.Array) -> VersionNames | None:
    """Returns different names, taken apart; None: one of them has another form than FORM, such as x_init."""
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
        # x1.0 would be taken for the last version, which 0 means here.
        return None
    number = pc.if_else(pc.equal(number, ""), "0", number)
    return VersionNames(texts.to_pylist(), ints(obj.dictionary_encode().indices), ints(txn), ints(number))


def ints(array: pa.Array) -> Ints:
    """Returns an Arrow array of integers, or of texts of digits, as int64."""
    import pyarrow as pa

    found: Ints = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found
