"""Triggers of ORDER BY with LIMIT: rows come in because another goes, and are pushed out by another."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.intents import shapes
from generators.intents.script import Script, act, delete, insert, key, move_key, script
from generators.relations import select
from generators.windows import UNORDERED


def first_rows_change(b: ScenarioBuilder) -> Script:
    """The first row goes and the next comes in; a new first row pushes one out; NULL is the least key."""
    table = b.choices.pick(b.tables)
    source = shapes.reading(b, table.name)
    terms = [term for term in source.scope if term.key and term.type.kind not in UNORDERED]
    block = b.queries.first_of(select(source, terms[: b.choices.integer(1, 3)]))
    k = key(b)
    return script(
        shapes.define(b, block),
        act(insert(b, table, k=1), insert(b, table, k=2), insert(b, table, k=3)),
        act(delete(table, "k", 1)),
        act(insert(b, table, k=-1), insert(b, table, k=4)),
        act(move_key(table, k, None)),
        act(insert(b, table, k=None)) + act(delete(table, "k", -1)),
    )
