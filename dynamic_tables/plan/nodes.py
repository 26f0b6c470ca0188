"""Plan nodes: one small algebra for defining queries and for the plans derived from them.

Nodes compare by identity: a plan is a DAG, and a node that stands in two places is meant to be computed
once. Column names are unique in a whole plan, so that joining two sub-plans needs no qualification.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import assert_never

from dynamic_tables.plan.expressions import Agg, Col, Expr, Scalar
from dynamic_tables.plan.types import INT, Type

ROW_ID = "$ROW_ID"
"""Name of the column that identifies a row of a result for as long as it lives."""

ACTION = "$ACTION"
"""Name of the change-set column that holds INSERT or DELETE."""

INSERT = "INSERT"
DELETE = "DELETE"


@dataclass(frozen=True, eq=False)
class Scan:
    """A source as the query names it; `columns` pairs the source's column with its name in the plan."""

    source: str
    columns: tuple[tuple[str, Col], ...]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A relation that whoever runs the plan binds to data: `source@t0`, `source@t1`, `source@delta`."""

    name: str
    columns: tuple[tuple[str, Col], ...]


@dataclass(frozen=True, eq=False)
class Project:
    """New columns from expressions over the child's."""

    child: Plan
    items: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, eq=False)
class Filter:
    """The rows for which the predicate is true."""

    child: Plan
    predicate: Expr


class JoinKind(Enum):
    """How a join treats rows without a match."""

    INNER = "inner join"
    CROSS = "cross join"
    LEFT = "left join"
    RIGHT = "right join"
    FULL = "full join"


@dataclass(frozen=True, eq=False)
class Join:
    """A join on any condition (None for CROSS)."""

    kind: JoinKind
    left: Plan
    right: Plan
    on: Expr | None


@dataclass(frozen=True, eq=False)
class SemiJoin:
    """The left rows that have (anti: have no) right row for which the condition is true."""

    left: Plan
    right: Plan
    on: Expr
    anti: bool = False


@dataclass(frozen=True, eq=False)
class UnionAll:
    """Bag union. Every branch has the columns of the first, in its order and under its names."""

    branches: tuple[Plan, ...]


@dataclass(frozen=True, eq=False)
class Distinct:
    """Each row once."""

    child: Plan


@dataclass(frozen=True, eq=False)
class Aggregate:
    """One row per group; without keys one row in all, also over no rows."""

    child: Plan
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, Agg], ...]


@dataclass(frozen=True, eq=False)
class Numbered:
    """The child's rows with a 1-based INT counter among the rows equal in `partition`."""

    child: Plan
    partition: tuple[Expr, ...]
    name: str


@dataclass(frozen=True, eq=False)
class Values:
    """Constant rows."""

    columns_: tuple[Col, ...]
    rows: tuple[tuple[Scalar, ...], ...]


Plan = Scan | Leaf | Project | Filter | Join | SemiJoin | UnionAll | Distinct | Aggregate | Numbered | Values


def columns(plan: Plan) -> tuple[Col, ...]:
    """The output columns of a plan, in order."""
    match plan:
        case Scan(_, pairs) | Leaf(_, pairs):
            return tuple(column for _, column in pairs)
        case Project(_, items):
            return tuple(Col(name, expr.type) for name, expr in items)
        case Filter(child, _) | Distinct(child):
            return columns(child)
        case Join(_, left, right, _):
            return columns(left) + columns(right)
        case SemiJoin(left, _, _, _):
            return columns(left)
        case UnionAll(branches):
            return columns(branches[0])
        case Aggregate(_, keys, aggregates):
            return tuple(Col(name, expr.type) for name, expr in (*keys, *aggregates))
        case Numbered(child, _, name):
            return (*columns(child), Col(name, INT))
        case Values(columns_, _):
            return columns_
        case _:
            assert_never(plan)


def children(plan: Plan) -> tuple[Plan, ...]:
    """The nodes directly below."""
    match plan:
        case Scan() | Leaf() | Values():
            return ()
        case (
            Project(child, _)
            | Filter(child, _)
            | Distinct(child)
            | Aggregate(child, _, _)
            | Numbered(child, _, _)
        ):
            return (child,)
        case Join(_, left, right, _) | SemiJoin(left, right, _, _):
            return (left, right)
        case UnionAll(branches):
            return branches
        case _:
            assert_never(plan)


def walk(plan: Plan) -> Iterator[Plan]:
    """Every node once, parents first."""
    seen: set[int] = set()
    stack = [plan]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(reversed(children(node)))


def scans(plan: Plan) -> tuple[Scan, ...]:
    """The scans of a plan, left to right; a source read twice appears twice."""
    return tuple(node for node in walk(plan) if isinstance(node, Scan))


def sources(plan: Plan) -> tuple[str, ...]:
    """The sources of a plan, each once."""
    return tuple(dict.fromkeys(scan.source for scan in scans(plan)))


@dataclass(frozen=True, eq=False)
class BoundQuery:
    """A defining query: its plan and its output columns (name as the user sees it, column of the plan)."""

    plan: Plan
    outputs: tuple[tuple[str, Col], ...]

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The relations it reads, views expanded."""
        return sources(self.plan)

    @property
    def schema(self) -> tuple[tuple[str, Type], ...]:
        """Output names and types."""
        return tuple((name, column.type) for name, column in self.outputs)
