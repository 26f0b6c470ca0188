"""Sail, Spark SQL in Rust: the adapter `sail`, whose tables are computed anew. It checks Sail's dialect."""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError, shown
from engines.rows import rows_of
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Row

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

DATABASE_NUMBERS = count()


class Sail(Adapter):
    """A database of its own on the server of this process. A refresh computes a table in full."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SPARK,
        limits=Limits(
            operators=OPERATORS - {Operator.EXPLODE},
            statements=frozenset({"insert"}),
            # It loses quotes in texts (found/sail/quote-in-a-text): base tables would already differ.
            stores=lambda value, type_: not (isinstance(value, str) and "'" in value),
        ),
    )

    @classmethod
    def ready(cls) -> None:
        """Checks that Sail is installed. Raises EngineError."""
        try:
            import grpc_status  # noqa: F401
            import pysail.spark  # noqa: F401
        except ImportError as error:
            raise EngineError("Sail is not installed; pip install 'dvs-harness[sail]'") from error

    def __init__(self) -> None:
        self._spark = _session()
        self._name = f"dvs{next(DATABASE_NUMBERS)}"
        self._run(f"CREATE DATABASE {self._name}", f"USE DATABASE {self._name}")
        self._queries: dict[str, str] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._run(sql)

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        try:
            self._run(f"CREATE VIEW {name} AS {query}")
            self._spark.sql(f"SELECT * FROM {name}").toArrow()
        except Exception as error:
            raise Unsupported(shown(error)) from error

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Notes the query. Raises Unsupported."""
        try:
            self._spark.sql(query).toArrow()
        except Exception as error:
            raise Unsupported(shown(error)) from error
        self._queries[table.name] = query

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction."""
        self._run(*transaction.sql)

    def refresh(self, table: str, timestamp: int) -> None:
        """Computes a table in full. Raises RefreshFailed."""
        try:
            self._run(f"DROP TABLE IF EXISTS {table}", f"CREATE TABLE {table} AS {self._queries[table]}")
        except Exception as error:
            raise RefreshFailed(shown(error)) from error

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table."""
        return rows_of(self._spark.sql(f"SELECT * FROM {name}"))

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Sail's own answer to a query."""
        return rows_of(self._spark.sql(query))

    def _run(self, *texts: str) -> None:
        for text in texts:
            self._spark.sql(text).toArrow()


@cache
def _session() -> SparkSession:
    """Returns a session on the server of this process, started on first use."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql.connect.session import SparkSession

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    atexit.register(server.stop)
    address = server.listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{address[1]}").getOrCreate()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session
