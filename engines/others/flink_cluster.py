"""A Flink cluster in a JVM of our own, which Python drives by py4j, as `pyflink` does.

The jars come from `apache-flink-libraries`, which any Python can have; py4j comes with PySpark.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, JavaObject, launch_gateway
from py4j.protocol import Py4JJavaError

from dynamic_tables.errors import SessionError
from dynamic_tables.session.java import find_java
from engines.errors import EngineError
from workload.schema import Column
from workload.sql import Dialect, column_name, type_name

PACKAGE = "apache-flink-libraries"

JVM = [
    "-Xmx1g",
    "-XX:+UseSerialGC",
    # Most code runs once: each job has classes of its own.
    "-XX:TieredStopAtLevel=1",
    # What Flink's own scripts open of Java 17.
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.time", "java.util")),
]

CLUSTER = {
    "rest.bind-port": "0",
    "taskmanager.memory.managed.size": "128m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
}

JOBS = {"execution.target": "remote", "parallelism.default": "1", "restart-strategy.type": "none"}

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
"""The kinds of changes with Flink's numbers of them."""

Change = tuple[str, Sequence[Any]]
"""A kind of change and the values of its row."""


class FlinkError(EngineError):
    """Raised where Flink refuses a text, or a job of it fails."""


def jars() -> Path:
    """Returns the folder of Flink's jars. Raises EngineError where they or a Java are not installed."""
    try:
        find_java(os.environ)
        return Path(str(distribution(PACKAGE).locate_file("pyflink/lib")))
    except PackageNotFoundError as error:
        raise EngineError("Flink is not installed; pip install 'dvs-harness[flink]'") from error
    except SessionError as error:
        raise EngineError(f"Flink needs a Java: {error}") from error


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster, and the JVM that it is in."""

    gateway: JavaGateway
    address: Any

    def environment(self, mode: str) -> Environment:
        """Returns a new environment without tables. `mode`: STREAMING or BATCH."""
        jvm = self.gateway.jvm
        settings = {"rest.address": self.address.getHost(), "rest.port": str(self.address.getPort())}
        configuration = _configuration(jvm, {**JOBS, **settings, "execution.runtime-mode": mode})
        jobs = _class(jvm, "streaming.api.environment.StreamExecutionEnvironment")(configuration)
        tables = _class(jvm, "table.api.bridge.java.StreamTableEnvironment").create(jobs)
        return Environment(self.gateway, mode, jobs, tables)

    def end(self) -> None:
        """Ends the JVM."""
        self.gateway.shutdown()
        self.gateway.java_process.kill()


@dataclass(frozen=True, slots=True)
class Environment:
    """Where tables are known and queries run. `jobs` makes streams, `tables` plans queries."""

    gateway: JavaGateway
    mode: str
    jobs: Any
    tables: Any

    def run(self, text: str) -> None:
        """Runs a statement without rows. Raises FlinkError."""
        with _refusals():
            self.tables.executeSql(text)

    def plan(self, query: str) -> str:
        """Returns the plan of a query. Raises FlinkError."""
        detail, form = (
            _class(self.gateway.jvm, f"table.api.{name}") for name in ("ExplainDetail", "ExplainFormat")
        )
        with _refusals():
            no_details = self.gateway.new_array(detail, 0)
            return str(self.tables.explainSql(query, form.TEXT, no_details))

    def changes(self, query: str) -> list[Change]:
        """Returns the changes that the job of a query gives until it has read all. Raises FlinkError."""
        with _refusals():
            found = self.tables.executeSql(query).collect()
            rows = _class(self.gateway.jvm, "util.CollectionUtil").iteratorToList(found)
            found.close()
            return [
                (row.getKind().shortString(), tuple(_value(row.getField(i)) for i in range(row.getArity())))
                for row in rows
            ]

    def added(self, rows: Any, changes: Sequence[Change]) -> Any:
        """Adds changes, whose values are texts, to a list in the JVM and returns it; None: a new list."""
        jvm = self.gateway.jvm
        result = _java_class(jvm, "java.util.ArrayList")() if rows is None else rows
        # As one text: py4j takes a call for each element of a list.
        reader = _class(jvm, "shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper")()
        kind, row_of = _class(jvm, "types.RowKind"), _class(jvm, "types.Row")
        texts = _java_class(jvm, "java.lang.Class").forName("[[Ljava.lang.Object;")
        values = reader.readValue(json.dumps([row for _, row in changes]), texts)
        kinds = {name: kind.fromByteValue(number) for name, number in KINDS.items()}
        for place, (name, _) in enumerate(changes):
            result.add(row_of.ofKind(kinds[name], values[place]))
        return result

    def show(self, name: str, columns: Sequence[Column], rows: Any) -> None:
        """Gives a table these changes, in BATCH mode insertions alone.

        They are texts, which a view casts: py4j would send small BIGINTs as INTs.
        """
        jvm = self.gateway.jvm
        fields = self.gateway.new_array(_class(jvm, "api.common.typeinfo.TypeInformation"), len(columns))
        text = _class(jvm, "api.common.typeinfo.Types").STRING
        for place in range(len(columns)):
            fields[place] = text
        stream = self.jobs.fromData(rows, _class(jvm, "api.java.typeutils.RowTypeInfo")(fields))
        read = self.tables.fromChangelogStream if self.mode == "STREAMING" else self.tables.fromDataStream
        texts, names = f"{name}_texts", [column_name(each.name, Dialect.FLINK) for each in columns]
        self.run(f"DROP TEMPORARY VIEW IF EXISTS {texts}")
        self.tables.createTemporaryView(texts, read(stream))
        items = ", ".join(
            f"CAST(f{place} AS {type_name(each.type, Dialect.FLINK)}) AS {names[place]}"
            for place, each in enumerate(columns)
        )
        self.run(f"CREATE TEMPORARY VIEW IF NOT EXISTS {name} AS SELECT {items} FROM {texts}")


def started() -> Cluster:
    """Starts a cluster in a new JVM, which ends with this process, and returns it."""
    java = find_java(os.environ)
    port, process = launch_gateway(
        classpath=str(jars() / "*"),
        javaopts=JVM,
        die_on_exit=True,
        java_path=str(java.home / "bin" / "java"),
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port), java_process=process)
    mini = "runtime.minicluster.MiniCluster"
    builder = _class(gateway.jvm, f"{mini}Configuration").Builder()
    settings = builder.setConfiguration(_configuration(gateway.jvm, CLUSTER))
    cluster = _class(gateway.jvm, mini)(settings.setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build())
    cluster.start()
    return Cluster(gateway, cluster.getRestAddress().get())


def _class(jvm: Any, name: str) -> Any:
    """Returns a class of Flink."""
    return _java_class(jvm, f"org.apache.flink.{name}")


def _java_class(jvm: Any, name: str) -> Any:
    """Returns a class by its full name. Package by package, py4j would search all jars for each prefix."""
    return getattr(jvm, name)


def _configuration(jvm: Any, settings: Mapping[str, str]) -> Any:
    configuration = _class(jvm, "configuration.Configuration")()
    for name, value in settings.items():
        configuration.setString(name, value)
    return configuration


def _value(value: Any) -> Any:
    """Returns a value as Python has it; py4j leaves dates and times as objects of Java."""
    if not isinstance(value, JavaObject):
        return value
    text = value.toString()
    return dt.datetime.fromisoformat(text) if "T" in text else dt.date.fromisoformat(text)


@contextmanager
def _refusals() -> Iterator[None]:
    """Raises FlinkError with the innermost message of an error in the JVM."""
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        lines = str(cause.getMessage() or cause.toString()).splitlines()
        raise FlinkError(lines[0] if lines else "an error without a message") from error
