"""LanceDB's materialized views of one table: the adapter `lancedb`, in a folder of its own."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError, shown
from engines.others.base_tables import BaseTables
from engines.values import typed_rows
from workload import query as ir
from workload.limits import Limits, Timestamps
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect, column_name, literal, type_name
from workload.types import Kind, Row

KEY = "dvs_row"
"""The key of each base table's rows, so that one of several equal rows can be changed or deleted."""

WORDS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "AND", "or": "OR"}
FUNCTIONS = WORDS.keys() | {"not", "is_null", "is_not_null"}
ERRORS = (ValueError, RuntimeError, NotImplementedError)
"""What the library raises for a view that it refuses, and for a refresh that fails."""


def gap(query: ir.Query) -> str | None:
    """Returns what a query has that no view of LanceDB can express; None: nothing."""
    match query:
        case ir.Select(source=ir.Named(), group_by=None, distinct=False, qualify=None):
            parts = (part for expr in ir.expressions_of(query) for part in ir.subexpressions(expr))
            if all(map(_known, parts)):
                return None
            return "a function that the adapter does not translate"
        case _:
            return "more than a filter and a projection of one table"


def _known(part: ir.Expr) -> bool:
    match part:
        case ir.ColumnRef() | ir.Literal():
            return True
        case ir.Call(function):
            return function in FUNCTIONS
        case _:
            return False


LIMITS = Limits(
    operators=frozenset({Operator.FILTER, Operator.PROJECTION}),
    # Its comparison of doubles tells -0.0 from 0.0.
    types=frozenset({Kind.INT, Kind.BIGINT, Kind.STRING, Kind.BOOLEAN}),
    timestamps=Timestamps.NOW,
    views=False,
    layered=False,
    gap=gap,
)


class LanceDb(Adapter):
    """A database in a folder. DuckDB applies DML; LanceDB gets the changed rows, by their keys."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that LanceDB is installed. Raises EngineError."""
        try:
            import lancedb  # noqa: F401
        except ImportError as error:
            raise EngineError("LanceDB is not installed; pip install 'dvs-harness[lancedb]'") from error

    def __init__(self) -> None:
        import lancedb

        self._folder = tempfile.TemporaryDirectory(prefix="dvs-lancedb-")
        # Without stable row ids a table can have no view.
        options = {"new_table_enable_stable_row_ids": "true"}
        self._db = lancedb.connect(self._folder.name, storage_options=options)
        self._base = BaseTables()
        self._numbers = count(1)
        self._keys: dict[str, dict[Row, list[int]]] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table, in both."""
        self._base.create(table, sql)
        self._keys[table.name] = defaultdict(list)
        self._db.create_table(table.name, schema=self._rows(table, []).schema)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a view without contents. Raises Unsupported."""
        reason = gap(table.query)
        if reason is not None or not isinstance(table.query, ir.Select):
            raise Unsupported(reason or "no block")
        assert isinstance(table.query.source, ir.Named)
        where = None if table.query.where is None else _text(table.query.where)
        items = [(item.name, _text(item.expr)) for item in table.query.items]
        try:
            self._db.create_materialized_view(
                table.name, table.query.source.name, select=items, where=where, with_no_data=True
            )
        except ERRORS as error:
            raise Unsupported(shown(error)) from error

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction: of the rows that went and came as many as possible are updated ones."""
        for name, changes in self._base.commit(transaction).items():
            keys_of = self._keys[name]
            gone = [keys_of[row].pop() for row, copies in changes.items() for _ in range(-copies)]
            come = [row for row, copies in changes.items() for _ in range(copies)]
            updated = min(len(gone), len(come))
            keys = [*gone[:updated], *(next(self._numbers) for _ in come[updated:])]
            for key, row in zip(keys, come, strict=True):
                keys_of[row].append(key)
            table, rows = self._db.open_table(name), list(zip(keys, come, strict=True))
            if updated:
                changed = self._rows(self._base.tables[name], rows[:updated])
                table.merge_insert(KEY).when_matched_update_all().execute(changed)
            if gone[updated:]:
                table.delete(f"{KEY} IN ({', '.join(map(str, gone[updated:]))})")
            if rows[updated:]:
                table.add(self._rows(self._base.tables[name], rows[updated:]))

    def refresh(self, table: str, timestamp: int) -> None:
        """Refreshes a view, by the changes of its source where LanceDB can. Raises RefreshFailed."""
        try:
            self._db.open_materialized_view(table).refresh()
        except ERRORS as error:
            raise RefreshFailed(shown(error)) from error

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table or of a view."""
        found = self._db.open_table(name).to_arrow().select([column.name for column in columns])
        return typed_rows(zip(*(each.to_pylist() for each in found.columns), strict=True), columns)

    def close(self) -> None:
        """Removes the folder."""
        self._base.database.close()
        self._folder.cleanup()

    def _rows(self, table: Table, rows: Sequence[tuple[int, Row]]) -> Any:
        """Returns rows with their keys as an Arrow table; DuckDB says which types its columns have."""
        import pyarrow as pa

        text = f"SELECT CAST(0 AS BIGINT) AS {KEY}, * FROM {table.name} LIMIT 0"
        empty = self._base.database.connection.sql(text).to_arrow_table()
        columns = (
            zip(*((key, *row) for key, row in rows), strict=True) if rows else ([] for _ in empty.schema)
        )
        arrays = [pa.array(values, each.type) for values, each in zip(columns, empty.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=empty.schema)


def _text(expr: ir.Expr) -> str:
    """Returns an expression over the only table as text, columns without prefix; `gap` excludes others."""
    match expr:
        case ir.ColumnRef(_, name):
            return column_name(name, Dialect.DUCKDB)
        case ir.Literal(None, type_):
            # It reads the names of types that Spark has.
            return f"CAST(NULL AS {type_name(type_, Dialect.SPARK)})"
        case ir.Literal(value, type_):
            return literal(value, type_, Dialect.DUCKDB)
        case ir.Call("not", (arg,)):
            return f"(NOT {_text(arg)})"
        case ir.Call("is_null" | "is_not_null" as function, (arg,)):
            return f"({_text(arg)} {function.replace('_', ' ').upper()})"
        case ir.Call(function, args):
            return f"({f' {WORDS[function]} '.join(map(_text, args))})"
        case _:
            raise Unsupported("a function that the adapter does not translate")
