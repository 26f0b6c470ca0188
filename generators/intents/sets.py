"""Triggers of EXCEPT and INTERSECT: copies of one row come and go on either side."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import shapes
from generators.intents.script import Script, act, delete, insert, key, script
from generators.queries.queries import DIFFERENCES
from generators.queries.relations import Generated, select
from workload.query import ExceptAll, IntersectAll


def copies_on_both_sides(b: ScenarioBuilder) -> Script:
    """Puts two copies of a row on the left beside one on the right, then beside two, then beside none."""
    left, right = shapes.two_tables(b)
    target = _difference(b, left, right)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, left, k=k), insert(b, right, k=k)),
        act(insert(b, right, k=k)),
        act(delete(right, "k", k)),
        act(delete(left, "k", k), insert(b, right, k=k)),
    )


def _difference(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines the keys of one table without those, or only those, that the other has."""
    first, second = (
        select(source, source.scope[:1])
        for source in (shapes.reading(b, table.name) for table in (left, right))
    )
    # With ALL copies count: drawn evenly, both would hardly ever meet copies on both sides.
    operation = b.choices.weighted((*DIFFERENCES, (4, ExceptAll), (4, IntersectAll)))
    query = operation((first.query, second.query))
    return shapes.define(b, Generated(query, first.columns, first.rows))


def tagged_branches(b: ScenarioBuilder) -> Script:
    """Changes branches of UNION ALL with a constant each, of which each reader wants one.

    TPC-DS's query 4 is written so. A condition on the constant is false in all branches but one. Or a branch
    for each of two columns of one table.
    """
    left, right = shapes.two_tables(b)
    target = shapes.unpivoted(b, left) if b.choices.chance(50) else shapes.union_by_tag(b, left, right)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, right, k=k)),
        act(insert(b, left, k=k)),
        act(delete(right, "k", k)),
        act(delete(left, "k", k), insert(b, right, k=k)),
    )
