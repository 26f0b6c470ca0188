"""One small query for each operator, over any rows; `dvs verify rules` puts one over another for each pair.

Every query has the columns `k` and `v`, so that the next operator can read it. Conditions and keys are chosen
for the domain {NULL, 0, 1}: a row may match several others, and different rows may give equal ones.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workload import query as ir
from workload.operators import Operator
from workload.query import AggregateFunction as Function
from workload.schema import Column
from workload.scope import Catalog, output_columns
from workload.sql.passing_time import current_time
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, TINYINT, SqlType, array_of


@dataclass(frozen=True, slots=True)
class Rows:
    """An input of an operator: a table by its name, or a query. Its first two columns are key and value."""

    of: str | ir.Query
    columns: tuple[Column, ...]

    @staticmethod
    def of_query(query: ir.Query, catalog: Catalog) -> Rows:
        """Returns a query as an input. `catalog`: the columns of the tables that it reads."""
        return Rows(query, output_columns(query, catalog))

    def read(self, alias: str) -> Read:
        """Returns the input as an item of FROM, with an alias."""
        relation = ir.Named(self.of, alias) if isinstance(self.of, str) else ir.Derived(self.of, alias)
        # In a table of one column this column is both the key and the value.
        key, value = self.columns[0], self.columns[:2][-1]
        return Read(relation, _integer(alias, key), _integer(alias, value))


@dataclass(frozen=True, slots=True)
class Read:
    """An input in FROM, and the expressions of its key and its value, both INT."""

    relation: ir.Relation
    key: ir.Expr
    value: ir.Expr

    def select(self, where: ir.Expr | None = None, *, distinct: bool = False) -> ir.Select:
        """Returns `SELECT key AS k, value AS v` over the input, with a condition if there is one."""
        items = _items({"k": self.key, "v": self.value})
        return ir.Select(items, self.relation, where, distinct=distinct)


Build = Callable[[Sequence[Rows]], ir.Query]
"""A function that returns the query of an operator over its inputs."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One form of an operator. `inputs`: how many. `note`: what tells it from the operator's other forms."""

    inputs: int
    build: Build
    note: str = ""


def _integer(alias: str, column: Column) -> ir.Expr:
    ref = ir.ColumnRef(alias, column.name, column.type)
    return ref if column.type == INT else ir.Call("cast", (ref,), INT)


def _items(outputs: Mapping[str, ir.Expr]) -> tuple[ir.Item, ...]:
    return tuple(ir.Item(expr, name) for name, expr in outputs.items())


def _lit(value: int | None, type_: SqlType = INT) -> ir.Literal:
    return ir.Literal(value, type_)


def _test(function: str, *args: ir.Expr) -> ir.Expr:
    return ir.Call(function, args, BOOLEAN)


def _filter(inputs: Sequence[Rows]) -> ir.Query:
    rows = inputs[0].read("x")
    return rows.select(_test("gt", rows.value, _lit(0)))


def _of_today(inputs: Sequence[Rows]) -> ir.Query:
    """Returns the query of rows whose value is the day of the current time, counted from 1970-01-01."""
    rows = inputs[0].read("x")
    day = ir.Call("date_add", (ir.Literal(dt.date(1970, 1, 1), DATE), rows.value), DATE)
    return rows.select(_test("eq", day, current_time(0, DATE)))


TODAY = Shape(1, _of_today, "current time")
"""A filter through which rows come and go as time passes: 0 goes and 1 comes after the first day."""


def _projection(inputs: Sequence[Rows]) -> ir.Query:
    """Returns a projection in which rows with the values 0 and NULL become equal."""
    rows = inputs[0].read("x")
    key = ir.Call("case", (_test("gt", rows.value, _lit(0)), rows.key, _lit(None)), INT)
    value = ir.Call("coalesce", (rows.value, _lit(0)), INT)
    return ir.Select(_items({"k": key, "v": value}), rows.relation)


def _distinct(inputs: Sequence[Rows]) -> ir.Query:
    return inputs[0].read("x").select(distinct=True)


def _limit(count: int, offset: int, *, descending: bool) -> Build:
    def build(inputs: Sequence[Rows]) -> ir.Query:
        order = (ir.SortKey("v", descending), ir.SortKey("k"))
        return ir.Limited(inputs[0].read("x").select(), order, count, offset)

    return build


Aggregates = tuple[tuple[str, Function, bool, SqlType], ...]
"""Aggregates over the value. Of each: name of the output, function, whether with DISTINCT, type."""


