"""PostgreSQL's materialized views: the adapter `postgres`. REFRESH .. CONCURRENTLY applies the changes.

The views are read by statements that are prepared once, as clients prepare them.
"""

from __future__ import annotations

import atexit
import itertools
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, ClassVar

import psycopg

from engines.adapter import Capabilities, RefreshFailed, Unsupported
from engines.errors import EngineError, shown
from engines.sql_adapter import SqlAdapter
from engines.values import cast_items
from servers.own import Server, ServerMissing
from servers.postgres import programs, started
from workload import query as ir
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.scenario import Definition, DynamicTable
from workload.schema import Column
from workload.sql import Dialect, column_name
from workload.types import Kind, Row


def gap(query: ir.Query) -> str | None:
    """Returns what PostgreSQL 15 lacks of a query; None: nothing."""
    for block in ir.blocks(query):
        parts = [part for expr in ir.expressions_of(block) for part in ir.subexpressions(expr)]
        if any(isinstance(part, ir.Window) and part.ignores_nulls for part in parts):
            return "IGNORE NULLS"
        for part in parts:
            if isinstance(part, ir.Aggregate) and part.type.kind in (Kind.BINARY, Kind.BOOLEAN):
                return f"{part.function.value} of {part.type.kind.value}"
        if any(isinstance(part, ir.Join) and _needs_a_hash(part) for part in ir.relations_of(block.source)):
            return "a FULL JOIN whose condition is more than equalities"
    return None


def _needs_a_hash(join: ir.Join) -> bool:
    """Tells whether PostgreSQL refuses a FULL JOIN: it can neither sort nor hash by the condition."""
    match join.kind, join.on:
        case ir.JoinKind.FULL, ir.Call("and", args):
            return not all(map(_equates, args))
        case ir.JoinKind.FULL, condition if condition is not None:
            return not _equates(condition)
        case _:
            return False


def _equates(condition: ir.Expr) -> bool:
    match condition:
        case ir.Call("eq", (ir.ColumnRef(one), ir.ColumnRef(two))):
            return one != two
        case _:
            return False


LIMITS = Limits(
    operators=OPERATORS - {Operator.EXPLODE, Operator.SEMI_JOIN, Operator.ANTI_JOIN},
    drops=True,
    failures=True,
    restarts=True,
    rollbacks=True,
    gap=gap,
    stores=lambda value, type_: type_.kind is not Kind.STRING or "\x00" not in str(value),
)

COPY = "dvs_copy"
"""A column of each view that numbers equal rows: CONCURRENTLY needs a unique index, so no two equal rows."""

NEVER_UNASKED = sys.maxsize
"""After how many runs of one text the driver prepares it by itself."""

numbers = itertools.count()
"""Numbers the schemas of this process's server."""


class Postgres(SqlAdapter):
    """A schema of its own on the server of this process."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.POSTGRES, limits=LIMITS)
    errors = (psycopg.Error,)
    kind = "MATERIALIZED VIEW"

    @classmethod
    def ready(cls) -> None:
        """Checks that there is a PostgreSQL server to start. Raises EngineError."""
        try:
            programs()
        except ServerMissing as error:
            raise EngineError(str(error)) from error

    def __init__(self) -> None:
        self._schema = f"dvs{next(numbers)}"
        self._connection = self._connected()
        self.run(f"CREATE SCHEMA {self._schema}")
        self._filled: set[str] = set()

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        found = self._connection.execute(text)
        return found.fetchall() if found.description else ()

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a materialized view without contents, with a unique index. Raises Unsupported."""
        try:
            found = self._connection.execute(f"SELECT * FROM ({query}) AS q LIMIT 0").description or []
        except psycopg.Error as error:
            raise Unsupported(shown(error)) from error
        columns = ", ".join(column_name(each.name, Dialect.POSTGRES) for each in found)
        self.define(
            f"CREATE MATERIALIZED VIEW {table.name} AS "
            f"SELECT q.*, row_number() OVER (PARTITION BY {columns}) AS {COPY} FROM ({query}) AS q "
            "WITH NO DATA",
            f"CREATE UNIQUE INDEX ON {table.name} ({columns}, {COPY})",
        )

    def drop(self, definition: Definition) -> None:
        """Drops a view or materialized view."""
        super().drop(definition)
        self._filled.discard(definition.name)

    def define(self, *texts: str) -> None:
        """Runs the statements of a definition, all or none. Raises Unsupported."""
        with self._connection.transaction():
            super().define(*texts)

    def refresh(self, table: str, timestamp: int) -> None:
        """Refreshes a view; from the second time on by its changes. Raises RefreshFailed."""
        concurrently = "CONCURRENTLY" if table in self._filled else ""
        try:
            self.run(f"REFRESH MATERIALIZED VIEW {concurrently} {table}")
        except psycopg.Error as error:
            raise RefreshFailed(shown(error)) from error
        self._filled.add(table)

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table or view, cast to the types of the definition."""
        return self._connection.execute(_select(name, columns), prepare=True).fetchall()

    def select(self, relation: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of what may stand in FROM, cast to the types of the columns."""
        return self._connection.execute(_select(relation, columns)).fetchall()

    def restart(self) -> None:
        """Kills the server and starts it again: it recovers what was committed, as after a crash."""
        self._connection.close()
        _server().kill()
        _server().start()
        self._connection = self._connected()

    def interrupt(self) -> None:
        """Ends the query under way."""
        self._connection.cancel()

    def close(self) -> None:
        """Drops the schema."""
        self.run(f"DROP SCHEMA {self._schema} CASCADE")
        self._connection.close()

    def _connected(self) -> psycopg.Connection:
        options = f"-c search_path={self._schema}"
        return psycopg.connect(
            _server().address, autocommit=True, prepare_threshold=NEVER_UNASKED, options=options
        )


def _select(relation: str, columns: Sequence[Column]) -> str:
    return f"SELECT {cast_items(columns, Dialect.POSTGRES)} FROM {relation}"


@cache
def _server() -> Server:
    """Returns the server of this process, started on first use."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(started())
