"""The rows of base tables in memory: DuckDB tables with a hidden column of row ids.

DuckDB runs the DML itself, on purpose: the oracle computes the same states with SELECTs only, and the two are
compared. A row gets its id when it is inserted; UPDATE keeps it, an overwrite makes new ones, and RESTORE
brings the old ones back.
"""

from __future__ import annotations

from typing import assert_never

import duckdb

from dynamic_tables.definition import Columns
from dynamic_tables.plan.types import Kind as EngineKind, Type, decimal
from engines.memory.database import fetched
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.schema import Table
from workload.sql import Dialect, column_name, column_types, dml_texts, rows_text
from workload.types import NESTED, Kind, Row, SqlType

BATCH = 500
"""Rows of one INSERT: DuckDB takes twice as long for 20,000 rows in one text."""

ROW_ID = '"$ROW_ID"'
ID = '"$id"'
"""The hidden column of ids; snapshots show `b` and the id as `$ROW_ID`.

Each table counts its ids by itself, from 1, as Delta's row tracking does: so rows of two tables have equal
ids, and a rule that takes a row's id alone for its identity is found out.
"""


def engine_type(type_: SqlType) -> Type:
    """Returns the engine's type for a type of the workload."""
    if type_.kind is Kind.DECIMAL:
        exact = decimal(type_.precision, type_.scale)
        assert exact is not None
        return exact
    if type_.kind in NESTED:
        return Type(EngineKind.OTHER, name=str(type_))
    return Type(EngineKind(type_.kind.value))


def engine_columns(table: Table) -> Columns:
    """Returns the columns of a base table with the engine's types."""
    return tuple((column.name, engine_type(column.type)) for column in table.columns)


class BaseRows:
    """The current rows of base tables, and a snapshot of each version: a DuckDB table `name@version`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        # In a schema of its own, so that a base table can have any name.
        self._run("CREATE SCHEMA hidden")

    def create(self, table: Table) -> None:
        """Creates an empty base table."""
        columns = column_types(table, Dialect.DUCKDB)
        self._run(f"CREATE SEQUENCE {_ids(table.name)}")
        self._run(f"CREATE TABLE {table.name} ({columns}, {ID} BIGINT DEFAULT nextval('{_ids(table.name)}'))")
        for column in table.columns:
            if column.type.kind in (Kind.FLOAT, Kind.DOUBLE):
                # UPDATE leaves a value as it is where the new one is equal to it, as -0.0 is to 0.0. With an
                # index it writes the row anew.
                shown = column_name(column.name, Dialect.DUCKDB)
                self._run(f"CREATE INDEX hidden_{table.name}_{column.name} ON {table.name} ({shown})")

    def current(self, table: Table) -> tuple[Row, ...]:
        """Returns the current rows, without their ids."""
        return tuple(fetched(self.connection.execute(f"SELECT {_names(table)} FROM {table.name}")))

    def snapshot(self, table: Table, version: int) -> str:
        """Copies the current rows as a version; returns the name of the copy."""
        name = _snapshot_name(table.name, version)
        self._run(
            f'CREATE TEMP TABLE "{name}" AS '
            f"SELECT {_names(table)}, 'b' || {ID} AS {ROW_ID} FROM {table.name}"
        )
        return name

    def next_id(self, name: str) -> int:
        """Takes an id of a table, and returns it: rows inserted from now on have greater ones."""
        row = self.connection.execute(f"SELECT nextval('{_ids(name)}')").fetchone()
        assert row is not None
        return int(row[0])

    def delete_between(self, name: str, first: int, end: int) -> None:
        """Deletes the rows of a table with ids from `first` to before `end`."""
        self._run(f"DELETE FROM {name} WHERE {ID} >= {first} AND {ID} < {end}")

    def apply(self, statement: Dml, table: Table, restored: int) -> None:
        """Runs a statement. `restored`: the version that a RESTORE goes back to."""
        match statement:
            case Insert(_, rows):
                self._insert(table, rows)
            case Overwrite(_, rows) | Replace(_, rows):
                self._run(f"DELETE FROM {table.name}")
                self._insert(table, rows)
            case Update() | Delete() | Merge() | Truncate():
                for text in dml_texts(statement, table, Dialect.DUCKDB):
                    self._run(text)
            case Restore():
                self._restore(table, restored)
            case Optimize():
                pass
            case _:
                assert_never(statement)

    def _insert(self, table: Table, rows: tuple[Row, ...]) -> None:
        # The columns are named, so that the hidden column of ids takes its default value.
        for start in range(0, len(rows), BATCH):
            values = rows_text(table, rows[start : start + BATCH], Dialect.DUCKDB)
            self._run(f"INSERT INTO {table.name} ({_names(table)}) VALUES {values}")

    def _restore(self, table: Table, version: int) -> None:
        names = _names(table)
        self._run(f"DELETE FROM {table.name}")
        self._run(
            f"INSERT INTO {table.name} ({names}, {ID}) "
            f"SELECT {names}, CAST(substring({ROW_ID}, 2) AS BIGINT) "
            f'FROM "{_snapshot_name(table.name, version)}"'
        )

    def _run(self, text: str) -> None:
        self.connection.execute(text).fetchall()


def _ids(table: str) -> str:
    """Returns the name of the sequence that gives the ids of a table."""
    return f'hidden."{table}"'


def _snapshot_name(table: str, version: int) -> str:
    return f"{table}@{version}"


def _names(table: Table) -> str:
    return ", ".join(column_name(column.name, Dialect.DUCKDB) for column in table.columns)
