"""The engine's store on Delta tables: one folder per table or view, everything it knows in Delta commits."""

from __future__ import annotations

import json
import logging
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, View
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import SPARK, Dialect
from dynamic_tables.plan.nodes import ROW_ID, Plan
from dynamic_tables.plan.render import render
from dynamic_tables.plan.types import INT, STRING
from dynamic_tables.refresh.frontier import SourceVersion
from dynamic_tables.refresh.versions import SourceHistory
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store import base_log, refresh_log
from dynamic_tables.store.base_log import Stamp
from dynamic_tables.store.catalog import BASE_TABLE_PROPERTIES, create_text
from dynamic_tables.store.commit_settings import commit_settings
from dynamic_tables.store.files import files_of
from dynamic_tables.store.folder import Folder
from dynamic_tables.store.merge_text import merge_text
from dynamic_tables.store.port import RefreshRecord, Relation
from dynamic_tables.store.readable import is_readable
from dynamic_tables.store.relations import SparkRelation, Workspace, bound, view_names
from dynamic_tables.store.spark_errors import store_errors
from dynamic_tables.store.statements import Statement, check_statement
from dynamic_tables.store.texts import columns_of_text, no_rows, text_frame
from dynamic_tables.store.transactions import Transactions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CACHED_SNAPSHOTS = 64


