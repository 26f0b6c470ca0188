"""The engine's store on Delta tables: one folder per table or view; its whole state is in Delta commits."""

from __future__ import annotations

import json
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, View
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import SPARK, Dialect
from dynamic_tables.plan.nodes import ROW_ID, Plan
from dynamic_tables.plan.render import render
from dynamic_tables.plan.types import INT, STRING
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store import base_log, refresh_log
from dynamic_tables.store.active_files import ActiveFiles
from dynamic_tables.store.base_log import Stamp
from dynamic_tables.store.catalog import BASE_TABLE_PROPERTIES, DYNAMIC_TABLE_PROPERTIES, create_text
from dynamic_tables.store.commit_settings import commit_settings
from dynamic_tables.store.file_rows import FileRows, file_name
from dynamic_tables.store.files import LocalFiles, files_of
from dynamic_tables.store.folder import Folder
from dynamic_tables.store.log import TableLog
from dynamic_tables.store.merge_text import merge_text
from dynamic_tables.store.own_commit import Actions, OwnCommit, writable
from dynamic_tables.store.own_commit import commit as own_commit
from dynamic_tables.store.port import RefreshRecord, Relation, Touched
from dynamic_tables.store.readable import is_readable
from dynamic_tables.store.relations import SparkRelation, Workspace, bound, view_names
from dynamic_tables.store.small_merge import SmallMerge
from dynamic_tables.store.spark_errors import store_errors
from dynamic_tables.store.statements import Statement, check_statement
from dynamic_tables.store.texts import columns_of_text, no_rows, text_frame
from dynamic_tables.store.touched import AddAction, touched_files
from dynamic_tables.store.transactions import Transactions
from dynamic_tables.versions import SourceHistory, SourceVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CACHED_SNAPSHOTS = 64
"""How many small versions a store keeps for the next refresh."""

_ALREADY = (
    "{name} already has a refresh at data timestamp {timestamp} or later; refresh the table to a later time"
)

_NUMBER = "CAST(_metadata.row_id AS STRING)"
BASE_ROW_ID = f"concat('b', chr(64 + length({_NUMBER})), {_NUMBER}) AS {SPARK.identifier(ROW_ID)}"
"""The row id of a base row: Delta's id. A letter for the number of digits makes texts sort as numbers do, so
that the file statistics of a dynamic table bound the ids of the rows in each file."""


