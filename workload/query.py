"""The query IR: its nodes, typed and shaped like SQL, and how they are walked and rebuilt.

`children` and `rebuilt` are the only places that know which parts a node has; every walker goes through them.
`workload.sql` renders the nodes as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Any, ClassVar, TypeVar, assert_never, cast

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
    STDDEV_SAMP = "STDDEV_SAMP"
    STDDEV_POP = "STDDEV_POP"
    VAR_SAMP = "VAR_SAMP"
    VAR_POP = "VAR_POP"
    COVAR_SAMP = "COVAR_SAMP"
    COVAR_POP = "COVAR_POP"
    CORR = "CORR"
    MIN_BY = "MIN_BY"
    MAX_BY = "MAX_BY"
    COLLECT_LIST = "COLLECT_LIST"
    """The sorted list of the values; the set has each value once."""
    COLLECT_SET = "COLLECT_SET"
    LISTAGG = "LISTAGG"
    PERCENTILE = "PERCENTILE"
    BIT_AND = "BIT_AND"
    BIT_OR = "BIT_OR"
    BIT_XOR = "BIT_XOR"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the rows of a group; stands only in the items and HAVING of a grouped Select.

    `extra`: its further arguments, as `workload.aggregates` describes them.
    """

    function: AggregateFunction
    arg: Expr | None
    distinct: bool
    type: SqlType
    extra: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouping:
    """Whether a key is left out of the grouping set of a row: 1 if so, else 0."""

    key: Expr
    type: SqlType


class WindowFunction(Enum):
    """The window functions that are no aggregates."""

    ROW_NUMBER = "row_number"
    RANK = "rank"
    DENSE_RANK = "dense_rank"
    PERCENT_RANK = "percent_rank"
    CUME_DIST = "cume_dist"
    NTILE = "ntile"
    LAG = "lag"
    LEAD = "lead"
    FIRST_VALUE = "first_value"
    LAST_VALUE = "last_value"
    NTH_VALUE = "nth_value"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of an order in a window. NULL is the least value, as in Spark: last if descending."""

    expr: Expr
    descending: bool = False


class FrameUnit(Enum):
    """What a frame counts: rows, or the distance of values of the only key of the order."""

    ROWS = "ROWS"
    RANGE = "RANGE"


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows from `start` to `end`: distances from the current row, negative before it; None: to the end.

    A distance of 0 in a RANGE frame is the rows equal to the current one in the order.
    """

    unit: FrameUnit
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A function over rows around each row; stands only in the items and QUALIFY of a Select.

    `frame` None: SQL's default, which is all rows up to those equal to the current one; all if unordered.
    """

    function: WindowFunction | AggregateFunction
    args: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[OrderKey, ...]
    frame: Frame | None
    type: SqlType
    ignores_nulls: bool = False

    @property
    def depends_on_places(self) -> bool:
        """Whether a value depends on which of the rows that are equal in the order come first."""
        match self.function:
            case WindowFunction.RANK | WindowFunction.DENSE_RANK:
                return False
            case WindowFunction.PERCENT_RANK | WindowFunction.CUME_DIST:
                return False
            case WindowFunction():
                return True
            case AggregateFunction():
                whole = self.frame is None or (self.frame.start is None and self.frame.end is None)
                return not whole and self.frame is not None and self.frame.unit is FrameUnit.ROWS


Expr = ColumnRef | Literal | Call | Aggregate | Grouping | Window


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


Relation = Named | Derived | Join

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


Query = Select | UnionAll | Union | ExceptAll | Except | IntersectAll | Intersect | With | Limited


RowSource = Query | Relation | Cte
"""Nodes that yield rows."""

Node = RowSource | Item | Expr
SCALARS = (Item, ColumnRef, Literal, Call, Aggregate, Grouping, Window)
"""Nodes that yield one value for a row, and hold no other nodes but such."""

N = TypeVar("N", bound=Node)


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a node, in the order in which every walker visits them."""
    match node:
        case ColumnRef() | Literal() | Named():
            return ()
        case Call(_, args, _):
            return args
        case Aggregate(_, arg, _, _, extra):
            return extra if arg is None else (arg, *extra)
        case Grouping(key, _):
            return (key,)
        case Window(_, args, partition, order):
            return (*args, *partition, *(key.expr for key in order))
        case Item(expr, _):
            return (expr,)
        case Derived(query, _) | Cte(_, query) | Limited(query, _, _, _):
            return (query,)
        case Join(_, left, right, on):
            return (left, right) if on is None else (left, right, on)
        case Select(items, source, where, group_by, having, _, qualify):
            clauses = ((where,), group_by or (), (having, qualify))
            return (*items, source, *(expr for clause in clauses for expr in clause if expr is not None))
        case SetOperation(branches):
            return branches
        case With(ctes, body):
            return (*ctes, body)
        case _:
            assert_never(node)


