"""Sail, Spark SQL in Rust: the adapter `sail`, whose tables are computed anew. It checks Sail's dialect."""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from engines.adapter import Capabilities, Transaction
from engines.errors import EngineError
from engines.rows import rows_of
from engines.sql_adapter import SqlAdapter
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Row

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

DATABASE_NUMBERS = count()


class Sail(SqlAdapter):
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
    # Nothing is made: the query is tried.
    creates = ("{query}",)
    refreshes = ("DROP TABLE IF EXISTS {name}", "CREATE TABLE {name} AS {query}")

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
        self.run(f"CREATE DATABASE {self._name}")
        self.run(f"USE DATABASE {self._name}")

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        return rows_of(self._spark.sql(text))

    def create_view(self, name: str, query: str) -> None:
        """Creates a view, and reads it: Sail looks at its query no earlier. Raises Unsupported."""
        self.define(f"CREATE VIEW {name} AS {query}", f"SELECT * FROM {name}")

    def commit(self, transaction: Transaction) -> None:
        """Applies the statements of a transaction; Sail has no transactions."""
        for text in transaction.sql:
            self.run(text)

    def select(self, relation: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of what may stand in FROM."""
        return rows_of(self._spark.sql(f"SELECT * FROM {relation}"))


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
