"""The query IR: its nodes, typed and shaped like SQL, and how they are walked and rebuilt.

`children` and `rebuilt` are the only places that know which parts a node has; every walker goes through them.
`workload.sql` renders the nodes as text. The IR has no subqueries in expressions: they are joins here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Any, ClassVar, TypeVar, assert_never, cast

from workload.expression import (
    Aggregate as Aggregate,
    AggregateFunction as AggregateFunction,
    Call as Call,
    ColumnRef as ColumnRef,
    Expr as Expr,
    Frame as Frame,
    FrameUnit as FrameUnit,
    Grouping as Grouping,
    Literal as Literal,
    OrderKey as OrderKey,
    Window as Window,
    WindowFunction as WindowFunction,
    expression_parts,
    expression_with,
)
from workload.types import BOOLEAN, INT, SqlType


class JoinKind(Enum):
    """Kinds of join; CROSS takes no condition, the others need one.

    Of SEMI and ANTI only the left columns can be read: they give the left rows with a match, or without one.
    """

    INNER = "INNER JOIN"
    CROSS = "CROSS JOIN"
    LEFT = "LEFT JOIN"
    RIGHT = "RIGHT JOIN"
    FULL = "FULL JOIN"
    SEMI = "SEMI JOIN"
    ANTI = "ANTI JOIN"


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


POSITION, ELEMENT = "pos", "col"
"""The names of the columns of `Exploded`, as Spark names them."""


@dataclass(frozen=True, slots=True)
class Exploded:
    """The rows of a relation, each once for each element of an array that it has.

    Under the alias there is a column `col`, the element, and with `position` before it `pos`, counted from 0.
    `outer`: a row whose array is NULL or has no elements stays, with NULL in these columns.
    """

    relation: Relation
    array: Expr
    alias: str
    outer: bool = False
    position: bool = False

    @property
    def columns(self) -> Mapping[str, SqlType]:
        """The columns under the alias, in order."""
        element = self.array.type.parts[0][1]
        return {POSITION: INT, ELEMENT: element} if self.position else {ELEMENT: element}


Relation = Named | Derived | Join | Exploded

MEMBERSHIP = (JoinKind.SEMI, JoinKind.ANTI)
"""The joins that only tell whether a left row has a match."""


@dataclass(frozen=True, slots=True)
class Item:
    """One output column of a Select."""

    expr: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT block. `group_by` None: not grouped; `()`: one group of all rows, also of none.

    `sets`: the grouping sets, each as places in `group_by`; a key that a set lacks is NULL in its rows.
    """

    items: tuple[Item, ...]
    source: Relation
    where: Expr | None = None
    group_by: tuple[Expr, ...] | None = None
    having: Expr | None = None
    distinct: bool = False
    qualify: Expr | None = None
    sets: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class SetOperation:
    """An operation on the rows of queries, whose columns meet by position; the first branch gives the names.

    `sql`: its words in SQL, the same in every dialect.
    """

    sql: ClassVar[str]

    branches: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class UnionAll(SetOperation):
    """Bag union of any number of branches."""

    sql: ClassVar[str] = "UNION ALL"


@dataclass(frozen=True, slots=True)
class Union(SetOperation):
    """The different rows of any number of branches, each once."""

    sql: ClassVar[str] = "UNION"


@dataclass(frozen=True, slots=True)
class ExceptAll(SetOperation):
    """Bag difference: the rows of the first branch, less as many copies of each as the second has."""

    sql: ClassVar[str] = "EXCEPT ALL"


@dataclass(frozen=True, slots=True)
class Except(SetOperation):
    """The different rows of the first branch that the second does not have, each once."""

    sql: ClassVar[str] = "EXCEPT"


@dataclass(frozen=True, slots=True)
class IntersectAll(SetOperation):
    """Bag intersection: of each row as many copies as both of two branches have."""

    sql: ClassVar[str] = "INTERSECT ALL"


