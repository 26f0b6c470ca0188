"""The folder of an account: which tables and views it holds, their logs, their names in Spark's catalog."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dynamic_tables.definition import BaseTable, Columns, Definition
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.store.catalog import create_text, from_metadata, to_properties
from dynamic_tables.store.files import Files
from dynamic_tables.store.log import TableLog, TableMetadata
from dynamic_tables.store.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Folder:
    """Tables and views by name, read from their Delta logs as they change.

    A sub-folder whose name starts with a dot or underscore, or that holds no file at all (what a crash
    before the first commit leaves), is nothing.
    """

    def __init__(self, path: str, files: Files, session: SparkSession) -> None:
        self.path = path
        self.files = files
        self.session = session
        self.logs: dict[str, TableLog] = {}
        self.known: dict[str, tuple[str, int, Definition]] = {}
        self.registered: set[str] = set()
        self.database = f"dvs_{uuid.uuid4().hex}"
        with store_errors(path):
            session.sql(f"CREATE DATABASE {self.database}")
            session.sql(f"USE {self.database}")

    def close(self) -> None:
        """Frees what Spark's catalog and Delta's cache hold; no file is touched."""
        with store_errors(self.path):
            for name in self.registered:
                self.session.sql(f"DROP TABLE {self.database}.{SPARK.identifier(name)}")
            self.session.sql("USE default")
            self.session.sql(f"DROP DATABASE {self.database}")
            for name in self.logs:
                self._forget_in_delta(name)
        self.registered.clear()

    def path_of(self, name: str) -> str:
        """The folder of a table."""
        return f"{self.path}/{name}"

    def sql_name(self, name: str) -> str:
        """A table by its path, in SQL."""
        return f"delta.{SPARK.identifier(self.path_of(name))}"

    def definitions(self) -> Mapping[str, Definition]:
        """What is there, in creation order. Raises CorruptTable."""
        names = {name for name in self.files.folders(self.path) if name[0] not in "._"}
        for gone in self.known.keys() - names:
            self._forget(gone)
        for name in names - self.known.keys():
            if not self._is_leftover(name):
                self.polled(name)
        ordered = sorted(self.known.items(), key=lambda item: (item[1][1], item[0]))
        return {name: definition for name, (_, _, definition) in ordered}

    def log(self, name: str) -> TableLog:
        """The log of a table as last read."""
        return self.logs[name] if name in self.logs else self.polled(name)

    def polled(self, name: str) -> TableLog:
        """The log of a table, read up to its end; its definition follows the log."""
        log = self.logs.get(name)
        if log is None:
            log = TableLog(name, self.path_of(name), self.files, self._metadata_at)
        log.poll()
        table = log.newest.table
        known = self.known.get(name)
        if known is None or known[0] != table.id or log.name not in self.logs:
            order, definition = from_metadata(name, table)
            self.known[name] = (table.id, order, definition)
        self.logs[name] = log
        return log

    def create(self, definition: Definition, columns: Columns, properties: Mapping[str, str]) -> None:
        """Makes the Delta table of a definition; the commit that makes it holds the definition."""
        name = definition.name
        order = max((order for _, order, _ in self.known.values()), default=0) + 1
        properties = {**properties, **to_properties(definition, order)}
        place = self.path_of(name)
        base = isinstance(definition, BaseTable)
        target = f"{self.database}.{SPARK.identifier(name)}" if base else self.sql_name(name)
        try:
            with store_errors(name):
                self.session.sql(create_text(target, columns, properties, location=place if base else ""))
        except StoreError as error:
            raise DefinitionError(f"{name} cannot be stored: {error}") from error
        if base:
            self.registered.add(name)
        self.polled(name)

    def remove(self, name: str) -> None:
        """Removes a table with its folder, and what Spark and Delta remember of it."""
        with store_errors(name):
            if name in self.registered:
                self.session.sql(f"DROP TABLE {self.database}.{SPARK.identifier(name)}")
                self.registered.discard(name)
            self.files.remove(self.path_of(name))
            self._forget_in_delta(name)
        self._forget(name)

    def register(self, name: str) -> None:
        """Makes a base table known by its plain name in the session's current database."""
        if name not in self.registered:
            with store_errors(name):
                target, place = f"{self.database}.{SPARK.identifier(name)}", SPARK.string(self.path_of(name))
                self.session.sql(f"CREATE TABLE {target} USING delta LOCATION {place}")
            self.registered.add(name)

    def _forget(self, name: str) -> None:
        self.logs.pop(name, None)
        self.known.pop(name, None)

    def _forget_in_delta(self, name: str) -> None:
        # Delta's cache of logs, by path, has no Python interface.
        jvm: Any = self.session.sparkContext._jvm  # noqa: SLF001
        path = jvm.org.apache.hadoop.fs.Path(self.path_of(name))
        jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(self.session._jsparkSession, path)  # noqa: SLF001

    def _is_leftover(self, name: str) -> bool:
        place = self.path_of(name)
        folders = self.files.folders(place)
        if self.files.files(place) or [folder for folder in folders if folder != "_delta_log"]:
            return False
        return not self.files.files(f"{place}/_delta_log")

    def _metadata_at(self, place: str, version: int) -> TableMetadata:
        """The table's metadata where the commit that set it was cleaned up: Delta has a checkpoint."""
        with store_errors(place):
            jvm: Any = self.session.sparkContext._jvm  # noqa: SLF001
            log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.session._jsparkSession, place)  # noqa: SLF001
            nothing = jvm.scala.Option.empty()
            found = log.getSnapshotAt(version, nothing, nothing, False).metadata()
            properties = jvm.scala.jdk.javaapi.CollectionConverters.asJava(found.configuration())
            schema = str(found.schemaString())
            return TableMetadata(id=str(found.id()), properties=dict(properties), schema=schema)
