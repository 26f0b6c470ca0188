"""DML on live DuckDB tables with hidden row ids: the base tables of the in-memory tiers.

Imperative on purpose: the oracle computes the same states with SELECTs only, and the two are compared.
Ids are given at insert, kept by UPDATE, new after an overwrite, old again after RESTORE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import duckdb

from dynamic_tables.definition import Columns
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


def engine_columns(table: Table) -> Columns:
    """A base table's columns as the engine knows them."""
    return tuple((column.name, engine_type(column.type)) for column in table.columns)


Publish = Callable[[str, str, SourceVersion], None]
"""(base table, name of a DuckDB table with its rows and `$ROW_ID`, version): makes the version known."""


class Applier:
    """Applies commits to base tables, and publishes each version of each as a DuckDB table."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, tables: tuple[Table, ...], publish: Publish
    ) -> None:
        self.connection = connection
        self.publish = publish
        self.tables = {table.name: table for table in tables}
        self.versions: dict[str, list[SourceVersion]] = {table.name: [] for table in tables}
        self.replaced: dict[str, int] = {}
        self._run("CREATE SCHEMA live")
        self._run("CREATE SEQUENCE ids")
        for table in tables:
            columns = ", ".join(f"{c.name} {type_name(c.type, Dialect.DUCKDB)}" for c in table.columns)
            self._run(f"CREATE TABLE live.{table.name} ({columns}, {ID} BIGINT DEFAULT nextval('ids'))")
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
        versions = self.versions[table.name]
        names = ", ".join(column.name for column in table.columns)
        number = len(versions)
        self._run(
            f'CREATE TEMP TABLE "{_snapshot_name(table.name, number)}" AS '
            f"SELECT {names}, 'b' || {ID} AS {ROW_ID} FROM live.{table.name}"
        )
        content = number if changed or not versions else versions[-1].content
        identity = f"{table.name}#{self.replaced.get(table.name, 0)}"
        versions.append(SourceVersion(number, at, content, identity))
        self.publish(table.name, _snapshot_name(table.name, number), versions[-1])

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
        number = max(version.version for version in self.versions[table.name] if version.timestamp <= to)
        names = ", ".join(column.name for column in table.columns)
        self._run(f"DELETE FROM live.{table.name}")
        self._run(
            f"INSERT INTO live.{table.name} ({names}, {ID}) "
            f"SELECT {names}, CAST(substring({ROW_ID}, 2) AS BIGINT) "
            f'FROM "{_snapshot_name(table.name, number)}"'
        )

    def _run(self, text: str) -> None:
        self.connection.execute(text).fetchall()


def _snapshot_name(table: str, version: int) -> str:
    return f"{table}@{version}"


def _text(expr: Expr) -> str:
    return render_expr(expr, Dialect.DUCKDB)


def _where(where: Expr | None) -> str:
    return "" if where is None else f" WHERE {_text(where)}"


def _values(table: Table, rows: tuple[Row, ...]) -> str:
    def tuple_text(row: Row) -> str:
        values = (literal(v, c.type, Dialect.DUCKDB) for v, c in zip(row, table.columns, strict=True))
        return f"({', '.join(values)})"

    return ", ".join(tuple_text(row) for row in rows)
