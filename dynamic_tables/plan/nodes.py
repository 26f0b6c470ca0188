"""Plan nodes: one small algebra for defining queries and for the plans derived from them.

Nodes compare by identity: a plan is a DAG, and a node used in two places is computed once. Column names
are unique in a whole plan, so that joining two sub-plans needs no qualified names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import ClassVar, assert_never

from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Col, Expr, Scalar, SortKey, Win
from dynamic_tables.plan.types import BOOLEAN, INT, Columns

ROW_ID = "$ROW_ID"
"""Name of the column that identifies a row of a result from its INSERT to its DELETE."""

ACTION = "$ACTION"
"""Name of the change-set column that holds INSERT or DELETE."""

INSERT = "INSERT"
DELETE = "DELETE"


@dataclass(frozen=True, eq=False)
class Scan:
    """A source named in the query; `columns` pairs the name in the source with the column in the plan.

    `key`: the columns in which no two of its rows are equal, by their names in the plan; none if not known.
    """

    source: str
    columns: tuple[tuple[str, Col], ...]
    key: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Leaf:
    """A relation that is bound to data when the plan runs: `source@t0`, `source@t1`, `source@delta`."""

    name: str
    columns: tuple[tuple[str, Col], ...]


@dataclass(frozen=True, eq=False)
class Project:
    """Columns computed from the child's columns: (name, expression) each."""

    child: Plan
    items: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, eq=False)
class Filter:
    """The child's rows for which the predicate is true."""

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
    """A join on any condition; `on` is None for a cross join."""

    kind: JoinKind
    left: Plan
    right: Plan
    on: Expr | None


@dataclass(frozen=True, eq=False)
class SemiJoin:
    """The left rows with a right row for which the condition is true; `anti`: those without one."""

    left: Plan
    right: Plan
    on: Expr
    anti: bool = False


@dataclass(frozen=True, eq=False)
class Mark:
    """The left rows with a BOOLEAN column that tells whether there is a right row for which `on` is true.

    `perhaps`: a condition that also holds where a comparison is NULL. Where it holds for some right row, and
    `on` is true for none, the column is NULL, as IN is.
    """

    left: Plan
    right: Plan
    name: str
    on: Expr
    perhaps: Expr | None = None


@dataclass(frozen=True, eq=False)
class SetOperation:
    """An operation on bags of rows. Every branch has the column names of the first; their order may differ.

    `operator`: its name in the registry and, in capitals, its words in SQL.
    """

    operator: ClassVar[str]

    branches: tuple[Plan, ...]


@dataclass(frozen=True, eq=False)
class UnionAll(SetOperation):
    """The rows of all branches."""

    operator: ClassVar[str] = "union all"


@dataclass(frozen=True, eq=False)
class ExceptAll(SetOperation):
    """The rows of the first of two branches, but for as many copies of each as the second has."""

    operator: ClassVar[str] = "except all"


@dataclass(frozen=True, eq=False)
class IntersectAll(SetOperation):
    """Of each row as many copies as both of two branches have."""

    operator: ClassVar[str] = "intersect all"


@dataclass(frozen=True, eq=False)
class Distinct:
    """Each row of the child once."""

    child: Plan


@dataclass(frozen=True, eq=False)
class Aggregate:
    """One row per group; without keys exactly one row, also over no rows."""

    child: Plan
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, Agg], ...]


@dataclass(frozen=True, eq=False)
class Numbered:
    """The child's rows with an INT column that counts from 1 among the rows equal in `partition`."""

    child: Plan
    partition: tuple[Expr, ...]
    name: str


@dataclass(frozen=True, eq=False)
class Window:
    """The child's rows with a column for each of some window functions over the same partitions.

    `free`: a function depends on an order in which rows of the child may be equal, so its query has several
    right answers; the rules then order such rows by their ids.
    """

    child: Plan
    calls: tuple[tuple[str, Win], ...]
    free: bool = False

    @property
    def partition(self) -> tuple[Expr, ...]:
        """The keys of the partitions; none: all rows are one partition."""
        return self.calls[0][1].partition


@dataclass(frozen=True, eq=False)
class Limit:
    """The child's first `count` rows in an order, after the first `offset`; `count` None: all after them.

    `free`: the query itself does not say which of equal rows are first; keys of ours follow those it has.
    """

    child: Plan
    order: tuple[SortKey, ...]
    count: int | None
    offset: int = 0
    free: bool = False


@dataclass(frozen=True, eq=False)
class Explode:
    """The child's rows, each once for each element of an array, with the position, from 0, and the element.

    `outer`: a row without elements stays, with NULL for both; without `outer` it goes.
    """

    child: Plan
    array: Expr
    outer: bool
    position: Col
    value: Col