def _aggregates(rows: Read, functions: Aggregates) -> dict[str, ir.Expr]:
    return {
        name: ir.Aggregate(kind, None if kind is Function.COUNT_STAR else rows.value, distinct, type_)
        for name, kind, distinct, type_ in functions
    }


COUNTED: Aggregates = (("v", Function.COUNT_STAR, False, BIGINT),)
ADDED: Aggregates = (
    ("v", Function.SUM, False, BIGINT),
    ("n", Function.COUNT_STAR, False, BIGINT),
    ("c", Function.COUNT, False, BIGINT),
    ("m", Function.AVG, False, DOUBLE),
)
EXTREMES: Aggregates = (("v", Function.MAX, False, INT), ("least", Function.MIN, False, INT))
DIFFERENT: Aggregates = (("v", Function.COUNT, True, BIGINT), ("s", Function.SUM, True, BIGINT))


def _grouped(functions: Aggregates) -> Build:
    def build(inputs: Sequence[Rows]) -> ir.Query:
        rows = inputs[0].read("x")
        items = _items({"k": rows.key, **_aggregates(rows, functions)})
        return ir.Select(items, rows.relation, group_by=(rows.key,))

    return build


def _of_all(functions: Aggregates) -> Build:
    def build(inputs: Sequence[Rows]) -> ir.Query:
        rows = inputs[0].read("x")
        least = ir.Aggregate(Function.MIN, rows.key, False, INT)
        items = _items({"k": least, **_aggregates(rows, functions)})
        return ir.Select(items, rows.relation, group_by=())

    return build


def _join(kind: ir.JoinKind, on: Callable[[Read, Read], ir.Expr] | None) -> Build:
    def build(inputs: Sequence[Rows]) -> ir.Query:
        left, right = inputs[0].read("x"), inputs[1].read("y")
        joined = ir.Join(kind, left.relation, right.relation, None if on is None else on(left, right))
        value = left.value if kind in ir.MEMBERSHIP else right.value
        return ir.Select(_items({"k": left.key, "v": value}), joined)

    return build


def _equal(left: Read, right: Read) -> ir.Expr:
    return _test("eq", left.key, right.key)


def _at_most(left: Read, right: Read) -> ir.Expr:
    """Returns the condition `left key <= right value`: a row may match several, and others once updated."""
    return _test("le", left.key, right.value)


def _not_in(left: Read, right: Read) -> ir.Expr:
    """Returns the condition that NOT IN stands for: a comparison that is NULL counts as a match."""
    return _test("not", _test("is_false", _equal(left, right)))


def _set_operation(node: type[ir.SetOperation]) -> Build:
    def build(inputs: Sequence[Rows]) -> ir.Query:
        branches = tuple(rows.read(f"x{number}").select() for number, rows in enumerate(inputs))
        query = node(branches)
        assert isinstance(query, ir.Query)
        return query

    return build


def _plainly(inputs: Sequence[Rows]) -> tuple[ir.Derived, ir.Expr, ir.Expr]:
    """Returns the input as a sub-select, whose key and value are columns: a window is ordered by a column."""
    rows = ir.Derived(inputs[0].read("x").select(), "w")
    return rows, ir.ColumnRef("w", "k", INT), ir.ColumnRef("w", "v", INT)


def _window(
    function: ir.WindowFunction | Function,
    type_: SqlType,
    frame: ir.Frame | None = None,
    *,
    qualify: bool = False,
) -> Build:
    """Returns the builder of a window by key, in the order of values; `qualify`: rows where it is 1."""

    def build(inputs: Sequence[Rows]) -> ir.Query:
        rows, key, value = _plainly(inputs)
        ranks = (ir.WindowFunction.RANK, ir.WindowFunction.ROW_NUMBER)
        args = () if function in ranks else (value,)
        window = ir.Window(function, args, (key,), (ir.OrderKey(value),), frame, type_)
        kept = _test("eq", window, _lit(1, type_)) if qualify else None
        return ir.Select(_items({"k": value, "v": window, "p": key}), rows, qualify=kept)

    return build


def _window_of_all(inputs: Sequence[Rows]) -> ir.Query:
    """Returns the query that numbers rows in one partition of all: how many come up to each, NULL last."""
    rows, key, value = _plainly(inputs)
    counted = ir.Window(Function.COUNT_STAR, (), (), (ir.OrderKey(value, descending=True),), None, BIGINT)
    return ir.Select(_items({"k": key, "v": counted}), rows)


def _sets_of_keys(*sets: tuple[int, ...]) -> Build:
    def build(inputs: Sequence[Rows]) -> ir.Query:
        rows, key, value = _plainly(inputs)
        added = ir.Aggregate(Function.COUNT_STAR, None, False, BIGINT)
        items = _items({"k": key, "v": added, "p": value, "left_out": ir.Grouping(value, TINYINT)})
        return ir.Select(items, rows, group_by=(key, value), sets=sets)

    return build


