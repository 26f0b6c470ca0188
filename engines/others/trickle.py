"""Trickle, incremental joins and aggregates for DuckDB: the adapter `trickle`. It has no SQL of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import duckdb

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError, shown
from engines.values import cast_items
from workload import query as ir
from workload.limits import Limits
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect, render_expr
from workload.types import Row

JOINS = {
    ir.JoinKind.INNER: "inner",
    ir.JoinKind.LEFT: "left",
    ir.JoinKind.RIGHT: "right",
    ir.JoinKind.FULL: "full",
    ir.JoinKind.SEMI: "semi",
    ir.JoinKind.ANTI: "anti",
}
METRICS = {
    ir.AggregateFunction.SUM: "sum",
    ir.AggregateFunction.AVG: "mean",
    ir.AggregateFunction.MIN: "min",
    ir.AggregateFunction.MAX: "max",
}
ROW = "dvs_row"
"""The key of each base table: Trickle keeps tables by a primary key."""


def gap(query: ir.Query) -> str | None:
    """Returns what a query has that Trickle's builder cannot express; None: nothing."""
    if not isinstance(query, ir.Select):
        return "a set operation or CTE"
    relations = list(ir.relations_of(query.source))
    if not all(isinstance(each, ir.Named | ir.Join) for each in relations):
        return "a sub-query"
    if not all(_equates(each) for each in relations if isinstance(each, ir.Join)):
        return "a join that is no equijoin"
    if query.having is not None or query.group_by == ():
        return "HAVING, or one group of all rows"
    if query.group_by is not None:
        return _aggregates(query, query.group_by)
    return None


def _equates(join: ir.Join) -> bool:
    left = {each.alias for each in ir.relations_of(join.left) if isinstance(each, ir.Named)}
    return join.on is not None and all(_pair(each, left) for each in ir.conjuncts(join.on))


def _pair(condition: ir.Expr, left: set[str]) -> tuple[ir.ColumnRef, ir.ColumnRef] | None:
    """Returns the columns of the left and the right side that a condition equates; None: it does not."""
    match condition:
        case ir.Call("eq", (ir.ColumnRef() as one, ir.ColumnRef() as two)) if one.type == two.type:
            if (one.relation in left) == (two.relation in left):
                return None
            return (one, two) if one.relation in left else (two, one)
        case _:
            return None


def _aggregates(query: ir.Select, keys: tuple[ir.Expr, ...]) -> str | None:
    for item in query.items:
        match item.expr:
            case ir.Aggregate(ir.AggregateFunction.COUNT, None, False):
                continue
            case ir.Aggregate(function, arg, False) if function in METRICS and arg is not None:
                continue
            case expr if expr in keys:
                continue
            case _:
                return "an aggregate that the builder lacks"
    return None


LIMITS = Limits(
    operators=frozenset(
        {
            Operator.INNER_JOIN,
            Operator.LEFT_JOIN,
            Operator.RIGHT_JOIN,
            Operator.FULL_JOIN,
            Operator.SEMI_JOIN,
            Operator.ANTI_JOIN,
            Operator.DISTINCT,
            Operator.GROUPED_AGGREGATION,
            Operator.FILTER,
            Operator.PROJECTION,
        }
    ),
    views=False,
    gap=gap,
)


