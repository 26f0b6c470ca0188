"""DuckDB with its optimizer: the adapters `duckdb`, whose tables are computed anew, and `duckdb_file`.

The oracle computes without the optimizer, and so does this adapter's own third vote: a difference is a bug of
the optimizer. Tables are computed and read by statements that are prepared once, as clients prepare them: a
plan that does not know of a later change is a difference, too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, ClassVar

import duckdb

from engines.adapter import Capabilities, RefreshFailed, Transaction
from engines.errors import shown
from engines.others.duckdb_databases import Database
from engines.sql_adapter import SqlAdapter
from engines.values import cast_items
from workload.limits import Limits
from workload.schema import Column
from workload.sql import Dialect, type_name
from workload.types import Row


class DuckDb(SqlAdapter):
    """A database in memory. A refresh computes a table in full."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits(drops=True, failures=True, rollbacks=True)
    )
    creates = (
        'CREATE OR REPLACE VIEW "${name}" AS {query}',
        'CREATE TABLE {name} AS FROM "${name}" LIMIT 0',
    )
    errors = (duckdb.Error,)

    def __init__(self) -> None:
        self._database = self._opened()
        self._db = self._database.connection
        self._prepared: dict[str, str] = {}
        self._numbers = count()

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        return self._db.execute(text).fetchall()

    def _transact(self, transaction: Transaction, end: str) -> None:
        """Runs a transaction, in one call of DuckDB's client."""
        try:
            self.run("; ".join(("BEGIN", *transaction.sql, end)))
        except duckdb.Error:
            self._end_transaction()
            raise

    def refresh(self, table: str, timestamp: int) -> None:
        """Computes a table in full. Raises RefreshFailed."""
        try:
            insert = self._as_prepared(f'INSERT INTO {table} FROM "${table}"')
            self._db.execute(f"BEGIN; DELETE FROM {table}; {insert}; COMMIT")
        except duckdb.Error as error:
            self._end_transaction()
            raise RefreshFailed(shown(error)) from error

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table, cast to the types of the definition where it has others."""
        found = self._db.execute(self._as_prepared(f"FROM {name}"))
        types = [str(each[1]) for each in found.description]
        rows = found.fetchall()
        return rows if types == [_shown_type(each) for each in columns] else self.select(name, columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns DuckDB's own answer to a query, without its optimizer."""
        self._db.execute("PRAGMA disable_optimizer")
        return super().evaluate(query, columns)

    def interrupt(self) -> None:
        """Ends the query under way."""
        self._db.interrupt()

    def close(self) -> None:
        """Closes the database."""
        self._database.close()

    def _opened(self) -> Database:
        return Database()

    def _as_prepared(self, text: str) -> str:
        """Returns the text that runs a statement, which is prepared when it is first asked for."""
        name = self._prepared.get(text)
        if name is None:
            name = f"prepared_{next(self._numbers)}"
            self._db.execute(f"PREPARE {name} AS {text}")
            self._prepared[text] = name
        return f"EXECUTE {name}"

    def select(self, relation: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of what may stand in FROM, cast to the types of the columns."""
        items = cast_items(columns, Dialect.DUCKDB)
        return self._db.execute(f"SELECT {items} FROM {relation}").fetchall()


class DuckDbFile(DuckDb):
    """A database in a file, which is closed and opened again between refreshes; slower than one in memory."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits(drops=True, failures=True, restarts=True, rollbacks=True)
    )

    def restart(self) -> None:
        """Closes the file, which writes all that its log holds, and opens it again."""
        self._database.reopen()
        # A new process has prepared nothing.
        self._prepared.clear()

    def close(self) -> None:
        """Closes the database and removes its file."""
        super().close()
        self._folder.cleanup()

    def _opened(self) -> Database:
        self._folder = tempfile.TemporaryDirectory(prefix="dvs-duckdb-")
        return Database(f"{self._folder.name}/db")


def _shown_type(column: Column) -> str:
    """Returns the type of a column as DuckDB shows it."""
    return re.sub(r"\bINT\b", "INTEGER", type_name(column.type, Dialect.DUCKDB))
