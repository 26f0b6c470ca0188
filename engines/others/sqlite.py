"""SQLite of Python's library: the adapters `sqlite`, whose tables are computed anew, and `sqlite_triggers`.

The second one is a toy as many people write it by hand: triggers keep a table for a filter and a projection.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from engines.adapter import Adapter, Capabilities, Transaction, Unsupported
from engines.values import typed_rows
from workload.limits import Limits, Timestamps
from workload.operators import OPERATORS, Operator
from workload.query import Named, Query, Select
from workload.scenario import Definition, DynamicTable, View
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Row

ABSENT = frozenset(
    {
        Operator.SEMI_JOIN,
        Operator.ANTI_JOIN,
        Operator.EXCEPT_ALL,
        Operator.INTERSECT_ALL,
        Operator.GROUPING_SETS,
        Operator.EXPLODE,
    }
)


class Sqlite(Adapter):
    """A database in a file of its own. A refresh computes a table in full."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SQLITE,
        limits=Limits(operators=OPERATORS - ABSENT, drops=True, restarts=True, rollbacks=True),
    )

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dvs-sqlite-")
        self._db = self._opened()
        self._queries: dict[str, str] = {}
        self._tables: dict[str, Table] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._db.execute(sql)
        self._tables[table.name] = table

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        self._define(f"CREATE VIEW {name} AS {query}", f"SELECT * FROM {name} LIMIT 0")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a table without contents. Raises Unsupported."""
        self._define(f"CREATE TABLE {table.name} AS SELECT * FROM ({query}) LIMIT 0")
        self._queries[table.name] = query

    def drop(self, definition: Definition) -> None:
        """Drops a view or a table."""
        self._db.execute(f"DROP {'VIEW' if isinstance(definition, View) else 'TABLE'} {definition.name}")

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction."""
        for text in ("BEGIN", *transaction.sql, "COMMIT"):
            self._db.execute(text)

    def roll_back(self, transaction: Transaction) -> None:
        """Runs a transaction and rolls it back."""
        for text in ("BEGIN", *transaction.sql, "ROLLBACK"):
            self._db.execute(text)

    def refresh(self, table: str, timestamp: int) -> None:
        """Computes a table in full."""
        for text in (
            "BEGIN",
            f"DELETE FROM {table}",
            f"INSERT INTO {table} {self._queries[table]}",
            "COMMIT",
        ):
            self._db.execute(text)

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table."""
        return typed_rows(self._db.execute(f"SELECT * FROM {name}"), columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns SQLite's own answer to a query."""
        return typed_rows(self._db.execute(query), columns)

    def restart(self) -> None:
        """Opens the file again."""
        self._db.close()
        self._db = self._opened()

    def interrupt(self) -> None:
        """Ends the query under way."""
        self._db.interrupt()

    def close(self) -> None:
        """Closes the database and removes its file."""
        self._db.close()
        self._folder.cleanup()

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(
            Path(self._folder.name, "db"), isolation_level=None, check_same_thread=False
        )
        # No crash of the machine is tested, so nothing waits for the disk.
        database.execute("PRAGMA synchronous = OFF")
        return database

    def _define(self, *texts: str) -> None:
        try:
            for text in texts:
                self._db.execute(text)
        except sqlite3.Error as error:
            raise Unsupported(str(error)) from error


def no_filter_of_one_table(query: Query) -> str | None:
    """Returns why the triggers cannot keep a query; None: they can."""
    match query:
        case Select(source=Named(), group_by=None, distinct=False, qualify=None):
            return None
        case _:
            return "more than a filter and a projection of one table"


class SqliteTriggers(Sqlite):
    """The toy: a row that comes or goes in the base table comes or goes in the view, by three triggers."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SQLITE,
        limits=Limits(
            operators=frozenset({Operator.FILTER, Operator.PROJECTION}),
            timestamps=Timestamps.COMMIT,
            views=False,
            layered=False,
            restarts=True,
            rollbacks=True,
            gap=no_filter_of_one_table,
        ),
    )

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a table with its contents and its triggers. Raises Unsupported."""
        reason = no_filter_of_one_table(table.query)
        if reason is not None or not isinstance(table.query, Select):
            raise Unsupported(reason or "no block")
        source = table.query.source
        assert isinstance(source, Named)
        name, base = table.name, source.name
        columns = [column.name for column in self._tables[base].columns]

        def over(row: str) -> str:
            """Returns the view's query over one row. `row`: NEW or OLD."""
            one = ", ".join(f"{row}.{column} AS {column}" for column in columns)
            return query.replace(f"FROM {base} AS {source.alias}", f"FROM (SELECT {one}) AS {source.alias}")

        equal = " AND ".join(f"v.{item.name} IS gone.{item.name}" for item in table.query.items)
        added = f"INSERT INTO {name} {over('NEW')};"
        gone = (
            f"DELETE FROM {name} WHERE rowid IN (SELECT v.rowid FROM {name} AS v, ({over('OLD')}) AS gone "
            f"WHERE {equal} LIMIT 1);"
        )
        self._define(
            f"CREATE TABLE {name} AS {query}",
            f"CREATE TRIGGER {name}_i AFTER INSERT ON {base} BEGIN {added} END",
            f"CREATE TRIGGER {name}_d AFTER DELETE ON {base} BEGIN {gone} END",
            f"CREATE TRIGGER {name}_u AFTER UPDATE ON {base} BEGIN {gone} {added} END",
        )

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the triggers have kept the table."""