def rebuilt(node: N, parts: Iterable[Any]) -> N:
    """The node with other parts: as many as `children` gives, in the same order, each of the same kind."""
    return cast(N, _rebuilt(node, iter(parts)))


def _rebuilt(node: Node, parts: Iterator[Any]) -> Node:
    match node:
        case ColumnRef() | Literal() | Named():
            return node
        case Call():
            return replace(node, args=tuple(parts))
        case Aggregate():
            return replace(node, arg=next(parts, None), extra=tuple(parts))
        case Grouping():
            return replace(node, key=next(parts))
        case Window(_, args, partition, order):
            return replace(
                node,
                args=tuple(islice(parts, len(args))),
                partition=tuple(islice(parts, len(partition))),
                order=tuple(replace(key, expr=next(parts)) for key in order),
            )
        case Item():
            return replace(node, expr=next(parts))
        case Derived() | Cte() | Limited():
            return replace(node, query=next(parts))
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
        case _:
            assert_never(node)


def walk(node: Node) -> Iterator[Node]:
    """The node and every node inside it, at any depth, outside in."""
    yield node
    for part in children(node):
        yield from walk(part)


def changed(
    node: N,
    change: Callable[[Node], Node | None],
    rebuild: Callable[[Any, Iterable[Any]], Any] = rebuilt,
) -> N:
    """The node with every part replaced for which `change` returns a replacement, outside in.

    A replacement is not entered: a `change` that returns its argument leaves that node as it is.
    `rebuild` puts the changed parts together; it may do more than `rebuilt` does.
    """
    new = change(node)
    if new is None:
        parts = children(node)
        new = rebuild(node, [changed(part, change, rebuild) for part in parts]) if parts else node
    return cast(N, new)


def inputs(node: RowSource) -> Iterator[RowSource]:
    """The parts of a node that yield rows, in the order of `children`; expressions are not entered."""
    for part in children(node):
        if not isinstance(part, SCALARS):
            yield part


def row_sources(node: RowSource) -> Iterator[RowSource]:
    """The node and every node inside it that yields rows, outside in."""
    yield node
    for part in inputs(node):
        yield from row_sources(part)


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and every expression inside it, outside in."""
    return (node for node in walk(expr) if isinstance(node, Expr))


def windows_of(select: Select) -> Iterator[Window]:
    """The window functions of a block, those of its sub-selects not among them."""
    exprs = [item.expr for item in select.items]
    for expr in exprs if select.qualify is None else [*exprs, select.qualify]:
        yield from (part for part in subexpressions(expr) if isinstance(part, Window))


def expressions_of(node: Select | Relation) -> Iterator[Expr]:
    """The top expressions of a block or of a FROM clause, ON conditions included, sub-selects not entered."""
    for part in children(node):
        if isinstance(part, Item):
            yield part.expr
        elif isinstance(part, Expr):
            yield part
        elif isinstance(part, Relation):
            yield from expressions_of(part)


def relations_of(relation: Relation) -> Iterator[Relation]:
    """The relation and those it joins, outside in, sub-selects not entered."""
    yield relation
    for part in children(relation):
        if isinstance(part, Relation):
            yield from relations_of(part)


def blocks(query: Query) -> Iterator[Select]:
    """Every SELECT block of a query, outside in; the blocks of a CTE once."""
    return (node for node in row_sources(query) if isinstance(node, Select))


def with_sources(query: Query, names: Mapping[str, str]) -> Query:
    """The query over other tables, views and dynamic tables. `names`: old name -> new name."""
    return changed(
        query,
        lambda node: (
            replace(node, name=names[node.name]) if isinstance(node, Named) and node.name in names else None
        ),
    )


def names_read(query: Query) -> tuple[str, ...]:
    """The tables, views and dynamic tables that a query reads, each once, in order of appearance."""
    return tuple(dict.fromkeys(_names(query, frozenset())))


def _names(node: RowSource, ctes: frozenset[str]) -> Iterator[str]:
    if isinstance(node, Named) and node.name not in ctes:
        yield node.name
    for part in inputs(node):
        yield from _names(part, ctes)
        if isinstance(part, Cte):
            # A CTE is visible to what comes after it, and not to its own query.
            ctes |= {part.name}
