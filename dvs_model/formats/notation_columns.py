"""A reader of large histories in the notation: it reads columns, and keeps the part that verdicts depend on.

`quick` returns None for what only the event-by-event reader (`notation.scan`) understands or can explain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.table import Bools, Ints
from dvs_model.errors import HistoryError
from dvs_model.histories.draft import DraftEvent
from dvs_model.notation.scan import scan
from dvs_model.stated.part import FEW_TRANSACTIONS, Reduced, part
from dvs_model.stated.rows import CODES, DERIVE, LETTERS, READ, WRITE, Written, ints

if TYPE_CHECKING:
    import pyarrow as pa

EVENT = re.compile(r"([sbwrdca])([0-9]{1,18})(?:\(([^()\[\]:;]+)\))?(?=\s|$)|(\S+)")
"""An event: its kind, its transaction and what stands in its parentheses; or what else stands there."""

CLAUSE = re.compile(r"\[[^\[\]]*\]")
"""A clause, which may stand between any two events."""
INSIDE = re.compile(r"\([^()]*\[")
"""A bracket inside of parentheses, which is no clause."""

BLOCK = 1 << 22
"""Characters that are taken apart at once: each event takes some hundred bytes meanwhile."""


def quick(text: str, name: str, small: int = FEW_TRANSACTIONS) -> Reduced | None:
    """Returns the part of a history that its verdicts depend on; None: read it event by event."""
    columns = _columns_of(text)
    rows = None if columns is None else columns.rows()
    return None if rows is None else part(rows, name, small)


def _columns_of(text: str) -> Written | None:
    """Returns the events and clauses of a text as columns; None: there are others than plain ones."""
    # Imported here, because every command would start later with it.
    import pyarrow as pa
    import pyarrow.compute as pc

    clauses = CLAUSE.findall(text)
    if clauses and INSIDE.search(text):
        return None
    try:
        clauses_read = scan(" ".join(clauses))
    except HistoryError:
        return None
    blocks = list(map(_block_columns, _blocks(CLAUSE.sub(" ", text) if clauses else text)))
    repeated_session = len({each.name for each in clauses_read.sessions}) < len(clauses_read.sessions)
    if clauses_read.matches or clauses_read.precedes or repeated_session or not blocks or not all(blocks):
        return None
    kinds, txns, insides = zip(*filter(None, blocks), strict=True)
    kind, txn = np.concatenate(kinds), np.concatenate(txns)
    if not len(kind):
        return None
    inside = pa.chunked_array(insides).combine_chunks()
    named = np.isin(kind, (WRITE, READ, DERIVE))
    derives = kind[named] == DERIVE
    named_insides = inside.filter(pa.array(named))
    derivations = [text.partition("|") for text in named_insides.filter(pa.array(derives)).to_pylist()]
    listed = [_split(sources) for _, _, sources in derivations]
    versions = _versions(named_insides, derives, [version.strip() for version, _, _ in derivations])
    # Writes, reads and derivations have parentheses; starts and ends have none.
    agrees = ints(pc.equal(inside, "").cast(pa.int64())) != named
    if versions is None or not agrees.all() or not all(bar for _, bar, _ in derivations):
        return None

    def drafts(places: Ints) -> list[DraftEvent]:
        heads = zip(kind[places].tolist(), txn[places].tolist(), strict=True)
        texts = inside.take(pa.array(places)).to_pylist()
        events = (
            f"{chr(LETTERS[code])}{number}{f'({text})' if text else ''}"
            for (code, number), text in zip(heads, texts, strict=True)
        )
        return scan(" ".join(events)).events

    return Written(
        kind,
        txn,
        versions,
        list(chain.from_iterable(listed)),
        list(map(len, listed)),
        drafts,
        [list(map(str, each.names)) for each in clauses_read.chains],
        {each.name: each.txns for each in clauses_read.sessions},
    )


def _blocks(text: str) -> Iterator[str]:
    """Yields a text in pieces of about BLOCK characters that end after a parenthesis: no event is cut."""
    begin = 0
    while begin < len(text):
        cut = len(text) if begin + BLOCK >= len(text) else text.rfind(")", begin, begin + BLOCK) + 1
        cut = cut or len(text)
        yield text[begin:cut]
        begin = cut


def _block_columns(block: str) -> tuple[NDArray[np.int8], Ints, pa.Array] | None:
    """Returns kind, transaction and parentheses of each event of a block; None: one is no plain event."""
    import pyarrow as pa

    found = EVENT.findall(block)
    letters, numbers, insides, others = zip(*found, strict=True) if found else ((),) * 4
    if any(others):
        return None
    kind = CODES[np.frombuffer("".join(letters).encode(), np.uint8)]
    return kind, ints(pa.array(numbers, pa.string())), pa.array(insides, pa.string())


def _split(sources: str) -> list[str]:
    """Returns the names in a list with commas."""
    return [name.strip() for name in sources.split(",")] if sources.strip() else []


def _versions(named_insides: pa.Array, derives: Bools, derived: list[str]) -> pa.Array | None:
    """Returns the version that each event names first; None: one has another form.

    `named_insides`: what stands in the parentheses of writes, reads and derivations. `derives`: which of them
    are derivations; `derived`: the versions that those derive.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = named_insides
    if pc.any(pc.match_substring_regex(named_insides, r"[\s,]")).as_py():
        found = pc.extract_regex(named_insides, FORM)
        plain = pc.struct_field(found, "version")
    if not len(derived):
        return None if plain.null_count else plain
    plain = pc.replace_with_mask(plain, pa.array(derives), pa.array(derived, pa.string()))
    return None if plain.null_count else plain


FORM = r"^\s*(?P<version>[A-Za-z0-9_.]+)\s*(?:,[^,|]*)?$"
"""A version, and perhaps a value."""