@dataclass(frozen=True, slots=True)
class Intersect(SetOperation):
    """The different rows that both of two branches have, each once."""

    sql: ClassVar[str] = "INTERSECT"


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


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an order: an output column. NULL is the least value, as in Spark: last if descending."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Limited:
    """The first `count` rows of a query in an order, after the first `offset`."""

    query: Query
    order: tuple[SortKey, ...]
    count: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A query as its author wrote it: a text of Spark's SQL, which this package does not look into.

    `translated`: the same query for DuckDB. `sources`: what it reads; each alias is the name in both texts.
    `columns`: the names and types of its output.
    """

    text: str
    translated: str
    sources: tuple[Named | Derived, ...]
    columns: tuple[tuple[str, SqlType], ...]


Query = Select | UnionAll | Union | ExceptAll | Except | IntersectAll | Intersect | With | Limited | Verbatim


RowSource = Query | Relation | Cte
"""Nodes that yield rows."""

Node = RowSource | Item | Expr
SCALARS = (Item, ColumnRef, Literal, Call, Aggregate, Grouping, Window)
"""Nodes that yield one value for a row, and hold no other nodes but such."""

N = TypeVar("N", bound=Node)


def children(node: Node) -> tuple[Node, ...]:
    """Returns the parts of a node, in the order in which every walker visits them."""
    match node:
        case ColumnRef() | Literal() | Call() | Aggregate() | Grouping() | Window():
            return expression_parts(node)
        case Named():
            return ()
        case Item(expr, _):
            return (expr,)
        case Derived(query, _) | Cte(_, query) | Limited(query, _, _, _):
            return (query,)
        case Exploded(relation, array, _, _, _):
            return (relation, array)
        case Join(_, left, right, on):
            return (left, right) if on is None else (left, right, on)
        case Select(items, source, where, group_by, having, _, qualify):
            clauses = ((where,), group_by or (), (having, qualify))
            return (*items, source, *(expr for clause in clauses for expr in clause if expr is not None))
        case SetOperation(branches):
            return branches
        case With(ctes, body):
            return (*ctes, body)
        case Verbatim(sources=sources):
            return sources
        case _:
            assert_never(node)


def rebuilt(node: N, parts: Iterable[Any]) -> N:
    """Returns the node with other parts: as many as `children` gives, in its order, each of the same kind."""
    return cast(N, _rebuilt(node, iter(parts)))


def _rebuilt(node: Node, parts: Iterator[Any]) -> Node:
    match node:
        case ColumnRef() | Literal() | Call() | Aggregate() | Grouping() | Window():
            return expression_with(node, parts)
        case Named():
            return node
        case Item():
            return replace(node, expr=next(parts))
        case Derived() | Cte() | Limited():
            return replace(node, query=next(parts))
        case Exploded():
            return replace(node, relation=next(parts), array=next(parts))
        case Join():
            return replace(node, left=next(parts), right=next(parts), on=next(parts, None))
        case Select(items, _, where, group_by, having, _, qualify):
            return replace(
                node,
                items=tuple(islice(parts, len(items))),
                source=next(parts),
                where=None if where is None else next(parts),
                group_by=None if group_by is None else tuple(islice(parts, len(group_by))),
                having=None if having is None else next(parts),
                qualify=None if qualify is None else next(parts),
            )
        case SetOperation():
            return replace(node, branches=tuple(parts))
        case With(ctes, _):
            return With(tuple(islice(parts, len(ctes))), next(parts))
        case Verbatim():
            return replace(node, sources=tuple(parts))
        case _:
            assert_never(node)


def walk(node: Node) -> Iterator[Node]:
    """Yields the node and every node inside it, at any depth, outside in."""
    yield node
    for part in children(node):
        yield from walk(part)


def changed(
    node: N,
    change: Callable[[Node], Node | None],
    rebuild: Callable[[Any, Iterable[Any]], Any] = rebuilt,
) -> N:
    """Returns the node with every part replaced for which `change` returns a replacement, outside in.

    A replacement is not entered: a `change` that returns its argument leaves that node as it is. `rebuild`
    puts the changed parts together; it may do more than `rebuilt` does.
    """
    new = change(node)
    if new is None:
        parts = children(node)
        new = rebuild(node, [changed(part, change, rebuild) for part in parts]) if parts else node
    return cast(N, new)


def inputs(node: RowSource) -> Iterator[RowSource]:
    """Yields the parts of a node that yield rows, in the order of `children`; expressions are not entered."""
    for part in children(node):
        if not isinstance(part, SCALARS):
            yield part


def row_sources(node: RowSource) -> Iterator[RowSource]:
    """Yields the node and every node inside it that yields rows, outside in."""
    yield node
    for part in inputs(node):
        yield from row_sources(part)


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """Yields the expression and every expression inside it, outside in."""
    return (node for node in walk(expr) if isinstance(node, Expr))


def conjuncts(condition: Expr | None) -> Iterator[Expr]:
    """Yields the conditions that AND joins, at any depth; none for no condition."""
    match condition:
        case None:
            return
        case Call("and", parts, _):
            for part in parts:
                yield from conjuncts(part)
        case _:
            yield condition


def both(first: Expr | None, second: Expr) -> Expr:
    """Returns two conditions joined by AND; the second one where there is no first one."""
    return second if first is None else Call("and", (first, second), BOOLEAN)


def windows_of(select: Select) -> Iterator[Window]:
    """Yields the window functions of a block, those of its sub-selects not among them."""
    exprs = [item.expr for item in select.items]
    for expr in exprs if select.qualify is None else [*exprs, select.qualify]:
        yield from (part for part in subexpressions(expr) if isinstance(part, Window))


def expressions_of(node: Select | Relation) -> Iterator[Expr]:
    """Yields the top expressions of a block or of a FROM clause, ON included; sub-selects are not entered."""
    for part in children(node):
        if isinstance(part, Item):
            yield part.expr
        elif isinstance(part, Expr):
            yield part
        elif isinstance(part, Relation):
            yield from expressions_of(part)


def relations_of(relation: Relation) -> Iterator[Relation]:
    """Yields the relation and those it joins, outside in; sub-selects are not entered."""
    yield relation
    for part in children(relation):
        if isinstance(part, Relation):
            yield from relations_of(part)


def output_names(query: Query) -> list[str]:
    """Returns the names of a query's output columns, in order."""
    match query:
        case Select(items):
            return [item.name for item in items]
        case SetOperation(branches):
            return output_names(branches[0])
        case With(_, body):
            return output_names(body)
        case Limited(limited):
            return output_names(limited)
        case Verbatim(columns=columns):
            return [name for name, _ in columns]
        case _:
            assert_never(query)


def blocks(query: Query) -> Iterator[Select]:
    """Yields every SELECT block of a query, outside in; the blocks of a CTE once."""
    return (node for node in row_sources(query) if isinstance(node, Select))


def with_sources(query: Query, names: Mapping[str, str]) -> Query:
    """Returns the query over other tables, views and dynamic tables. `names`: old name -> new name."""
    return changed(
        query,
        lambda node: (
            replace(node, name=names[node.name]) if isinstance(node, Named) and node.name in names else None
        ),
    )


def names_read(query: Query) -> tuple[str, ...]:
    """Returns the tables, views and dynamic tables that a query reads, each once, in order of appearance."""
    return tuple(dict.fromkeys(_names(query, frozenset())))


def _names(node: RowSource, ctes: frozenset[str]) -> Iterator[str]:
    if isinstance(node, Named) and node.name not in ctes:
        yield node.name
    for part in inputs(node):
        yield from _names(part, ctes)
        if isinstance(part, Cte):
            # A CTE is visible to what comes after it, and not to its own query.
            ctes |= {part.name}
