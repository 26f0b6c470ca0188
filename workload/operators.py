"""The operators of queries: one vocabulary, and a query as the tree of its operators.

Coverage, floors, limits of engines, sizes, fingerprints and reports all take their names from here. The
engine's registry and the judge's list of what must be maintained are written apart on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from workload import query as ir
from workload.query import inputs, row_sources, windows_of


class Operator(StrEnum):
    """The operators, by the names that profiles, reports and limits of engines use."""

    INNER_JOIN = "inner join"
    LEFT_JOIN = "left join"
    RIGHT_JOIN = "right join"
    FULL_JOIN = "full join"
    CROSS_JOIN = "cross join"
    SEMI_JOIN = "semi join"
    ANTI_JOIN = "anti join"
    DISTINCT = "distinct"
    UNION_ALL = "union all"
    UNION = "union"
    EXCEPT_ALL = "except all"
    EXCEPT = "except"
    INTERSECT_ALL = "intersect all"
    INTERSECT = "intersect"
    GROUPED_AGGREGATION = "grouped aggregation"
    SCALAR_AGGREGATION = "scalar aggregation"
    GROUPING_SETS = "grouping sets"
    WINDOW = "window"
    LIMIT = "limit"
    EXPLODE = "explode"
    FILTER = "filter"
    PROJECTION = "projection"
    SCAN = "scan"
    CTE = "cte"
    TEXT = "text"


JOIN_OPERATORS: Mapping[ir.JoinKind, Operator] = {kind: Operator(kind.value.lower()) for kind in ir.JoinKind}
SET_OPERATIONS: frozenset[Operator] = frozenset(
    Operator(node.sql.lower()) for node in ir.SetOperation.__subclasses__()
)

GROUPINGS = frozenset({Operator.GROUPED_AGGREGATION, Operator.SCALAR_AGGREGATION, Operator.GROUPING_SETS})
"""The operators whose rows stand for groups."""

OPERATORS: frozenset[Operator] = frozenset(Operator) - {Operator.SCAN, Operator.CTE, Operator.TEXT}
"""The operators that an engine maintains and coverage counts; the others name what is read, or a query that
is given as text, whose operators are not known here."""


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """One operator of a query; its inputs stand below it. `node`: the part of the query that holds it."""

    operator: Operator
    node: ir.RowSource
    inputs: tuple[OperatorNode, ...]

    def walk(self) -> Iterator[OperatorNode]:
        """Yields this operator and every operator below it, outside in."""
        yield self
        for below in self.inputs:
            yield from below.walk()

    @property
    def is_having(self) -> bool:
        """Whether a filter is written as HAVING: it stands right above the grouping of its own block."""
        below = self.inputs[0]
        return self.operator is Operator.FILTER and below.node is self.node and below.operator in GROUPINGS


def operator_tree(query: ir.Query) -> OperatorNode:
    """Returns the operators of a query as a tree; the body of a CTE stands wherever the CTE is read."""
    (tree,) = _trees(query, {})
    return tree


def _trees(node: ir.RowSource, ctes: Mapping[str, OperatorNode]) -> tuple[OperatorNode, ...]:
    if isinstance(node, ir.Named) and node.name in ctes:
        return (ctes[node.name],)
    trees: tuple[OperatorNode, ...] = ()
    for part in inputs(node):
        if isinstance(part, ir.Cte):
            ctes = {**ctes, part.name: _trees(part, ctes)[0]}
        else:
            trees += _trees(part, ctes)
    for operator in own_operators(node):
        trees = (OperatorNode(operator, node, trees),)
    return trees


def own_operators(node: ir.RowSource) -> tuple[Operator, ...]:
    """Returns the operators that one node of a query stands for, without those of its parts, lowest first."""
    match node:
        case ir.Select():
            return tuple(_clauses(node))
        case ir.Named():
            return (Operator.SCAN,)
        case ir.Join(kind):
            return (JOIN_OPERATORS[kind],)
        case ir.Exploded():
            return (Operator.EXPLODE,)
        case ir.SetOperation():
            return (Operator(node.sql.lower()),)
        case ir.Cte():
            return (Operator.CTE,)
        case ir.Limited():
            return (Operator.LIMIT,)
        case ir.Verbatim():
            return (Operator.TEXT,)
        case ir.Derived() | ir.With():
            return ()
        case _:
            assert_never(node)


def _clauses(select: ir.Select) -> Iterator[Operator]:
    if select.where is not None:
        yield Operator.FILTER
    if select.sets is not None:
        yield Operator.GROUPING_SETS
    elif select.group_by is not None:
        yield Operator.GROUPED_AGGREGATION if select.group_by else Operator.SCALAR_AGGREGATION
    if select.having is not None:
        yield Operator.FILTER
    if any(True for _ in windows_of(select)):
        yield Operator.WINDOW
    if select.qualify is not None:
        yield Operator.FILTER
    yield Operator.PROJECTION
    if select.distinct:
        yield Operator.DISTINCT


def written_operators(query: ir.Query) -> Iterator[Operator]:
    """Yields the operators of a query, each as often as it is written; a CTE counts once.

    A projection counts only where it computes: where an output is neither a column, nor a constant, nor, in a
    grouped block, an aggregate or a key.
    """
    for node in row_sources(query):
        for operator in own_operators(node):
            if operator in OPERATORS and (operator is not Operator.PROJECTION or computes(node)):
                yield operator


def computes(node: ir.RowSource) -> bool:
    """Tells whether a block has an output that is computed anew from a row."""
    if not isinstance(node, ir.Select):
        return False
    keys = node.group_by or ()
    return any(isinstance(item.expr, ir.Call) and item.expr not in keys for item in node.items)
