"""How large a scenario is, in the figures that a report shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workload.dml import Insert, Merge, Overwrite, Replace
from workload.query import Call, Derived, Join, Query, Select, UnionAll, With, blocks, relations_of
from workload.scenario import Commit, Scenario


@dataclass(frozen=True, slots=True)
class Size:
    """`operators` over all dynamic tables and views, `rows` literal rows in DML, `dml` statements.

    Scans do not count. Each join, WHERE, HAVING, grouping (also of all rows), DISTINCT and UNION ALL is one,
    and so is a projection that computes: one where an output is neither a column, nor a constant, nor, in a
    grouped block, an aggregate or a key. A CTE counts once.
    """

    operators: int
    rows: int
    dml: int


def size(scenario: Scenario) -> Size:
    """The size of a scenario."""
    statements = [s for step in scenario.steps if isinstance(step, Commit) for s in step.statements]
    return Size(
        operators=sum(len(list(operators(definition.query))) for definition in scenario.definitions),
        rows=sum(len(s.rows) for s in statements if isinstance(s, Insert | Merge | Overwrite | Replace)),
        dml=len(statements),
    )


def operators(query: Query) -> Iterator[str]:
    """The operators of a query, each as often as it is written."""
    yield from ("union all" for _ in range(_unions(query)))
    for block in blocks(query):
        yield from (r.kind.value.lower() for r in relations_of(block.source) if isinstance(r, Join))
        if block.where is not None:
            yield "filter"
        if block.group_by is not None:
            yield "aggregation"
        if block.having is not None:
            yield "filter"
        if _computes(block):
            yield "projection"
        if block.distinct:
            yield "distinct"


def _computes(block: Select) -> bool:
    keys = block.group_by or ()
    return any(isinstance(item.expr, Call) and item.expr not in keys for item in block.items)


def _unions(query: Query) -> int:
    match query:
        case UnionAll(branches):
            return 1 + sum(_unions(branch) for branch in branches)
        case With(ctes, body):
            return _unions(body) + sum(_unions(cte.query) for cte in ctes)
        case Select(source=source):
            return sum(_unions(r.query) for r in relations_of(source) if isinstance(r, Derived))
