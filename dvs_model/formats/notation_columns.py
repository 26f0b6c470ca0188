"""Large texts of the notation read at once, as columns."""

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
INSIDE = re.compile(r"\([^()]*\[")
"""A bracket inside of parentheses, which is no clause."""

BLOCK = 1 << 22
"""Characters that are taken apart at once: each event takes some hundred bytes meanwhile."""


def quick(text: str, name: str, small: int = FEW_TRANSACTIONS) -> Reduced | None:
    """Returns the part of a history that its verdicts depend on; None: read it event by event."""
    written = _written(text)
    rows = None if written is None else written.rows()
    return None if rows is None else part(rows, name, small)


def _written(text: str) -> Written | None:
    """Returns the events and clauses of a text; None: there are others than plain ones."""
    # Imported here, because every command would start later with it.
    import pyarrow as pa
    import pyarrow.compute as pc

    clauses = CLAUSE.findall(text)
    if clauses and INSIDE.search(text):
        return None
    try:
        beside = scan(" ".join(clauses))
    except HistoryError:
        return None
    taken = list(map(_taken, _blocks(CLAUSE.sub(" ", text) if clauses else text)))
    twice = len({each.name for each in beside.sessions}) < len(beside.sessions)
    if beside.matches or beside.precedes or twice or not taken or not all(taken):
        return None
    kinds, txns, insides = zip(*filter(None, taken), strict=True)
    kind, txn = np.concatenate(kinds), np.concatenate(txns)
    if not len(kind):
        return None
    inside = pa.chunked_array(insides).combine_chunks()
    named = np.isin(kind, (WRITE, READ, DERIVE))
    derives = kind[named] == DERIVE
    within = inside.filter(pa.array(named))
    halves = [text.partition("|") for text in within.filter(pa.array(derives)).to_pylist()]
    listed = [_split(sources) for _, _, sources in halves]
    versions = _versions(within, derives, [version.strip() for version, _, _ in halves])
    bare = ints(pc.equal(inside, "").cast(pa.int64())) != named
    if versions is None or not bare.all() or not all(bar for _, bar, _ in halves):
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
        [list(map(str, each.names)) for each in beside.chains],
        {each.name: each.txns for each in beside.sessions},
    )


def _blocks(text: str) -> Iterator[str]:
    """Yields a text in pieces that end behind a parenthesis, so that no event is cut."""
    begin = 0
    while begin < len(text):
        cut = len(text) if begin + BLOCK >= len(text) else text.rfind(")", begin, begin + BLOCK) + 1
        cut = cut or len(text)
        yield text[begin:cut]
        begin = cut


def _taken(block: str) -> tuple[NDArray[np.int8], Ints, pa.Array] | None:
    """Returns of each event its kind, transaction and what stands in parentheses; None: something else is."""
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


def _versions(within: pa.Array, derives: Bools, derived: list[str]) -> pa.Array | None:
    """Returns the versions that events name first; None: something else stands there.

    `within`: what stands in their parentheses. `derived`: the versions of those that derive.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = within
    if pc.any(pc.match_substring_regex(within, r"[\s,]")).as_py():
        found = pc.extract_regex(within, FORM)
        plain = pc.struct_field(found, "version")
    if not len(derived):
        return None if plain.null_count else plain
    plain = pc.replace_with_mask(plain, pa.array(derives), pa.array(derived, pa.string()))
    return None if plain.null_count else plain


FORM = r"^\s*(?P<version>[A-Za-z0-9_.]+)\s*(?:,[^,|]*)?$"
"""A version, and perhaps a value."""
