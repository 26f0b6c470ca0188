"""Writes the base tables of the tiers `rules` and `spark`: DuckDB tables with a hidden column of row ids.

DuckDB runs the DML itself, on purpose: the oracle computes the same states with SELECTs only, and the two are
compared. A row gets its id when it is inserted; UPDATE keeps it, an overwrite makes new ones, and RESTORE
brings the old ones back.
"""

from __future__ import annotations

from typing import Any, assert_never

import duckdb

from dynamic_tables.definition import BaseTable, Columns
from dynamic_tables.plan.typed import TYPES
from dynamic_tables.plan.types import Type, decimal
from dynamic_tables.versions import SourceVersion
from engines.memory.store import MemoryStore
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.scenario import Commit
from workload.schema import Table
from workload.sql import Dialect, column_types, dml_texts, rows_text
from workload.types import Kind, Row, SqlType

ROW_ID = '"$ROW_ID"'
ID = '"$id"'
"""The hidden column of ids; the versions in the store show `b` and the id as `$ROW_ID`."""


def engine_type(type_: SqlType) -> Type:
    """Returns the engine's type for a type of the workload."""
    if type_.kind is Kind.DECIMAL:
        exact = decimal(type_.precision, type_.scale)
        assert exact is not None
        return exact
    aliases = {Kind.STRING: "TEXT", Kind.TIMESTAMP_NTZ: "TIMESTAMPNTZ"}
    return TYPES[aliases.get(type_.kind, type_.kind.value)]


def engine_columns(table: Table) -> Columns:
    """Returns the columns of a base table with the engine's types."""
    return tuple((column.name, engine_type(column.type)) for column in table.columns)


class Applier:
    """Applies commits to base tables, and adds each version of each to the engine's store."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, store: MemoryStore[Any]) -> None:
        self.connection = connection
        self.store = store
        self.tables: dict[str, Table] = {}
        self.versions: dict[str, list[SourceVersion]] = {}
        self.replaced: dict[str, int] = {}
        # In a schema of its own, so that a base table can have any name.
        self._run("CREATE SCHEMA hidden")
        self._run("CREATE SEQUENCE hidden.ids")

    def create(self, table: Table) -> None:
        """Creates an empty base table, whose first version is from before logical time 0."""
        self.tables[table.name] = table
        self.versions[table.name] = []
        self.store.create_base_table(BaseTable(table.name, engine_columns(table)))
        columns = column_types(table, Dialect.DUCKDB)
        self._run(f"CREATE TABLE {table.name} ({columns}, {ID} BIGINT DEFAULT nextval('hidden.ids'))")
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
        """Returns the current rows of a base table, without their ids."""
        return tuple(self.connection.execute(f"SELECT {_names(self.tables[name])} FROM {name}").fetchall())

    def _snapshot(self, table: Table, at: int, *, changed: bool) -> None:
        versions = self.versions[table.name]
        number = len(versions)
        self._run(
            f'CREATE TEMP TABLE "{_snapshot_name(table.name, number)}" AS '
            f"SELECT {_names(table)}, 'b' || {ID} AS {ROW_ID} FROM {table.name}"
        )
        content = number if changed or not versions else versions[-1].content
        identity = f"{table.name}#{self.replaced.get(table.name, 0)}"
        versions.append(SourceVersion(number, at, content, identity))
        rows = self.store.from_duckdb(
            self.connection, _snapshot_name(table.name, number), engine_columns(table)
        )
        self.store.add_version(table.name, rows, versions[-1])

    def _apply(self, statement: Dml, table: Table) -> None:
        match statement:
            case Insert(_, rows):
                self._insert(table, rows)
            case Overwrite(_, rows) | Replace(_, rows):
                self._run(f"DELETE FROM {table.name}")
                self._insert(table, rows)
                if isinstance(statement, Replace):
                    self.replaced[table.name] = self.replaced.get(table.name, 0) + 1
            case Update() | Delete() | Merge() | Truncate():
                for text in dml_texts(statement, table, Dialect.DUCKDB):
                    self._run(text)
            case Restore(_, to):
                self._restore(table, to)
            case Optimize():
                pass
            case _:
                assert_never(statement)

    def _insert(self, table: Table, rows: tuple[Row, ...]) -> None:
        # The columns are named, so that the hidden column of ids takes its default value.
        if rows:
            values = rows_text(table, rows, Dialect.DUCKDB)
            self._run(f"INSERT INTO {table.name} ({_names(table)}) VALUES {values}")

    def _restore(self, table: Table, to: int) -> None:
        number = max(version.version for version in self.versions[table.name] if version.timestamp <= to)
        names = _names(table)
        self._run(f"DELETE FROM {table.name}")
        self._run(
            f"INSERT INTO {table.name} ({names}, {ID}) "
            f"SELECT {names}, CAST(substring({ROW_ID}, 2) AS BIGINT) "
            f'FROM "{_snapshot_name(table.name, number)}"'
        )

    def _run(self, text: str) -> None:
        self.connection.execute(text).fetchall()


def _snapshot_name(table: str, version: int) -> str:
    return f"{table}@{version}"


def _names(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)
