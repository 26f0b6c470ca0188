"""DML on live DuckDB tables with hidden row ids: the base tables of the in-memory tiers.

Imperative on purpose: the oracle computes the same states with SELECTs only, and the two are compared.
Ids are given at insert, kept by UPDATE, new after an overwrite, old again after RESTORE.
"""

from __future__ import annotations

from typing import assert_never

import duckdb

from campaign.tiers.duck_store import DuckStore, StoredTable
from dynamic_tables.definition import BaseTable
from dynamic_tables.plan.typed import TYPES
from dynamic_tables.plan.types import Type, decimal
from dynamic_tables.refresh.frontier import SourceVersion
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.query import Expr
from workload.scenario import Commit
from workload.schema import Table
from workload.sql import Dialect, literal, render_expr, type_name
from workload.types import Kind, Row, SqlType

ROW_ID = '"$ROW_ID"'
ID = '"$id"'


def engine_type(type_: SqlType) -> Type:
    """The engine's type of the same name."""
    if type_.kind is Kind.DECIMAL:
        exact = decimal(type_.precision, type_.scale)
        assert exact is not None
        return exact
    aliases = {Kind.STRING: "TEXT", Kind.TIMESTAMP_NTZ: "TIMESTAMPNTZ"}
    return TYPES[aliases.get(type_.kind, type_.kind.value)]


class Applier:
    """Applies commits to the base tables of a store."""

    def __init__(self, store: DuckStore, tables: tuple[Table, ...]) -> None:
        self.store = store
        self.connection: duckdb.DuckDBPyConnection = store.connection
        self.tables = {table.name: table for table in tables}
        self.replaced: dict[str, int] = {}
        self._run("CREATE SCHEMA live")
        self._run("CREATE SEQUENCE ids")
        for table in tables:
            columns = ", ".join(f"{c.name} {type_name(c.type, Dialect.DUCKDB)}" for c in table.columns)
            self._run(f"CREATE TABLE live.{table.name} ({columns}, {ID} BIGINT DEFAULT nextval('ids'))")
            store.known[table.name] = BaseTable(
                table.name, tuple((c.name, engine_type(c.type)) for c in table.columns)
            )
            store.tables[table.name] = StoredTable(identity=f"{table.name}#0")
            self._snapshot(table, -1, changed=True)

    def commit(self, commit: Commit) -> tuple[str, ...]:
        """Applies one transaction; returns the tables it wrote, each of which has one more version."""
        written: dict[str, bool] = {}
        for statement in commit.statements:
            self._apply(statement, self.tables[statement.table])
            changed = written.get(statement.table, False)
            written[statement.table] = changed or not isinstance(statement, Optimize)
        for name, changed in written.items():
            self._snapshot(self.tables[name], commit.at, changed=changed)
        return tuple(written)

    def rows(self, name: str) -> tuple[Row, ...]:
        """The table's rows now."""
        names = ", ".join(column.name for column in self.tables[name].columns)
        return tuple(self.connection.execute(f"SELECT {names} FROM live.{name}").fetchall())

    def _snapshot(self, table: Table, at: int, *, changed: bool) -> None:
        stored = self.store.tables[table.name]
        names = ", ".join(column.name for column in table.columns)
        number = len(stored.physical)
        physical = self.store.store_as(
            table.name, f"SELECT {names}, 'b' || {ID} AS {ROW_ID} FROM live.{table.name}"
        )
        content = number if changed or not stored.versions else stored.versions[-1].content
        self.store.add_version(table.name, physical, SourceVersion(number, at, content, stored.identity))

    def _apply(self, statement: Dml, table: Table) -> None:
        target = f"live.{table.name}"
        match statement:
            case Insert(_, rows):
                self._insert(table, rows)
            case Update(_, assignments, where):
                sets = ", ".join(f"{a.column} = {_text(a.value)}" for a in assignments)
                self._run(f"UPDATE {target} SET {sets}{_where(where)}")
            case Delete(_, where):
                self._run(f"DELETE FROM {target}{_where(where)}")
            case Merge():
                self._merge(statement, table)
            case Truncate():
                self._run(f"DELETE FROM {target}")
            case Overwrite(_, rows):
                self._run(f"DELETE FROM {target}")
                self._insert(table, rows)
            case Replace(_, rows):
                self._run(f"DELETE FROM {target}")
                self._insert(table, rows)
                self.replaced[table.name] = self.replaced.get(table.name, 0) + 1
                self.store.tables[table.name].identity = f"{table.name}#{self.replaced[table.name]}"
            case Restore(_, to):
                self._restore(table, to)
            case Optimize():
                pass
            case _:
                assert_never(statement)

    def _insert(self, table: Table, rows: tuple[Row, ...]) -> None:
        if rows:
            names = ", ".join(column.name for column in table.columns)
            self._run(f"INSERT INTO live.{table.name} ({names}) VALUES {_values(table, rows)}")

    def _merge(self, merge: Merge, table: Table) -> None:
        if not merge.rows:
            return
        names = [column.name for column in table.columns]
        on = " AND ".join(f"{table.name}.{key} IS NOT DISTINCT FROM s.{key}" for key in merge.keys)
        text = f"MERGE INTO live.{table.name} AS {table.name} USING (VALUES {_values(table, merge.rows)})"
        text += f" AS s({', '.join(names)}) ON {on}"
        if merge.delete_when is not None:
            text += f" WHEN MATCHED AND {_text(merge.delete_when)} THEN DELETE"
        sets = ", ".join(f"{name} = s.{name}" for name in names if name not in merge.keys)
        if sets:
            text += f" WHEN MATCHED THEN UPDATE SET {sets}"
        if merge.insert_unmatched:
            values = ", ".join(f"s.{name}" for name in names)
            text += (
                f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)}, {ID}) VALUES ({values}, nextval('ids'))"
            )
        if " WHEN " in text:
            self._run(text)

    def _restore(self, table: Table, to: int) -> None:
        stored = self.store.tables[table.name]
        number = max(i for i, version in enumerate(stored.versions) if version.timestamp <= to)
        names = ", ".join(column.name for column in table.columns)
        self._run(f"DELETE FROM live.{table.name}")
        self._run(
            f"INSERT INTO live.{table.name} ({names}, {ID}) "
            f'SELECT {names}, CAST(substring({ROW_ID}, 2) AS BIGINT) FROM "{stored.physical[number]}"'
        )

    def _run(self, text: str) -> None:
        self.connection.execute(text).fetchall()


def _text(expr: Expr) -> str:
    return render_expr(expr, Dialect.DUCKDB)


def _where(where: Expr | None) -> str:
    return "" if where is None else f" WHERE {_text(where)}"


def _values(table: Table, rows: tuple[Row, ...]) -> str:
    def tuple_text(row: Row) -> str:
        values = (literal(v, c.type, Dialect.DUCKDB) for v, c in zip(row, table.columns, strict=True))
        return f"({', '.join(values)})"

    return ", ".join(tuple_text(row) for row in rows)