@dataclass(frozen=True, eq=False)
class Values:
    """Constant rows; `rows` has a value for each of `columns_`."""

    columns_: tuple[Col, ...]
    rows: tuple[tuple[Scalar, ...], ...]


Plan = (
    Scan
    | Leaf
    | Project
    | Filter
    | Join
    | SemiJoin
    | Mark
    | UnionAll
    | ExceptAll
    | IntersectAll
    | Distinct
    | Aggregate
    | Numbered
    | Window
    | Limit
    | Explode
    | Values
)


def columns(plan: Plan) -> tuple[Col, ...]:
    """Returns the output columns of a plan, in order."""
    match plan:
        case Scan(_, pairs, _) | Leaf(_, pairs):
            return tuple(column for _, column in pairs)
        case Project(_, items):
            return tuple(Col(name, expr.type) for name, expr in items)
        case Filter(child, _) | Distinct(child) | Limit(child):
            return columns(child)
        case Join(_, left, right, _):
            return columns(left) + columns(right)
        case SemiJoin(left, _, _, _):
            return columns(left)
        case SetOperation(branches):
            return columns(branches[0])
        case Aggregate(_, keys, aggregates):
            return tuple(Col(name, expr.type) for name, expr in (*keys, *aggregates))
        case Numbered() | Mark() | Window() | Explode():
            return (*columns(children(plan)[0]), *added(plan))
        case Values(columns_, _):
            return columns_
        case _:
            assert_never(plan)


def added(plan: Numbered | Mark | Window | Explode) -> tuple[Col, ...]:
    """Returns the columns that a node adds to those of its child."""
    match plan:
        case Numbered(_, _, name):
            return (Col(name, INT),)
        case Mark(_, _, name):
            return (Col(name, BOOLEAN),)
        case Window(_, calls):
            return tuple(Col(name, call.type) for name, call in calls)
        case Explode(_, _, _, position, value):
            return (position, value)
        case _:
            assert_never(plan)


def children(plan: Plan) -> tuple[Plan, ...]:
    """Returns the nodes directly below a node, left to right."""
    match plan:
        case Scan() | Leaf() | Values():
            return ()
        case (
            Project(child, _)
            | Filter(child, _)
            | Distinct(child)
            | Aggregate(child, _, _)
            | Numbered(child, _, _)
            | Window(child)
            | Limit(child)
            | Explode(child)
        ):
            return (child,)
        case Join(_, left, right, _) | SemiJoin(left, right, _, _) | Mark(left, right):
            return (left, right)
        case SetOperation(branches):
            return branches
        case _:
            assert_never(plan)


def rebuilt(plan: Plan, parts: Sequence[Plan]) -> Plan:
    """Returns a node with `parts` in place of `children(plan)`; the node itself if they are the same."""
    if all(part is child for part, child in zip(parts, children(plan), strict=True)):
        return plan
    match plan:
        case Scan() | Leaf() | Values():
            return plan
        case Project() | Filter() | Distinct() | Aggregate() | Numbered() | Window() | Limit() | Explode():
            return replace(plan, child=parts[0])
        case Join() | SemiJoin() | Mark():
            return replace(plan, left=parts[0], right=parts[1])
        case SetOperation():
            return replace(plan, branches=tuple(parts))
        case _:
            assert_never(plan)


def walk(plan: Plan) -> Iterator[Plan]:
    """Yields every node of a plan once, parents before children, left before right."""
    seen: set[int] = set()
    stack = [plan]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(reversed(children(node)))


def children_first(plan: Plan) -> list[Plan]:
    """Returns every node of a plan once, each after the nodes below it."""
    ordered: list[Plan] = []
    seen: set[int] = set()
    stack: list[tuple[Plan, bool]] = [(plan, False)]
    while stack:
        node, done = stack.pop()
        if done:
            ordered.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
    return ordered


def sources(plan: Plan) -> tuple[str, ...]:
    """Returns the names of the sources that a plan scans, each once, left to right."""
    return tuple(dict.fromkeys(node.source for node in walk(plan) if isinstance(node, Scan)))


@dataclass(frozen=True, eq=False)
class BoundQuery:
    """A defining query: its plan, and its output columns as (name that the user sees, column of the plan).

    `branches`: the branches that binding has taken, for coverage. `time_outside`: why its changes cannot be
    told as time passes, where it reads the current time outside of conditions; else empty.
    """

    plan: Plan
    outputs: tuple[tuple[str, Col], ...]
    branches: frozenset[Branch] = frozenset()
    time_outside: str = ""

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The names of the stored relations that the query reads, views expanded."""
        return sources(self.plan)

    @property
    def schema(self) -> Columns:
        """Names and types of the output columns."""
        return tuple((name, column.type) for name, column in self.outputs)
