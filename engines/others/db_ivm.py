"""TanStack's db-ivm, differential dataflow in JavaScript: the adapter `db_ivm`, on Node.js."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from engines.adapter import Capabilities, Unsupported
from engines.others.node.processes import OnNode, stores
from workload import query as ir
from workload.limits import Limits
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row, Value

JOINS = {
    ir.JoinKind.INNER: "inner",
    ir.JoinKind.LEFT: "left",
    ir.JoinKind.RIGHT: "right",
    ir.JoinKind.FULL: "full",
    ir.JoinKind.ANTI: "anti",
}
AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})
FUNCTIONS = frozenset("eq ne lt le gt ge and or not is_null is_not_null".split())


class Gap(Exception):
    """Raised for what the library has no operator for."""


def gap(query: ir.Query) -> str | None:
    """Returns what the library has no operator for; None: nothing."""
    try:
        plan_of(query, {})
    except Gap as error:
        return str(error)
    return None


LIMITS = Limits(
    operators=frozenset(
        {
            Operator.INNER_JOIN,
            Operator.LEFT_JOIN,
            Operator.RIGHT_JOIN,
            Operator.FULL_JOIN,
            Operator.ANTI_JOIN,
            Operator.DISTINCT,
            Operator.UNION,
            Operator.UNION_ALL,
            Operator.GROUPED_AGGREGATION,
            Operator.FILTER,
            Operator.PROJECTION,
        }
    ),
    types=frozenset({Kind.INT, Kind.BIGINT, Kind.STRING, Kind.BOOLEAN}),
    views=False,
    layered=False,
    stores=stores,
    gap=gap,
)

Plan = dict[str, Any]
Columns = Mapping[str, Sequence[str]]
"""The names of the columns of each base table."""


def plan_of(query: ir.Query, columns: Columns) -> Plan:
    """Returns the graph of a query as JSON for the script (node/db_ivm.mjs). Raises Gap."""
    match query:
        case ir.Union(branches) | ir.UnionAll(branches):
            parts = [plan_of(branch, columns) for branch in branches]
            return {"kind": "union", "all": isinstance(query, ir.UnionAll), "branches": parts}
        case ir.Select():
            return _block(query, columns)
        case _:
            raise Gap(type(query).__name__)


def _block(select: ir.Select, columns: Columns) -> Plan:
    if select.having is not None or select.group_by == () or select.qualify is not None:
        raise Gap("HAVING, QUALIFY or one group of all rows")
    plan: Plan = {
        "kind": "select",
        "source": _relation(select.source, columns),
        "where": None if select.where is None else _expr(select.where),
        "distinct": select.distinct,
        "keys": None,
    }
    if select.group_by is None:
        return plan | {"items": [_expr(item.expr) for item in select.items]}
    if select.distinct:
        raise Gap("DISTINCT over groups")
    keys = list(select.group_by)
    items = [_of_group(item.expr, keys) for item in select.items]
    return plan | {"items": items, "keys": [_expr(key) for key in keys]}


def _of_group(expr: ir.Expr, keys: list[ir.Expr]) -> list[Any]:
    """Returns an output of a grouping: an aggregate, or the place of a key. Raises Gap."""
    match expr:
        case ir.Aggregate(function, arg, False) if function.value in AGGREGATES and not expr.extra:
            summed = function in (ir.AggregateFunction.SUM, ir.AggregateFunction.AVG)
            if arg is not None and summed and arg.type.kind is not Kind.INT:
                raise Gap("sums that may be inexact")
            if arg is not None and arg.type.kind is Kind.BOOLEAN:
                raise Gap("an aggregate of BOOLEAN")
            return ["aggregate", function.value, None if arg is None else _expr(arg)]
        case _ if expr in keys:
            return ["key", keys.index(expr)]
        case _:
            raise Gap("an aggregate or expression over one")


def _relation(relation: ir.Relation, columns: Columns) -> Plan:
    match relation:
        case ir.Named(name, alias):
            return {"kind": "table", "name": name, "alias": alias, "columns": columns.get(name, ())}
        case ir.Join(kind, left, right, on) if kind in JOINS and on is not None:
            names = {each.alias for each in ir.relations_of(left) if isinstance(each, ir.Named)}
            return {
                "kind": "join",
                "join": JOINS[kind],
                "left": _relation(left, columns),
                "right": _relation(right, columns),
                "on": [_pair(each, names) for each in ir.conjuncts(on)],
            }
        case _:
            raise Gap("a sub-query or a join without a condition")


def _pair(condition: ir.Expr, left: set[str]) -> list[list[Any]]:
    """Returns both sides of an equality, that of the left relation first. Raises Gap."""
    match condition:
        case ir.Call("eq", (ir.ColumnRef(one), ir.ColumnRef(two)) as args) if (one in left) != (two in left):
            return [_expr(arg) for arg in (args if one in left else args[::-1])]
        case _:
            raise Gap("a join that is no equijoin")


def _expr(expr: ir.Expr) -> list[Any]:
    match expr:
        case ir.ColumnRef(relation, name):
            return ["column", relation, name]
        case ir.Literal(value):
            return ["literal", value]
        case ir.Call(function, args) if function in FUNCTIONS:
            return ["call", function, [_expr(arg) for arg in args]]
        case _:
            raise Gap("a function that the adapter does not translate")


class DbIvm(OnNode):
    """A graph for each view, in the process on Node.js; DuckDB keeps the base tables and applies DML."""

    script: ClassVar[str] = "db_ivm.mjs"
    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self.base.create(table, sql)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Builds the graph of a view and sends it all rows. Raises Unsupported."""
        columns = {t.name: [c.name for c in t.columns] for t in self.base.tables.values()}
        try:
            plan = plan_of(table.query, columns)
        except Gap as error:
            raise Unsupported(str(error)) from error
        rows = {name: list(self.base.bag(name).items()) for name in columns}
        self.ask(do="define", name=table.name, plan=plan, rows=rows)

    def refresh(self, table: str, timestamp: int) -> None:
        """Runs the graphs on what was sent."""
        self.ask(do="run")

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table or of a view; a row with fewer than no copies raises."""
        if name in self.base.tables:
            return self.base.held[name]
        found = self.ask(do="rows", name=name)["rows"]
        assert all(copies > 0 for _, copies in found), f"a row with a negative number of copies: {found}"
        return [_row(row, columns) for row, copies in found for _ in range(copies)]


def _row(row: Sequence[Value], columns: Sequence[Column]) -> Row:
    """Returns a row with floats where the column has them: JavaScript writes 2.0 as 2."""
    return tuple(
        float(value) if column.type.kind is Kind.DOUBLE and isinstance(value, int) else value
        for value, column in zip(row, columns, strict=True)
    )