class DeltaStore:
    """A `Store` in a folder.

    It works in a session of its own, a copy of the one given, for commit settings stick to a session.
    `strict_merge`: MERGE refuses changes that do not fit the contents. `properties`: Delta properties of
    every table it creates, such as `delta.checkpointInterval`. Not safe for use by several threads: the
    account serializes its calls. Several stores may be used at once.
    """

    def __init__(
        self,
        path: str,
        spark: SparkSession,
        clock: Clock,
        *,
        strict_merge: bool = True,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.clock = clock
        self.strict_merge = strict_merge
        self.properties = dict(properties or {})
        self.session = copy_of(spark)
        self.workspace = Workspace(self.session)
        self.folder = Folder(path.rstrip("/"), files_of(path, spark), self.session)
        self.snapshots: OrderedDict[tuple[str, str, int, bool], SparkRelation] = OrderedDict()
        self.seen: dict[str, int] = {}
        self.transactions = Transactions(
            session=self.session, clock=clock, logs=self._base_logs, run_replace=self._replace
        )

    @property
    def dialect(self) -> Dialect:
        """Spark's."""
        return SPARK

    # Definitions

    def definitions(self) -> Mapping[str, Definition]:
        """What the folder holds. Raises CorruptTable for a folder in it that is no table of an account."""
        return self.folder.definitions()

    def create_base_table(self, table: BaseTable) -> None:
        """Adds an empty base table, stamped with the time now."""
        if not table.columns:
            raise DefinitionError(f"{table.name} has no columns")
        properties = {**BASE_TABLE_PROPERTIES, **self.properties}
        stamp = Stamp(transaction=uuid.uuid4().hex, timestamp=self.clock.now(), part=1, parts=1, before={})
        with commit_settings(self.session, json.dumps(stamp.to_metadata())):
            self.folder.create(table, table.columns, properties)

    def create_view(self, view: View) -> None:
        """Adds a view: a Delta table without rows whose properties hold it."""
        self.folder.create(view, (("view", INT),), {})

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds an empty, uninitialized dynamic table."""
        self.folder.create(table, stored_columns(table), self.properties)

    def drop(self, definition: Definition) -> None:
        """Removes the folder of a table or view."""
        self.folder.remove(definition.name)
        self.seen.pop(definition.name, None)
        for key in [key for key in self.snapshots if key[0] == definition.name]:
            self.workspace.release([self.snapshots.pop(key)], ())

    def close(self) -> None:
        """Gives up views and names in Spark's catalog; the tables stay. The store is of no use afterwards."""
        self.workspace.release(list(self.snapshots.values()), ())
        self.snapshots.clear()
        self.folder.close()

    # Writing base tables

    def write(self, statements: Sequence[str]) -> Mapping[str, int]:
        """Runs statements as one transaction at one time; returns the newest version of each table written.

        Raises DefinitionError before anything runs, StoreError where a statement fails; then the
        statements before it are taken back.
        """
        checked = [check_statement(text, self.definitions()) for text in statements]
        for statement in checked:
            self.folder.register(statement.target)
        return self.transactions.write(checked)

    def rollback_unfinished(self) -> int | None:
        """Takes back what a crash in the middle of a transaction left; returns its time, None if nothing."""
        for name in self._base_logs():
            self.folder.register(name)
        return self.transactions.rollback_unfinished()

    def _base_logs(self) -> Mapping[str, Any]:
        return {
            name: self.folder.log(name)
            for name, known in self.definitions().items()
            if isinstance(known, BaseTable)
        }

    def _replace(self, statement: Statement) -> None:
        assert statement.columns is not None
        # All of the old table's but the names of its hidden columns, which are not the new one's.
        old = self.folder.log(statement.target).newest.table.properties
        properties = {name: value for name, value in old.items() if not name.startswith("delta.rowTracking.")}
        target = f"{self.folder.database}.{SPARK.identifier(statement.target)}"
        place = self.folder.path_of(statement.target)
        self.session.sql(create_text(target, statement.columns, properties, location=place, replace=True))

    # Versions

    def history(self, definition: BaseTable | DynamicTable) -> SourceHistory:
        """Commits of a base table, refreshes of a dynamic one.

        Raises StoreError while a transaction is unfinished: no time at or after it can be read.
        """
        log = self.folder.polled(definition.name)
        if isinstance(definition, DynamicTable):
            versions = refresh_log.versions(refresh_log.refreshes(log))
            return SourceHistory(definition.name, True, versions)
        self.transactions.ensure_finished()
        return SourceHistory(definition.name, False, base_log.versions(log, simulated=self.clock.simulated))

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Whether log and files still give a version; see `store.readable` for what is looked at."""
        with store_errors(name):
            return is_readable(self.folder.polled(name), self.folder.files, version.version)

    def refreshes(self, table: DynamicTable) -> Sequence[RefreshRecord]:
        """The refresh history from the log."""
        logged = refresh_log.refreshes(self.folder.polled(table.name))
        self.seen[table.name] = logged[-1].version if logged else -1
        return [refresh.record for refresh in logged]

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """A version by time travel. A few small ones are kept: the end of one interval starts the next."""
        definition = self.definitions()[name]
        assert not isinstance(definition, View)
        key = (name, self.folder.log(name).newest.table.id, version, ids)
        known = self.snapshots.get(key)
        if known is not None:
            self.snapshots.move_to_end(key)
            return known
        with store_errors(f"{name} at version {version}"):
            relation = self._read(definition, version, ids)
        if relation.local:
            self.snapshots[key] = relation
            while len(self.snapshots) > CACHED_SNAPSHOTS:
                self.workspace.release([self.snapshots.popitem(last=False)[1]], ())
        return relation

    def _read(self, definition: BaseTable | DynamicTable, version: int, ids: bool) -> SparkRelation:
        items = [SPARK.identifier(column) for column, _ in definition.columns]
        if ids and isinstance(definition, BaseTable):
            items.append(f"'b' || CAST(_metadata.row_id AS STRING) AS {SPARK.identifier(ROW_ID)}")
        elif ids:
            items.append(SPARK.identifier(ROW_ID))
        place = self.folder.sql_name(definition.name)
        frame = self.session.sql(f"SELECT {', '.join(items)} FROM {place} VERSION AS OF {version}")
        return self.workspace.small(frame) or bound(frame, local=False)

    def current(self, table: DynamicTable) -> Relation:
        """The rows of the newest refresh with their ids."""
        logged = refresh_log.refreshes(self.folder.polled(table.name))
        version = logged[-1].version if logged else self.folder.log(table.name).newest.version
        return self.snapshot(table.name, version, ids=table.incremental)

    # Queries

    def compute(self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool) -> Relation:
        """A plan over bound leaves."""
        text = render(plan, SPARK, view_names(leaves)).text()
        if once:
            return self.workspace.materialized(text, tuple(leaves.values()))
        return self.workspace.query(text)

    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> Relation:
        """A query's own text; views in it are expanded over the relations given."""
        frames = {
            name: relation.frame
            for name, relation in relations.items()
            if isinstance(relation, SparkRelation)
        }
        with store_errors():
            frame = text_frame(self.session, text, frames, self.definitions())
            return bound(frame, local=False)

    def columns_of_text(self, text: str, relations: Iterable[str]) -> Columns:
        """Names and types of a query's result as Spark sees them. Raises DefinitionError."""
        return columns_of_text(self.session, text, self.definitions())

    # Commits

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """One MERGE by row id; `apply` is what it does, as a plan, and is not run."""
        view = SPARK.identifier(view_names({"folded": folded})["folded"])
        text = merge_text(self.folder.sql_name(table.name), view, table.columns, strict=self.strict_merge)
        return self._commit(table, record, lambda: self.session.sql(text))

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """All rows anew, the schema as it is."""
        assert isinstance(contents, SparkRelation)
        path = self.folder.path_of(table.name)
        return self._commit(
            table, record, lambda: contents.frame.write.format("delta").mode("overwrite").save(path)
        )

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """An empty append: with its txn action it makes a version, as an empty write alone would not."""
        path = self.folder.path_of(table.name)
        empty = no_rows(self.session, stored_columns(table))
        return self._commit(table, record, lambda: empty.write.format("delta").mode("append").save(path))

    def _commit(self, table: DynamicTable, record: RefreshRecord, write: Any) -> int:
        """Runs a write and finds its commit in the log. Raises StoreError where there is none."""
        log = self.folder.polled(table.name)
        logged = refresh_log.refreshes(log)
        newest = logged[-1].version if logged else -1
        if newest != self.seen.get(table.name, newest):
            raise StoreError(f"{table.name} was refreshed by somebody else meanwhile, in version {newest}")
        metadata = refresh_log.to_metadata(record)
        with (
            store_errors(table.name),
            commit_settings(
                self.session, json.dumps(metadata), (log.newest.table.id, record.frontier.timestamp)
            ),
        ):
            write()
        for commit in reversed(log.poll()):
            if commit.metadata is not None and commit.metadata.get("nonce") == metadata["nonce"]:
                return commit.version
        raise StoreError(
            f"a refresh of {table.name} at this data timestamp or a later one was already committed"
        )

    def release(self, relations: Sequence[Relation]) -> None:
        """Drops the views of all but the snapshots that are kept."""
        self.workspace.release(relations, tuple(self.snapshots.values()))


def stored_columns(table: DynamicTable) -> Columns:
    """The columns of the Delta table: FULL tables keep no ids."""
    return (*table.columns, (ROW_ID, STRING)) if table.incremental else table.columns


def copy_of(spark: SparkSession) -> SparkSession:
    """A session with the same settings and its own from now on; `newSession` would start from the JVM's."""
    from pyspark.sql import SparkSession

    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())  # noqa: SLF001
    # A text with ${...} in it, in a literal too, would be changed between its check and its run.
    session.conf.set("spark.sql.variable.substitute", "false")
    # pyspark prints every error with its Java stack to stderr before it raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session
