"""TanStack DB, live queries in JavaScript: the adapter `tanstack_db`, on Node.js. It has no SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from engines.adapter import Capabilities, Unsupported
from engines.others.node.processes import OnNode, ScriptError, stores
from engines.values import typed_rows
from workload import query as ir
from workload.limits import Limits, Timestamps
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row

JOINS = {
    ir.JoinKind.INNER: "inner",
    ir.JoinKind.LEFT: "left",
    ir.JoinKind.RIGHT: "right",
    ir.JoinKind.FULL: "full",
}
OUTER = (ir.JoinKind.LEFT, ir.JoinKind.RIGHT, ir.JoinKind.FULL)
FUNCTIONS = frozenset(
    "eq ne lt le gt ge and or not between is_null is_not_null is_true is_false coalesce".split()
)
ARITHMETIC = frozenset({"add", "sub", "mul"})
AGGREGATES = frozenset({"COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX"})
NUMBERS = frozenset({Kind.INT, Kind.BIGINT})


def plan_of(query: ir.Query) -> dict[str, Any]:
    """Returns a query as JSON for the script (node/tanstack_db.mjs). Raises Unsupported."""
    match query:
        case ir.UnionAll(branches):
            names = ir.output_names(query)
            return {"branches": [plan_of(_branch(each, n, names)) for n, each in enumerate(branches)]}
        case ir.Limited(ir.Select() as select, order, count, offset):
            keys = [[key.column, "desc" if key.descending else "asc"] for key in order]
            return _block(select) | {"order": keys, "limit": count, "offset": offset}
        case ir.Select():
            return _block(query)
        case _:
            raise Unsupported("a set operation or CTE that it lacks")


def _branch(query: ir.Query, number: int, names: Sequence[str]) -> ir.Query:
    """Returns a branch of a UNION ALL with the output names of the first one, and aliases of its own."""
    if not isinstance(query, ir.Select):
        raise Unsupported("a set operation of more than blocks")
    items = (replace(item, name=name) for item, name in zip(query.items, names, strict=True))
    return _realiased(replace(query, items=tuple(items)), f"_{number}")


def _realiased(node: ir.Query, suffix: str) -> ir.Query:
    def change(part: ir.Node) -> ir.Node | None:
        match part:
            case ir.ColumnRef(relation):
                return replace(part, relation=relation + suffix)
            case ir.Named(_, alias):
                return replace(part, alias=alias + suffix)
            case ir.Derived(query, alias):
                return ir.Derived(_realiased(query, suffix), alias + suffix)
            case _:
                return None

    return ir.changed(node, change)


def _block(select: ir.Select) -> dict[str, Any]:
    if select.group_by == () or select.sets is not None or select.qualify is not None:
        raise Unsupported("one group of all rows, grouping sets or QUALIFY")
    if not all(isinstance(key, ir.ColumnRef) for key in select.group_by or ()):
        raise Unsupported("a group by what is computed")
    outer = any(isinstance(each, ir.Join) and each.kind in OUTER for each in ir.relations_of(select.source))
    if outer and (select.group_by is not None or select.distinct):
        # Columns of a row without a match are undefined there, which is another value than NULL.
        raise Unsupported("groups or DISTINCT of an outer join")
    shown = [item.expr for item in select.items]
    having = [] if select.having is None else [*ir.subexpressions(select.having)]
    if any(isinstance(part, ir.Aggregate) and part not in shown for part in having):
        raise Unsupported("HAVING by what is not shown")
    return {
        "sources": [*_sources(select.source)],
        "where": None if select.where is None else _expr(select.where),
        "keys": None if select.group_by is None else [_expr(key) for key in select.group_by],
        "having": None if select.having is None else _expr(select.having),
        "items": [[item.name, _expr(item.expr)] for item in select.items],
        "distinct": select.distinct,
        "order": [],
        "limit": None,
        "offset": 0,
    }


def _sources(relation: ir.Relation) -> Iterator[list[Any]]:
    """Yields alias and source of each table; from the second on also kind and condition of its join."""
    match relation:
        case ir.Named(name, alias):
            yield [alias, ["named", name]]
        case ir.Derived(query, alias):
            yield [alias, ["query", plan_of(query)]]
        case ir.Join(kind, left, ir.Named() | ir.Derived() as right, on) if kind in JOINS and on is not None:
            aliases = {
                each.alias for each in ir.relations_of(left) if isinstance(each, ir.Named | ir.Derived)
            }
            if not all(_equates(each, aliases, right.alias) for each in ir.conjuncts(on)):
                raise Unsupported("a join that is no equijoin")
            yield from _sources(left)
            (source,) = _sources(right)
            yield [*source, JOINS[kind], _expr(on)]
        case _:
            raise Unsupported("a join that it lacks, or of a join on its right side")


def _equates(condition: ir.Expr, left: set[str], right: str) -> bool:
    match condition:
        case ir.Call("eq", (ir.ColumnRef(one), ir.ColumnRef(two))):
            return (one in left and two == right) or (two in left and one == right)
        case _:
            return False


def _expr(expr: ir.Expr) -> list[Any]:
    match expr:
        case ir.ColumnRef(relation, name):
            return ["column", relation, name]
        case ir.Literal(value):
            return ["literal", value]
        case ir.Aggregate(function, arg, False) if function.value in AGGREGATES and not expr.extra:
            if arg is not None and arg.type.kind not in NUMBERS and function.value != "COUNT":
                raise Unsupported("an aggregate of what is no number")
            return ["aggregate", function.value, [] if arg is None else [_expr(arg)]]
        case ir.Call(function, args) if function in FUNCTIONS or function in ARITHMETIC:
            return ["call", function, [_expr(arg) for arg in args]]
        case _:
            raise Unsupported("an expression that the adapter does not translate")


def gap(query: ir.Query) -> str | None:
    """Returns what of a query TanStack DB lacks; None: nothing."""
    try:
        plan_of(query)
    except Unsupported as error:
        return str(error)
    return None


def amended(query: ir.Query) -> ir.Query:
    """Returns the query with 0 for NULL where numbers are calculated or aggregated, as TanStack DB does it.

    found/tanstack_db has what it makes of NULL there.
    """
    return ir.changed(query, _without_null)


def _without_null(node: ir.Node) -> ir.Node | None:
    match node:
        case ir.Call(function, args) if function in ARITHMETIC:
            return replace(node, args=tuple(_or_zero(ir.changed(arg, _without_null)) for arg in args))
        case ir.Aggregate(function, arg) if arg is not None and function is not ir.AggregateFunction.COUNT:
            return replace(node, arg=_or_zero(ir.changed(arg, _without_null)))
        case _:
            return None


def _or_zero(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.Call("coalesce", (*_, ir.Literal(value))) | ir.Literal(value) if value is not None:
            return expr
        case ir.Call(function) if function in ARITHMETIC:
            return expr
        case _ if expr.type.kind in NUMBERS:
            return ir.Call("coalesce", (expr, ir.Literal(0, expr.type)), expr.type)
        case _:
            return expr


LIMITS = Limits(
    operators=frozenset(
        {
            Operator.INNER_JOIN,
            Operator.LEFT_JOIN,
            Operator.RIGHT_JOIN,
            Operator.FULL_JOIN,
            Operator.DISTINCT,
            Operator.UNION_ALL,
            Operator.GROUPED_AGGREGATION,
            Operator.LIMIT,
            Operator.FILTER,
            Operator.PROJECTION,
        }
    ),
    types=frozenset({*NUMBERS, Kind.STRING, Kind.BOOLEAN}),
    timestamps=Timestamps.COMMIT,
    views=False,
    keys=True,
    stores=stores,
    gap=gap,
    amend=amended,
)


class TanstackDb(OnNode):
    """Collections and live queries in the process on Node.js; DuckDB applies DML."""

    script: ClassVar[str] = "tanstack_db.mjs"
    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table, and its collection."""
        self.base.create(table, sql)
        columns = [each.name for each in table.columns]
        self.ask(do="table", name=table.name, columns=columns, key=table.promises.keys[0])

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Starts the live query of a table. Raises Unsupported."""
        try:
            self.ask(do="define", name=table.name, plan=plan_of(table.query))
        except ScriptError as error:
            raise Unsupported(str(error)) from error

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the commit has maintained the live query already."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table or of a live query."""
        if name in self.base.tables:
            return self.base.held[name]
        found = self.ask(do="rows", name=name, columns=[each.name for each in columns])["rows"]
        return typed_rows(found, columns)