class Trickle(Adapter):
    """A DuckDB database in memory, whose base tables Trickle reads as snapshots."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Trickle is installed. Raises EngineError."""
        try:
            import trickle  # noqa: F401
        except ImportError as error:
            raise EngineError("Trickle is not installed; pip install 'dvs-harness[trickle]'") from error

    def __init__(self) -> None:
        # DuckDB 2.0.0 has a bug of its own in this optimizer.
        self._db = duckdb.connect(config={"disabled_optimizers": "statistics_propagation", "threads": 1})
        self._db.execute("SET TimeZone = 'UTC'")
        self._keys: dict[str, tuple[str, ...]] = {}
        self._queries: dict[str, ir.Select] = {}
        self._base: list[str] = []

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table, and its empty snapshot."""
        self._db.execute(sql)
        self._keys[table.name] = (ROW,)
        self._base.append(table.name)
        self._load(table.name)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Notes the query. Raises Unsupported."""
        reason = gap(table.query)
        if reason is not None or not isinstance(table.query, ir.Select):
            raise Unsupported(reason or "no block")
        self._queries[table.name] = table.query

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, and gives Trickle the new snapshots of the written tables."""
        self._db.execute("BEGIN")
        for text in transaction.sql:
            self._db.execute(text)
        self._db.execute("COMMIT")
        for name in dict.fromkeys(each.table for each in transaction.statements):
            self._load(name)

    def refresh(self, table: str, timestamp: int) -> None:
        """Runs the pipeline of a table. Raises RefreshFailed."""
        import trickle

        query = self._queries[table]
        try:
            with trickle.run(self._db, pipeline=table) as run:
                self._write(run, table, query)
        except duckdb.Error as error:
            raise RefreshFailed(shown(error)) from error

    def _write(self, run: Any, table: str, query: ir.Select) -> None:
        """Builds the pipeline of a query, and merges its result into the table by a primary key."""
        from trickle import agg

        built = self._source(run, query.source)
        if query.where is not None:
            built = built.filter(_text(query.where))
        columns: dict[str, ir.Expr] = {item.name: item.expr for item in query.items}
        if query.group_by is None and not query.distinct:
            keys = [
                f"{each.alias}.{key} AS {each.alias}_{key}"
                for each in _shown(query.source)
                for key in self._keys[f"{each.name}_" if each.name in self._base else each.name]
            ]
            self._keys[table] = tuple(key.rpartition(" ")[2] for key in keys)
            built.select(", ".join([*_items(columns), *keys])).merge(table, pk=self._keys[table])
            return
        by: dict[str, ir.Expr] = {
            n: expr for n, expr in columns.items() if not isinstance(expr, ir.Aggregate)
        }
        hidden = [key for key in query.group_by or () if key not in by.values()]
        by |= {f"dvs_key{number}": key for number, key in enumerate(hidden)}
        metrics = {n: expr for n, expr in columns.items() if isinstance(expr, ir.Aggregate)}
        args: dict[str, ir.Expr] = {
            f"dvs_of_{n}": expr.arg for n, expr in metrics.items() if expr.arg is not None
        }
        aggregates = {
            name: agg.count() if expr.arg is None else getattr(agg, METRICS[expr.function])(f"dvs_of_{name}")
            for name, expr in metrics.items()
        }
        self._keys[table] = tuple(by)
        built.select(", ".join(_items(by | args))).aggregate(
            by=tuple(by), **(aggregates or {"dvs_count": agg.count()})
        ).merge(table)

    def _source(self, run: Any, relation: ir.Relation) -> Any:
        match relation:
            case ir.Named(name, alias):
                # Never in full because most rows have changed: tables are small here.
                return run.source(f"{name}_" if name in self._base else name, p=1.0).alias(alias)
            case ir.Join(kind, left, right, on):
                assert on is not None
                names = {each.alias for each in _read(left)}
                pairs = [pair for each in ir.conjuncts(on) if (pair := _pair(each, names))]
                return self._source(run, left).join(
                    self._source(run, right),
                    on={_text(one): _text(two) for one, two in pairs},
                    how=JOINS[kind],
                )
            case _:
                raise Unsupported("a sub-query")

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table, cast to the types of the definition."""
        return self._select(name, columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns DuckDB's own answer to a query, without Trickle."""
        return self._select(f"({query})", columns)

    def interrupt(self) -> None:
        """Ends the query under way."""
        self._db.interrupt()

    def close(self) -> None:
        """Closes the database."""
        self._db.close()

    def _load(self, name: str) -> None:
        """Gives Trickle the present rows of a base table, as its snapshot `NAME_`."""
        import trickle

        with trickle.run(self._db, pipeline=f"{name}_") as run:
            run.merge_table(f"{name}_", self._db.sql(f"SELECT *, rowid AS {ROW} FROM {name}"), pk=ROW)
        self._keys[f"{name}_"] = (ROW,)

    def _select(self, relation: str, columns: Sequence[Column]) -> list[Row]:
        items = cast_items(columns, Dialect.DUCKDB)
        return self._db.execute(f"SELECT {items} FROM {relation}").fetchall()


def _read(relation: ir.Relation) -> Iterator[ir.Named]:
    return (each for each in ir.relations_of(relation) if isinstance(each, ir.Named))


def _shown(relation: ir.Relation) -> Iterator[ir.Named]:
    """Yields the tables whose columns can be selected: not those on the right of a semi or anti join."""
    match relation:
        case ir.Join(kind, left, right, _):
            yield from _shown(left)
            if kind not in ir.MEMBERSHIP:
                yield from _shown(right)
        case ir.Named():
            yield relation
        case _:
            return


def _items(columns: dict[str, ir.Expr]) -> list[str]:
    return [f"{_text(expr)} AS {name}" for name, expr in columns.items()]


def _text(expr: ir.Expr) -> str:
    return render_expr(expr, Dialect.DUCKDB)
