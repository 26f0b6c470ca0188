"""SQLite of Python's library: the adapters `sqlite`, whose tables are computed anew, and `sqlite_triggers`.

The second one is a toy as many people write it by hand: triggers keep a table for a filter and a projection.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from engines.adapter import Capabilities, Unsupported
from engines.sql_adapter import SqlAdapter
from workload.limits import Limits, Timestamps
from workload.operators import OPERATORS, Operator
from workload.query import Named, Query, Select
from workload.scenario import DynamicTable
from workload.schema import Table
from workload.sql import Dialect

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


class Sqlite(SqlAdapter):
    """A database in a file of its own. A refresh computes a table in full."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SQLITE,
        limits=Limits(operators=OPERATORS - ABSENT, drops=True, restarts=True, rollbacks=True),
    )
    errors = (sqlite3.Error,)

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dvs-sqlite-")
        self._db = self._opened()

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        return self._db.execute(text)

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
    refreshes = ()

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, Table] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        super().create_table(table, sql)
        self._tables[table.name] = table

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
        self.queries[name] = query
        self.define(
            f"CREATE TABLE {name} AS {query}",
            f"CREATE TRIGGER {name}_i AFTER INSERT ON {base} BEGIN {added} END",
            f"CREATE TRIGGER {name}_d AFTER DELETE ON {base} BEGIN {gone} END",
            f"CREATE TRIGGER {name}_u AFTER UPDATE ON {base} BEGIN {gone} {added} END",
        )
