"""Spark's declarative pipelines: the adapter `pipelines`, whose materialized views a run computes in full."""

from __future__ import annotations

import atexit
import os
import re
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dynamic_tables.errors import SessionError
from dynamic_tables.session.java import find_java
from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError, shown
from engines.rows import rows_of
from servers.own import Program, Server, started
from workload.limits import Limits
from workload.scenario import Definition, DynamicTable, View
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASE_NUMBERS = count()

SETTINGS = (
    "spark.sql.session.timeZone=UTC",
    "spark.sql.shuffle.partitions=1",
    "spark.ui.enabled=false",
    "spark.log.level=WARN",
    "spark.sql.catalogImplementation=in-memory",
)

START_S = 300.0
"""Seconds that the server may take to start: 17 on an idle machine, a minute on a busy one."""

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

ALL_ROWS = re.compile(r"^DELETE FROM (\S+)$")
"""A DELETE without WHERE; group 1 is the table."""

FAILED = "Run is FAILED"
"""How the message of the last event of a run begins where a view could not be computed."""


class Pipelines(Adapter):
    """A database of its own on the Spark Connect server of this process, and a pipeline of its views."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SPARK,
        # Base tables are of Parquet, which has neither UPDATE nor DELETE.
        limits=Limits(statements=frozenset({"insert", "overwrite", "truncate"}), drops=True, failures=True),
    )

    @classmethod
    def ready(cls) -> None:
        """Checks that what Spark Connect needs is installed, and a Java. Raises EngineError."""
        if any(find_spec(name) is None for name in ("grpc_status", "pandas")):
            raise EngineError("pipelines need Spark Connect; pip install 'dvs-harness[pipelines]'")
        try:
            find_java(os.environ)
        except SessionError as error:
            raise EngineError(f"pipelines need a Java: {error}") from error

    def __init__(self) -> None:
        self._spark = _session()
        self._name = f"dvs{next(DATABASE_NUMBERS)}"
        self._run(f"CREATE DATABASE {self._name}", f"USE DATABASE {self._name}")
        self._queries: dict[str, str] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._run(f"{sql.rstrip(';')} USING parquet")

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        self._define(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Adds a materialized view to the pipeline; the first run creates its table. Raises Unsupported."""
        # Checks the query now, as the first run would report it much later; LIMIT 0 keeps it cheap.
        self._define(f"SELECT * FROM ({query}) LIMIT 0")
        self._queries[table.name] = query

    def drop(self, definition: Definition) -> None:
        """Drops a view, or a materialized view with its table."""
        if isinstance(definition, View):
            self._run(f"DROP VIEW {definition.name}")
        else:
            del self._queries[definition.name]
            self._run(f"DROP TABLE IF EXISTS {definition.name}")

    def commit(self, transaction: Transaction) -> None:
        """Runs the statements of a transaction; Parquet has no DELETE, but all rows can go by TRUNCATE."""
        self._run(*(ALL_ROWS.sub(r"TRUNCATE TABLE \1", text) for text in transaction.sql))

    def refresh(self, table: str, timestamp: int) -> None:
        """Runs the pipeline for one materialized view. Raises RefreshFailed."""
        from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
        from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run

        text = ";\n".join(
            f"CREATE MATERIALIZED VIEW {name} AS {query}" for name, query in self._queries.items()
        )
        messages = []
        try:
            graph = create_dataflow_graph(self._spark, "spark_catalog", self._name, {})
            SparkConnectGraphElementRegistry(self._spark, graph).register_sql(text, Path("views.sql"))
            events = start_run(
                self._spark, graph, full_refresh=[], full_refresh_all=False, refresh=[table], dry=False,
                storage=(_server().folder / "storage").as_uri(),
            )  # fmt: skip
            messages = [
                each["pipeline_event_result"].event.message
                for each in events
                if "pipeline_event_result" in each
            ]
        except Exception as error:
            raise RefreshFailed(shown(error)) from error
        if any(each.startswith(FAILED) for each in messages):
            raise RefreshFailed(" ".join(messages[-1].split()))

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table."""
        return rows_of(self._spark.sql(f"SELECT * FROM {name}"))

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Spark's own answer to a query."""
        return rows_of(self._spark.sql(query))

    def close(self) -> None:
        """Drops the database."""
        self._run("USE DATABASE default", f"DROP DATABASE {self._name} CASCADE")

    def _define(self, text: str) -> None:
        try:
            self._run(text)
        except Exception as error:
            raise Unsupported(shown(error)) from error

    def _run(self, *texts: str) -> None:
        for text in texts:
            # Spark Connect evaluates a query only when its result is fetched.
            self._spark.sql(text).toArrow()


@cache
def _session() -> SparkSession:
    """Returns the session of this process on its server."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(_server().address).getOrCreate()


@cache
def _server() -> Server:
    """Returns the server of this process, started on first use."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(started(_program(), START_S))


def _program() -> Program:
    """Returns how a Spark Connect server, which comes with PySpark, is started."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    submit = str(Path(spec.origin).with_name("bin") / "spark-submit")
    settings = [part for setting in SETTINGS for part in ("--conf", setting)]
    return Program(
        name="Spark Connect",
        users=(),
        # Spark Connect ignores SIGTERM.
        stop="KILL",
        make=lambda folder: ("true",),
        serve=lambda folder, port: (
            "env", f"JAVA_HOME={find_java(os.environ).home}", submit, "--class", SERVER,
            "--master", "local[1]", *settings, "--conf", f"spark.sql.warehouse.dir={folder / 'tables'}",
            "--conf", f"spark.connect.grpc.binding.port={port}",
            "--conf", "spark.connect.grpc.binding.address=127.0.0.1", "spark-internal",
        ),
        address=lambda port: f"sc://127.0.0.1:{port}",
        connect=_connect,
        refused=OSError,
    )  # fmt: skip


def _connect(address: str) -> None:
    host, port = address.removeprefix("sc://").split(":")
    socket.create_connection((host, int(port)), 5).close()
