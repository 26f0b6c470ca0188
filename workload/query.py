"""The query IR: typed, shaped like SQL, and rendered to each dialect from here (`workload.sql`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from workload.types import SqlType, Value


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of a relation in scope, named by the relation's alias."""

    relation: str
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; always rendered with its type."""

    value: Value
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function or operator of `workload.sql.functions`, with the type of its result in Spark."""

    function: str
    args: tuple[Expr, ...]
    type: SqlType


class AggregateFunction(Enum):
    """The aggregates; COUNT_STAR is the only one without an argument."""

    COUNT_STAR = "COUNT(*)"
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the rows of a group; stands only in the items and HAVING of a grouped Select."""

    function: AggregateFunction
    arg: Expr | None
    distinct: bool
    type: SqlType


Expr = ColumnRef | Literal | Call | Aggregate


class JoinKind(Enum):
    """Kinds of join; CROSS takes no condition, the others need one."""

    INNER = "INNER JOIN"
    CROSS = "CROSS JOIN"
    LEFT = "LEFT JOIN"
    RIGHT = "RIGHT JOIN"
    FULL = "FULL JOIN"


@dataclass(frozen=True, slots=True)
class Named:
    """A base table, view, dynamic table or CTE, read under an alias."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A sub-select in FROM."""

    query: Query
    alias: str


@dataclass(frozen=True, slots=True)
class Join:
    """A join of two relations; `on` is None for CROSS only."""

    kind: JoinKind
    left: Relation
    right: Relation
    on: Expr | None


Relation = Named | Derived | Join


@dataclass(frozen=True, slots=True)
class Item:
    """One output column of a Select."""

    expr: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT block. `group_by` None: not grouped; `()`: one group of all rows, also of none."""

    items: tuple[Item, ...]
    source: Relation
    where: Expr | None = None
    group_by: tuple[Expr, ...] | None = None
    having: Expr | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class UnionAll:
    """Bag union by position; the first branch gives the names."""

    branches: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True)
class With:
    """CTEs, each visible to the later ones and to the body."""

    ctes: tuple[Cte, ...]
    body: Query


Query = Select | UnionAll | With


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outside in."""
    yield expr
    match expr:
        case Call(args=args):
            for arg in args:
                yield from subexpressions(arg)
        case Aggregate(arg=arg) if arg is not None:
            yield from subexpressions(arg)
        case _:
            pass


def expressions_of(select: Select) -> Iterator[Expr]:
    """The top expressions of one block, ON conditions included, sub-selects not."""
    yield from (item.expr for item in select.items)
    yield from conditions_of(select.source)
    if select.where is not None:
        yield select.where
    yield from select.group_by or ()
    if select.having is not None:
        yield select.having


def conditions_of(relation: Relation) -> Iterator[Expr]:
    """The ON conditions of a relation, sub-selects not entered."""
    if isinstance(relation, Join):
        yield from conditions_of(relation.left)
        yield from conditions_of(relation.right)
        if relation.on is not None:
            yield relation.on


def relations_of(relation: Relation) -> Iterator[Relation]:
    """The relation and those it joins, sub-selects not entered."""
    yield relation
    if isinstance(relation, Join):
        yield from relations_of(relation.left)
        yield from relations_of(relation.right)


def blocks(query: Query) -> Iterator[Select]:
    """Every SELECT block of a query, outside in; a CTE's blocks once."""
    match query:
        case Select():
            yield query
            for relation in relations_of(query.source):
                if isinstance(relation, Derived):
                    yield from blocks(relation.query)
        case UnionAll(branches):
            for branch in branches:
                yield from blocks(branch)
        case With(ctes, body):
            for cte in ctes:
                yield from blocks(cte.query)
            yield from blocks(body)


def names_read(query: Query) -> tuple[str, ...]:
    """The tables, views and dynamic tables a query reads, each once, in order of appearance."""
    return tuple(dict.fromkeys(_names(query, frozenset())))


def _names(query: Query, hidden: frozenset[str]) -> Iterator[str]:
    match query:
        case Select():
            for relation in relations_of(query.source):
                match relation:
                    case Named(name, _) if name not in hidden:
                        yield name
                    case Derived(inner, _):
                        yield from _names(inner, hidden)
                    case _:
                        pass
        case UnionAll(branches):
            for branch in branches:
                yield from _names(branch, hidden)
        case With(ctes, body):
            for cte in ctes:
                yield from _names(cte.query, hidden)
                hidden = hidden | {cte.name}
            yield from _names(body, hidden)
