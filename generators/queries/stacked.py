"""Queries of several blocks, one over the other: every operator right above every other one, and deep ones.

Each block is one operator, drawn evenly from all, over the block before. So every pair of operators that
stand next to each other comes up, and now and then a query is ten blocks deep, as those of TPC-DS are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast

from generators.choices import Choices
from generators.queries.exploded import exploded
from generators.queries.relations import FromClause, Generated, OutputColumn, Source, read, scope_of
from generators.queries.windows import UNORDERED
from workload.operators import JOIN_OPERATORS, Operator
from workload.query import Derived, Expr, JoinKind, Query, Select, SetOperation, Union, UnionAll

BLOCKS = ((8, 2), (5, 3), (2, 4), (1, 10))
"""How many blocks a query has, with the weights."""

SET_OPERATIONS: Mapping[Operator, type[SetOperation]] = {
    Operator(node.sql.lower()): node for node in SetOperation.__subclasses__()
}
"""The node of the IR for each set operation."""

JOINS: Mapping[Operator, JoinKind] = {operator: kind for kind, operator in JOIN_OPERATORS.items()}
"""The kind of each join operator."""

BLOCK_SHAPES: Mapping[Operator, str] = {
    Operator.DISTINCT: "distinct",
    Operator.GROUPED_AGGREGATION: "grouped",
    Operator.SCALAR_AGGREGATION: "scalar",
    Operator.GROUPING_SETS: "sets",
    Operator.WINDOW: "windowed",
}
"""The shapes of `QueryGenerator.over` for operators that are a whole block."""

LAYERS = (Operator.FILTER, Operator.LIMIT, Operator.EXPLODE, *JOINS, *SET_OPERATIONS, *BLOCK_SHAPES)
"""The operators that a block may be. A projection is part of every block."""


class DrawsBlocks(Protocol):
    """The part of `queries.QueryGenerator` that draws single blocks. `most_rows`: the most rows of a join."""

    choices: Choices

    @property
    def most_rows(self) -> int: ...

    def alias(self) -> str: ...

    def from_clause(self, sources: Sequence[Source], depth: int) -> FromClause: ...

    def join(self, kind: JoinKind, left: FromClause, right: FromClause) -> FromClause: ...

    def sometimes(self, source: FromClause, percent: int, *, depth: int = 1) -> Expr | None: ...

    def over(self, source: FromClause, shape: str) -> Generated: ...

    def plain(self, source: FromClause, where: Expr | None, *, distinct: bool = False) -> Generated: ...

    def first_of(self, block: Generated) -> Generated: ...

    def alike(self, source: FromClause, columns: Sequence[OutputColumn]) -> Generated | None: ...


def stacked(draw: DrawsBlocks, sources: Sequence[Source]) -> Generated:
    """Returns a query of two to four blocks, one over the other, sometimes of ten."""
    count = draw.choices.weighted(BLOCKS)
    block = layer(draw, sources, read(draw.choices.pick(sources), draw.alias()))
    for _ in range(count - 1):
        alias = draw.alias()
        below = FromClause(Derived(block.query, alias), scope_of(alias, block.columns), block.rows)
        block = layer(draw, sources, below)
    return block


def layer(draw: DrawsBlocks, sources: Sequence[Source], below: FromClause) -> Generated:
    """Returns one block over the rows of another: one operator, as far as the rows admit it."""
    operator = draw.choices.pick(LAYERS)
    if operator in JOINS:
        return _joined(draw, sources, below, JOINS[operator])
    if operator in SET_OPERATIONS:
        return _combined(draw, sources, below, SET_OPERATIONS[operator])
    match operator:
        case Operator.LIMIT:
            return _first_rows(draw, below)
        case Operator.EXPLODE if below.rows <= draw.most_rows:
            return draw.plain(exploded(draw.choices, below, draw.alias()) or below, None)
        case Operator.FILTER | Operator.EXPLODE:
            return draw.plain(below, draw.sometimes(below, 100))
        case _:
            return draw.over(below, BLOCK_SHAPES[operator])


def _first_rows(draw: DrawsBlocks, below: FromClause) -> Generated:
    """Returns the first rows in an order of all columns that have one."""
    ordered = [term for term in below.matchable if term.type.kind not in UNORDERED]
    block = draw.plain(replace(below, scope=ordered), None)
    if any(not column.key or column.type.kind in UNORDERED for column in block.columns):
        return block
    return draw.first_of(block)


def _joined(draw: DrawsBlocks, sources: Sequence[Source], below: FromClause, kind: JoinKind) -> Generated:
    """Returns a join of the rows with a relation, on either side."""
    other = read(draw.choices.pick(sources), draw.alias())
    sides = (below, other) if draw.choices.chance(60) else (other, below)
    rows = below.rows * other.rows
    if rows > draw.most_rows * 4:
        return draw.plain(below, draw.sometimes(below, 100))
    if kind is JoinKind.CROSS and rows > draw.most_rows * 2:
        kind = JoinKind.INNER
    return draw.plain(draw.join(kind, *sides), None)


def _combined(
    draw: DrawsBlocks,
    sources: Sequence[Source],
    below: FromClause,
    operation: type[SetOperation],
) -> Generated:
    """Returns a set operation over the rows: with a relation, or with some of the same rows."""
    matched = replace(below, scope=below.matchable)
    first = draw.plain(matched, None, distinct=False)
    if any(not column.key for column in first.columns) or not isinstance(first.query, Select):
        return first
    second: Query = replace(first.query, where=draw.sometimes(matched, 90))
    columns = first.columns
    if draw.choices.chance(60):
        other = draw.alike(draw.from_clause(sources, 0), first.columns)
        if other is not None:
            second = other.query
            # The rows may be those of either branch.
            pairs = zip(columns, other.columns, strict=True)
            columns = tuple(replace(one, digits=max(one.digits, two.digits)) for one, two in pairs)
    branches = (first.query, second) if draw.choices.chance(70) else (second, first.query)
    growth = 2 if operation in (UnionAll, Union) else 1
    query = cast(Query, operation(branches))
    return replace(first, query=query, columns=columns, rows=first.rows * growth)