def _explode(*, outer: bool) -> Build:
    """Returns the builder of `explode(array(key, value))`; the array is NULL for a NULL or negative value."""

    def build(inputs: Sequence[Rows]) -> ir.Query:
        rows = inputs[0].read("x")
        array = ir.Call("array", (rows.key, rows.value), array_of(INT))
        some = ir.Call(
            "case", (_test("ge", rows.value, _lit(0)), array, _lit(None, array_of(INT))), array_of(INT)
        )
        exploded = ir.Exploded(rows.relation, some, "e", outer)
        return ir.Select(_items({"k": rows.key, "v": ir.ColumnRef("e", "col", INT)}), exploded)

    return build


def _joins(kind: ir.JoinKind, *more: Shape) -> tuple[Shape, ...]:
    return (Shape(2, _join(kind, _equal), "="), *more, Shape(2, _join(kind, _at_most), "<="))


def _sets(node: type[ir.SetOperation]) -> tuple[Shape, ...]:
    return (Shape(2, _set_operation(node)),)


SHAPES: Mapping[Operator, tuple[Shape, ...]] = {
    Operator.FILTER: (Shape(1, _filter),),
    Operator.PROJECTION: (Shape(1, _projection),),
    Operator.DISTINCT: (Shape(1, _distinct),),
    Operator.UNION_ALL: _sets(ir.UnionAll),
    Operator.UNION: _sets(ir.Union),
    Operator.EXCEPT_ALL: _sets(ir.ExceptAll),
    Operator.EXCEPT: _sets(ir.Except),
    Operator.INTERSECT_ALL: _sets(ir.IntersectAll),
    Operator.INTERSECT: _sets(ir.Intersect),
    Operator.INNER_JOIN: _joins(ir.JoinKind.INNER),
    Operator.CROSS_JOIN: (Shape(2, _join(ir.JoinKind.CROSS, None)),),
    Operator.LEFT_JOIN: _joins(ir.JoinKind.LEFT),
    Operator.RIGHT_JOIN: _joins(ir.JoinKind.RIGHT),
    Operator.FULL_JOIN: _joins(ir.JoinKind.FULL),
    Operator.SEMI_JOIN: _joins(ir.JoinKind.SEMI),
    Operator.ANTI_JOIN: _joins(ir.JoinKind.ANTI, Shape(2, _join(ir.JoinKind.ANTI, _not_in), "NOT IN")),
    Operator.GROUPED_AGGREGATION: (
        Shape(1, _grouped(ADDED), "sums"),
        Shape(1, _grouped(EXTREMES), "extremes"),
        Shape(1, _grouped(DIFFERENT), "DISTINCT"),
        Shape(1, _grouped(COUNTED), "COUNT"),
    ),
    Operator.SCALAR_AGGREGATION: (
        Shape(1, _of_all(ADDED), "sums"),
        Shape(1, _of_all(EXTREMES), "extremes"),
        Shape(1, _of_all(DIFFERENT), "DISTINCT"),
        Shape(1, _of_all(COUNTED), "COUNT"),
    ),
    Operator.LIMIT: (
        Shape(1, _limit(1, 1, descending=False), "1 OFFSET 1"),
        Shape(1, _limit(2, 0, descending=False), "2"),
        Shape(1, _limit(1, 0, descending=True), "1"),
    ),
    Operator.WINDOW: (
        Shape(1, _window(ir.WindowFunction.ROW_NUMBER, INT), "ROW_NUMBER"),
        Shape(1, _window(ir.WindowFunction.ROW_NUMBER, INT, qualify=True), "QUALIFY"),
        Shape(1, _window(ir.WindowFunction.LAG, INT), "LAG"),
        Shape(1, _window(Function.SUM, BIGINT, ir.Frame(ir.FrameUnit.ROWS, -1, 0)), "ROWS"),
        Shape(1, _window_of_all, "without partitions"),
        Shape(1, _window(ir.WindowFunction.RANK, INT), "RANK"),
    ),
    Operator.GROUPING_SETS: (
        Shape(1, _sets_of_keys((0, 1), (0,), ()), "ROLLUP"),
        Shape(1, _sets_of_keys((0,), (1,)), "two sets"),
    ),
    Operator.EXPLODE: (Shape(1, _explode(outer=True), "OUTER"), Shape(1, _explode(outer=False))),
}
"""The forms of each operator. In a pair the outer operator has its first form, and the inner one its last."""