class DeltaStore:
    """A `Store` in a folder.

    It works in a copy of the session given, because commit settings stick to a session. `strict_merge`: MERGE
    refuses changes that do not fit the contents. `properties`: Delta properties of every table that it
    creates, such as `delta.checkpointInterval`. One thread at a time may use a store (the account sees to
    it); several stores may be used at once.
    """

    dialect: ClassVar[Dialect] = SPARK

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
        self.active: dict[str, ActiveFiles] = {}
        self.transactions = Transactions(
            session=self.session, clock=clock, logs=self._base_logs, run_replace=self._replace
        )

    # Definitions

    def definitions(self) -> Mapping[str, Definition]:
        """Returns every table and view in the folder. Raises CorruptTable: for a folder that is neither."""
        return self.folder.definitions()

    def create_base_table(self, table: BaseTable) -> None:
        """Adds an empty base table with the commit timestamp `clock.now()`. Raises DefinitionError."""
        if not table.columns:
            raise DefinitionError(f"base table {table.name} has no columns; give it at least one")
        properties = {**BASE_TABLE_PROPERTIES, **self.properties}
        stamp = Stamp(transaction=uuid.uuid4().hex, timestamp=self.clock.now(), part=1, parts=1, before={})
        with commit_settings(self.session, json.dumps(stamp.to_metadata())):
            self.folder.create(table, table.columns, properties)

    def create_view(self, view: View) -> None:
        """Adds a view, as a Delta table without rows whose properties hold it. Raises DefinitionError."""
        self.folder.create(view, (("view", INT),), {})

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds an empty, uninitialized dynamic table. Raises DefinitionError."""
        self.folder.create(table, stored_columns(table), {**DYNAMIC_TABLE_PROPERTIES, **self.properties})

    def drop(self, definition: Definition) -> None:
        """Removes the folder of a table or view and every cached snapshot of it."""
        self.folder.remove(definition.name)
        self.seen.pop(definition.name, None)
        self.active.pop(definition.name, None)
        for key in [key for key in self.snapshots if key[0] == definition.name]:
            self.workspace.release([self.snapshots.pop(key)], ())

    def close(self) -> None:
        """Drops the store's views and names in Spark's catalog; the tables remain. It is the last call."""
        self.workspace.release(list(self.snapshots.values()), ())
        self.snapshots.clear()
        self.folder.close()

    # Writing base tables

    def write(self, statements: Sequence[str]) -> Mapping[str, int]:
        """Runs statements as one transaction; returns the newest version of each table written.

        Raises DefinitionError: for a statement that is refused, before any statement runs.
        Raises StoreError: for a statement that fails; the statements before it are rolled back.
        """
        checked = [check_statement(text, self.definitions()) for text in statements]
        for statement in checked:
            self.folder.register(statement.target)
        return self.transactions.write(checked)

    def rollback_unfinished(self) -> int | None:
        """Rolls back a transaction that a crash cut off and returns its timestamp; None if there is none."""
        for name in self._base_logs():
            self.folder.register(name)
        return self.transactions.rollback_unfinished()

    def _base_logs(self) -> Mapping[str, TableLog]:
        definitions = self.definitions().values()
        return {base.name: self.folder.log(base.name) for base in definitions if isinstance(base, BaseTable)}

    def _replace(self, statement: Statement) -> None:
        assert statement.columns is not None
        # REPLACE drops properties that are not given. The names of the hidden row-id columns are left out,
        # because the new table gets its own.
        old = self.folder.log(statement.target).newest.table.properties
        properties = {name: value for name, value in old.items() if not name.startswith("delta.rowTracking.")}
        target = f"{self.folder.database}.{SPARK.identifier(statement.target)}"
        place = self.folder.path_of(statement.target)
        self.session.sql(create_text(target, statement.columns, properties, location=place, replace=True))

    # Versions

    def history(self, definition: BaseTable | DynamicTable) -> SourceHistory:
        """Returns the versions of a table: commits of a base table, refreshes of a dynamic table.

        Raises StoreError: while a transaction is unfinished, as no time at or after it can be read.
        """
        log = self.folder.polled(definition.name)
        if isinstance(definition, DynamicTable):
            versions = refresh_log.versions(refresh_log.refreshes(log))
            return SourceHistory(definition.name, True, versions)
        self.transactions.ensure_finished()
        return SourceHistory(definition.name, False, base_log.versions(log, simulated=self.clock.simulated))

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Tells whether log and files still hold a version, as far as `store.readable` checks."""
        with store_errors(name):
            return is_readable(self.folder.polled(name), self.folder.files, version.version)

    def refreshes(self, table: DynamicTable) -> Sequence[RefreshRecord]:
        """Returns the refresh history from the log, oldest first."""
        logged = refresh_log.refreshes(self.folder.polled(table.name))
        self.seen[table.name] = logged[-1].version if logged else -1
        return [refresh.record for refresh in logged]

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """Returns a version by time travel; small ones are cached, as the next interval starts with them."""
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
        items = self._items(definition)[: None if ids else -1]
        place = self.folder.sql_name(definition.name)
        frame = self.session.sql(f"SELECT {', '.join(items)} FROM {place} VERSION AS OF {version}")
        return self.workspace.small(frame) or bound(frame, local=False)

    @property
    def merge_validates(self) -> bool:
        """Whether `merge` refuses changes that do not fit the stored contents."""
        return self.strict_merge

    def touched(
        self, definition: BaseTable | DynamicTable, start: SourceVersion, end: SourceVersion
    ) -> Touched | None:
        """Returns the rows of the files that the commits between two versions touched; see `store.port`.

        None for a table without row ids, and where the log does not hold every commit or file in full.
        """
        name = definition.name
        log = self.folder.log(name)
        if start.identity != end.identity or log.commit(start.version) is None:
            return None
        if isinstance(definition, DynamicTable) and not definition.incremental:
            return None
        files = touched_files(log, start.version, end.version)
        states = [state for file in files for state in (file.before, file.after) if state is not None]
        if isinstance(definition, BaseTable) and any("baseRowId" not in state for state in states):
            return None
        # Positions are looked up by the name of the file without its folder.
        if len({file_name(file.before or file.after or {"path": ""}) for file in files}) < len(files):
            return None
        rows = FileRows(self.session, self.folder.files, self.folder.path_of(name), self._items(definition))
        with store_errors(f"the changes of {name} from version {start.version} to {end.version}"):
            return Touched(
                self._touched_rows(definition, rows.before(files)),
                self._touched_rows(definition, rows.after(files)),
            )

    def _touched_rows(self, definition: BaseTable | DynamicTable, frame: DataFrame | None) -> SparkRelation:
        if frame is None:
            return self.workspace.nothing((*definition.columns, (ROW_ID, STRING)))
        return self.workspace.small(frame) or bound(frame, local=False)

    def _items(self, definition: BaseTable | DynamicTable) -> list[str]:
        items = [SPARK.identifier(column) for column, _ in definition.columns]
        return [*items, BASE_ROW_ID if isinstance(definition, BaseTable) else SPARK.identifier(ROW_ID)]

    def current(self, table: DynamicTable) -> Relation:
        """Returns the rows of the newest refresh, with `$ROW_ID` if the table is incremental."""
        logged = refresh_log.refreshes(self.folder.polled(table.name))
        version = logged[-1].version if logged else self.folder.log(table.name).newest.version
        return self.snapshot(table.name, version, ids=table.incremental)

    # Queries

    def compute(self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool) -> Relation:
        """Returns the rows of a plan over bound leaves; see `store.port`."""
        text = render(plan, SPARK, view_names(leaves)).text()
        if once:
            return self.workspace.materialized(text, tuple(leaves.values()))
        return self.workspace.query(text)

    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> Relation:
        """Returns the rows of a query's text; views in it are expanded over the relations given."""
        frames = {
            name: relation.frame
            for name, relation in relations.items()
            if isinstance(relation, SparkRelation)
        }
        with store_errors():
            frame = text_frame(self.session, text, frames, self.definitions())
            return bound(frame, local=False)

    def columns_of_text(self, text: str, relations: Iterable[str]) -> Columns:
        """Returns names and types of a text's result by Spark's analysis. Raises DefinitionError."""
        return columns_of_text(self.session, text, self.definitions())

    # Commits

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Commits the changes by row id and returns the version; `apply` is not run, this does the same.

        Few changes are a commit of the engine's own; many are one MERGE.
        Raises ChangeDoesNotFit: if the changes do not fit the contents and `strict_merge`.
        """
        active = self._active(table)
        if active is not None and isinstance(folded, SparkRelation) and folded.local:
            return self._merge_small(table, folded, record, active)
        view = SPARK.identifier(view_names({"folded": folded})["folded"])
        text = merge_text(self.folder.sql_name(table.name), view, table.columns, strict=self.strict_merge)
        return self._commit(table, record, lambda: self.session.sql(text))

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Commits new contents under the existing schema and returns the version."""
        assert isinstance(contents, SparkRelation)
        path = self.folder.path_of(table.name)
        return self._commit(
            table, record, lambda: contents.frame.write.format("delta").mode("overwrite").save(path)
        )

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits an empty append and returns its version.

        Only the txn action makes Delta commit it: an empty write with nothing but user metadata creates no
        version, and the frontier would be lost without an error.
        """
        if writable(self.folder.polled(table.name), self.folder.files):
            return self._commit_here(table, record, "WRITE", list)
        path = self.folder.path_of(table.name)
        empty = no_rows(self.session, stored_columns(table))
        return self._commit(table, record, lambda: empty.write.format("delta").mode("append").save(path))

    def _active(self, table: DynamicTable) -> ActiveFiles | None:
        """Returns the files of the newest version; None if this engine cannot write the next one itself."""
        log = self.folder.polled(table.name)
        if not writable(log, self.folder.files) or "deletionVectors" not in (log.newest.features or ()):
            return None
        active = self.active.get(table.name)
        if active is None or active.log is not log:
            active = self.active[table.name] = ActiveFiles(log)
        known = active.update() and all("stats" in file for file in active.files.values())
        return active if known else None

    def _merge_small(
        self, table: DynamicTable, folded: SparkRelation, record: RefreshRecord, active: ActiveFiles
    ) -> int:
        folder = self.folder.path_of(table.name)
        with store_errors(table.name):
            merge = SmallMerge(
                folder=folder,
                files=self.folder.files,
                active=active,
                folded=folded.frame.toArrow(),
                strict=self.strict_merge,
                locate=lambda files, row_ids: self._locate(folder, files, row_ids),
            )

        def actions() -> Actions:
            active.update()
            return merge.actions()

        return self._commit_here(table, record, "MERGE", actions)

    def _locate(
        self, folder: str, files: Sequence[AddAction], row_ids: Sequence[str]
    ) -> Mapping[str, Mapping[str, int]]:
        """Returns where row ids are stored, by one query over the row ids of some files."""
        import pyarrow as pa

        row_id = SPARK.identifier(ROW_ID)
        rows = FileRows(self.session, self.folder.files, folder, ())
        wanted = self.session.createDataFrame(pa.table({ROW_ID: pa.array(row_ids, pa.string())}))
        frame = rows.frame(files).selectExpr(row_id, "_metadata.file_name", "_metadata.row_index")
        stored: dict[str, dict[str, int]] = {}
        paths = {file_name(file): file["path"] for file in files}
        for found, name, index in frame.join(wanted.hint("broadcast"), ROW_ID, "left_semi").collect():
            stored.setdefault(paths[name], {})[found] = index
        return stored

    def _commit_here(
        self, table: DynamicTable, record: RefreshRecord, operation: str, actions: Callable[[], Actions]
    ) -> int:
        """Commits actions without Spark and returns the version. Raises StoreError: nothing was committed."""
        log = self.folder.polled(table.name)
        files = self.folder.files
        assert isinstance(files, LocalFiles)
        own = OwnCommit(
            operation=operation,
            metadata=json.dumps(refresh_log.to_metadata(record)),
            application=log.newest.table.id,
            version=record.frontier.timestamp,
        )

        def check() -> None:
            self._ensure_newest(table, log)
            committed = (commit.transactions.get(own.application, -1) for commit in log.commits)
            if max(committed, default=-1) >= own.version:
                raise StoreError(_ALREADY.format(name=table.name, timestamp=own.version))

        with store_errors(table.name):
            version = own_commit(log, files, own, actions, check)
            interval = int(log.newest.table.properties.get("delta.checkpointInterval", "10"))
            if version % interval == 0:
                self.folder.checkpoint(table.name)
        return version

    def _ensure_newest(self, table: DynamicTable, log: TableLog) -> None:
        logged = refresh_log.refreshes(log)
        newest = logged[-1].version if logged else -1
        if newest != self.seen.get(table.name, newest):
            raise StoreError(
                f"another process refreshed {table.name} during this refresh, in version {newest}; "
                "refresh the table again"
            )

    def _commit(self, table: DynamicTable, record: RefreshRecord, write: Callable[[], object]) -> int:
        """Runs a write and returns the version of its commit. Raises StoreError: nothing was committed."""
        log = self.folder.polled(table.name)
        self._ensure_newest(table, log)
        metadata = refresh_log.to_metadata(record)
        with (
            store_errors(table.name),
            commit_settings(
                self.session, json.dumps(metadata), (log.newest.table.id, record.frontier.timestamp)
            ),
        ):
            write()
        # Delta skips a pair (table id, data timestamp) that is already committed without an error, so the
        # commit is looked up by its nonce.
        for commit in reversed(log.poll()):
            if commit.metadata is not None and commit.metadata.get("nonce") == metadata["nonce"]:
                return commit.version
        raise StoreError(_ALREADY.format(name=table.name, timestamp=record.frontier.timestamp))

    def release(self, relations: Sequence[Relation]) -> None:
        """Drops the temporary views of relations, but not those of cached snapshots."""
        self.workspace.release(relations, tuple(self.snapshots.values()))


def stored_columns(table: DynamicTable) -> Columns:
    """Returns the columns of the Delta table: the table's own, and `$ROW_ID` unless it is FULL."""
    return (*table.columns, (ROW_ID, STRING)) if table.incremental else table.columns


def copy_of(spark: SparkSession) -> SparkSession:
    """Returns a new session with a copy of the settings; `newSession` would copy those of the JVM instead."""
    from pyspark.sql import SparkSession

    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())  # noqa: SLF001
    # Otherwise Spark would replace ${...} in a text, even in a literal, after the text was checked.
    session.conf.set("spark.sql.variable.substitute", "false")
    # pyspark prints every error with its Java stack to stderr before it raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session
