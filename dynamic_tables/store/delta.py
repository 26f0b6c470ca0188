"""The engine's store on Delta tables: one folder per table or view; its whole state is in Delta commits."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, View
from dynamic_tables.differentiate.apply import OPERATION
from dynamic_tables.errors import CorruptTable, DefinitionError
from dynamic_tables.own_functions import Loaded
from dynamic_tables.plan.dialects import SPARK, Dialect
from dynamic_tables.plan.nodes import BoundQuery, Plan
from dynamic_tables.plan.types import INT, STRING, Type
from dynamic_tables.plan.written.render import render
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.log.files import files_of
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import OwnCommitter, own_commit
from dynamic_tables.store.names.catalog import (
    BASE_TABLE_PROPERTIES,
    DYNAMIC_TABLE_PROPERTIES,
    create_text,
    shown_columns,
)
from dynamic_tables.store.names.computing import Computing
from dynamic_tables.store.names.relations import SparkRelation, Workspace, bound, view_names
from dynamic_tables.store.names.statements import Statement, check_statement
from dynamic_tables.store.names.texts import columns_of_text, text_frame, type_of, with_names
from dynamic_tables.store.names.witness import misread
from dynamic_tables.store.port import Extent, RefreshRecord, Relation, Touched
from dynamic_tables.store.rows.readable import is_readable
from dynamic_tables.store.sizes import SIZES, Sizes
from dynamic_tables.store.spark.attached import place_of
from dynamic_tables.store.spark.commit_settings import commit_settings
from dynamic_tables.store.spark.object_store import is_object_store, prepare
from dynamic_tables.store.spark.on_demand import is_waiting, on_demand
from dynamic_tables.store.spark.own_session import in_session, own_session, writing_session
from dynamic_tables.store.spark.session_functions import SessionFunctions
from dynamic_tables.store.spark.spark_errors import store_errors
from dynamic_tables.store.tables import refresh_log
from dynamic_tables.store.tables.folder import Folder
from dynamic_tables.store.tables.refresh_commits import RefreshCommits, stored_columns
from dynamic_tables.store.tables.small_merge import folded_here
from dynamic_tables.store.tables.table_versions import TableVersions
from dynamic_tables.store.ticks.base_log import Stamp
from dynamic_tables.store.ticks.cut import Start
from dynamic_tables.store.ticks.data_time import DataTime
from dynamic_tables.store.ticks.ledger import Ledger
from dynamic_tables.store.ticks.version_rules import VERSION_RULES, VersionRules
from dynamic_tables.store.transactions.transactions import Transactions
from dynamic_tables.store.transactions.undoing import Undoing
from dynamic_tables.versions import SourceHistory, SourceVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class DeltaStore:
    """A `Store` in a folder.

    It works in a session of its own beside the one given: see `store.spark.own_session`. Beside a session
    that is opened on demand its own is opened on demand. `strict_merge`: MERGE refuses changes that do not
    fit the contents. `properties`: Delta properties of every table that it creates, such as
    `delta.checkpointInterval`. `session_of`, `own_commit`: the functions `own_session` and `own_commit`,
    which tests replace; `sizes` too. One thread at a time may use a store (the account sees to it); several
    stores may be used at once.
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
        rules: VersionRules = VERSION_RULES,
        session_of: Callable[[SparkSession], SparkSession] = own_session,
        own_commit: OwnCommitter = own_commit,
        sizes: Sizes = SIZES,
    ) -> None:
        self.clock = clock
        self.strict_merge = strict_merge
        self.properties = dict(properties or {})
        self.rules = rules
        self.caller = spark
        path, database = path.rstrip("/"), f"dvs_{uuid.uuid4().hex}"
        if is_object_store(path):
            prepare(spark, path)
        opened = partial(_in_database, spark, path, database, session_of)
        self.session = on_demand(opened) if is_waiting(spark) else opened()
        # An expression is looked at again for each clause and each definition that has it.
        self.type_of_written = lru_cache(maxsize=1024)(partial(type_of, self.session))
        self.functions = SessionFunctions(self.session)
        self.workspace = Workspace(self.session, sizes)
        self.computing = Computing(workspace=self.workspace)
        self.folder = Folder(path, files_of(path, self.session), self.session, database)
        self.versions = TableVersions(folder=self.folder, workspace=self.workspace)
        self.commits = RefreshCommits(
            folder=self.folder, strict=strict_merge, own_commit=own_commit, sizes=sizes
        )
        self.ledger = Ledger(self.folder.path, self.folder.files)
        self.journal = Journal(self.folder.path, self.folder.files)
        self.folder.account_id = self.ledger.account_id
        self.undoing = Undoing(
            folder=self.folder,
            logs=self._base_logs,
            ticked=self._ticked,
            rules=rules,
            account=self.ledger.account_id,
        )
        self.transactions = Transactions(
            session=self.session, clock=clock, undoing=self.undoing, run_replace=self._replace
        )
        self.time = DataTime(
            clock=clock,
            ledger=self.ledger,
            logs=self._base_logs,
            undo_abandoned=self.undoing.undo_abandoned,
            rules=rules,
            unreadable=lambda: self.folder.definitions().unreadable,
        )

    # Definitions

    def begin(self) -> None:
        """Begins an operation: whether a table is still the same is asked once in it."""
        self.folder.begin()

    def definitions(self) -> Mapping[str, Definition]:
        """Returns every table and view in the folder; asking for one that is corrupt raises CorruptTable."""
        return self.folder.definitions()

    def create_base_table(self, table: BaseTable) -> None:
        """Adds an empty base table with the commit timestamp `clock.now()`. Raises DefinitionError."""
        if not table.columns:
            raise DefinitionError(f"base table {table.name} has no columns; give it at least one")
        properties = {**BASE_TABLE_PROPERTIES, **self.properties}
        stamp = Stamp(
            transaction=uuid.uuid4().hex,
            timestamp=self.clock.now(),
            part=1,
            parts=1,
            before={},
            account=self.ledger.account_id(),
        )
        with commit_settings(self.session, json.dumps(stamp.to_metadata())):
            self.folder.create(table, table.columns, properties)
        self.time.add_table(table.name)

    def attach(
        self,
        name: str,
        path_or_name: str,
        key: Callable[[BaseTable], BaseTable],
        before: Callable[[BaseTable], None],
    ) -> BaseTable:
        """Adds a Delta table that lies elsewhere; see `store.port`. Raises DefinitionError."""
        table = self.folder.attach(name, place_of(self.caller, self.session, path_or_name), key, before)
        self.time.add_table(name)
        return table

    def is_lost(self, name: str) -> bool:
        """Tells whether an attached table cannot be read where it lay."""
        return name in self.folder.definitions().unreadable and self.folder.is_pointer(name)

    def detach(self, name: str) -> None:
        """Removes an attached table from the account, also a lost one; touches none of its files."""
        self.folder.remove(name)
        self.versions.forget(name)

    def create_view(self, view: View) -> None:
        """Adds a view, as a Delta table without rows whose properties hold it. Raises DefinitionError."""
        self.folder.create(view, (("view", INT),), {})

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds an empty, uninitialized dynamic table. Raises DefinitionError."""
        self.folder.create(table, stored_columns(table), {**DYNAMIC_TABLE_PROPERTIES, **self.properties})

    def drop(self, definition: Definition, *, for_good: bool = False) -> None:
        """Puts the folder of a table or view aside, or removes it for good, and forgets every snapshot."""
        self.folder.remove(definition.name, for_good=for_good)
        self.commits.seen.pop(definition.name, None)
        self.versions.forget(definition.name)

    def redefine(self, definition: Definition) -> None:
        """Writes another definition of a view or dynamic table; its rows stay until the next refresh."""
        self.folder.redefine(definition)
        self.computing.forget()

    @property
    def renames(self) -> bool:
        """Whether a table can get another name: on an object store it cannot."""
        return self.folder.files.renames

    def restore(self, name: str) -> Definition:
        """Brings back the table or view that was dropped last under a name. Raises DefinitionError."""
        return self._named_anew(self.folder.restore(name))

    def rename(self, name: str, other: str) -> Definition:
        """Gives a table or view another name that is free; returns its definition."""
        self.commits.seen.pop(name, None)
        self.versions.forget(name)
        return self._named_anew(self.folder.rename(name, other))

    def identity(self, name: str) -> str:
        """Returns the id of the table or view of a name, which no other one has; empty if there is none."""
        return self.folder.identity(name)

    def _named_anew(self, definition: Definition) -> Definition:
        """Forgets what was read under the name that `definition` has now got; returns the definition."""
        self.commits.seen.pop(definition.name, None)
        self.versions.forget(definition.name)
        if isinstance(definition, BaseTable):
            self.time.add_table(definition.name)
        return definition

    def close(self) -> None:
        """Drops the store's views and names in Spark's catalog; the tables remain. It is the last call."""
        self.computing.forget()
        self.versions.clear()
        self.folder.close()

    # Writing base tables

    def write(self, statements: Sequence[str]) -> Mapping[str, int]:
        """Runs statements as one transaction; returns the newest version of each table written.

        Raises DefinitionError: for a statement that is refused, before any statement runs.
        Raises StoreError: for a statement that fails; the statements before it are rolled back.
        """
        checked = [check_statement(text, self.definitions()) for text in statements]
        for name in dict.fromkeys(name for statement in checked for name in statement.names):
            self.folder.register(name)
        self.time.ensure_open()
        written = self.transactions.write(checked)
        self.time.add_write()
        return written

    def read(self, name: str, version: int) -> DataFrame:
        """Returns the rows of a version as a data frame of the caller's session, not read yet.

        With the columns that the table had then: others may have come, gone, or been renamed since.
        Which table and version it reads is understood here: the caller's catalog and names do not matter.
        """
        definition = self.definitions()[name]
        assert not isinstance(definition, View)
        commit = self.folder.log(name).commit(version)
        shown = shown_columns(commit.table) if commit else [column for column, _ in definition.columns]
        with store_errors(name):
            return in_session(self.versions.frame(definition, version, shown), self.caller)

    def reach(self, timestamp: int) -> None:
        """Makes `history` return the versions of base tables back to a data timestamp, however long ago."""
        self.time.reach(timestamp)

    def write_frame(self, name: str, frame: DataFrame, mode: str) -> int:
        """Appends the rows of a data frame to a base table, or replaces all rows; returns the version."""
        self.time.ensure_open()
        path = self.folder.path_of(name)
        with store_errors(name):
            session = writing_session(frame.sparkSession)
            rows = in_session(frame, session)
        version = self.transactions.write_one(
            name, session, lambda: rows.write.format("delta").mode(mode).save(path)
        )
        self.time.add_write()
        return version

    def newest(self, name: str) -> int:
        """Returns the newest version of a table."""
        return self.folder.polled(name).newest.version

    def end_unfinished(self, *, keep: bool) -> Sequence[int]:
        """Undoes every unfinished transaction, or keeps what it committed; returns their times."""
        for name in self._base_logs():
            self.folder.register(name)
        return self.transactions.end_unfinished(keep=keep)

    def _ticked(self) -> Start:
        """Returns the versions of base tables at the last tick of the ledger, read anew."""
        self.ledger.poll()
        return self.ledger.vector

    def _base_logs(self) -> Mapping[str, TableLog]:
        """Returns the logs of the base tables by name, without tables that are gone or cannot be read."""
        logs: dict[str, TableLog] = {}
        definitions = self.folder.definitions()
        for name in definitions.base_tables:
            # Another process may have dropped the table. What lies at the place of an attached table may have
            # become another table, or none.
            with suppress(CorruptTable, KeyError):
                base = definitions[name]
                if isinstance(base, BaseTable):
                    logs[name] = (self.folder.polled if base.path else self.folder.log)(name)
        return logs

    def _replace(self, statement: Statement) -> None:
        """Runs a REPLACE TABLE: the table keeps its place and its properties, and gets other columns."""
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
        """Returns the versions of a table: of a base table at each tick, of a dynamic table its refreshes."""
        log = self.folder.polled(definition.name)
        if isinstance(definition, DynamicTable):
            return SourceHistory(definition.name, True, refresh_log.versions(log))
        self.ledger.poll()
        return SourceHistory(definition.name, False, self.rules.at_ticks(log, self.ledger.ticks))

    def earliest(self, now: int) -> int:
        """Returns the earliest data timestamp, not before `now`, for which versions can still be decided."""
        return self.time.earliest(now)

    def decide(self, timestamp: int) -> None:
        """Decides, once for all, which version of each base table a data timestamp stands for."""
        self.time.decide(timestamp)

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Tells whether log and files still hold a version, as far as `store.rows.readable` checks.

        Also whether its rows have the ids that they have now: they got others where row tracking was off.
        """
        with store_errors(name):
            log, definition = self.folder.polled(name), self.definitions().get(name)
            if isinstance(definition, BaseTable) and definition.row_ids and not definition.key:
                return log.kept_row_ids(version.version) and self._is_there(name, version)
            return self._is_there(name, version)

    def _is_there(self, name: str, version: SourceVersion) -> bool:
        return is_readable(self.folder.polled(name), self.folder.files_of(name), version.version)

    def goes_on(self, name: str, version: SourceVersion) -> bool:
        """Tells whether a table that was replaced keeps a version in its log, with the columns it has now."""
        log = self.folder.polled(name)
        then = log.commit(version.version)
        if then is None or then.table.id != version.identity or then.table.schema != log.newest.table.schema:
            return False
        return self.readable(name, version)

    def refreshes(self, table: DynamicTable, *, edited: bool = False) -> Sequence[RefreshRecord]:
        """Returns the refresh history from the log, oldest first; see `store.port`."""
        logged = refresh_log.refreshes(self.folder.polled(table.name), edited=edited)
        first = self.folder.entries[table.name].first
        self.commits.seen[table.name] = logged[-1].version if logged else -1, first
        return [refresh.record for refresh in logged]

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """Returns the rows of a version; small ones are cached, as the next interval starts with them."""
        definition = self.definitions()[name]
        assert not isinstance(definition, View)
        return self.versions.snapshot(definition, version, ids)

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
        return self.versions.touched(definition, start, end)

    def extent(
        self, definition: BaseTable | DynamicTable, start: SourceVersion, end: SourceVersion
    ) -> Extent | None:
        """Returns how much the commits between two versions touched, from the log alone."""
        return self.versions.extent(definition, start, end)

    def current(self, table: DynamicTable, *, edited: bool = False) -> Relation:
        """Returns the rows of the newest refresh, if it is incremental with hidden columns and `$ROW_ID`."""
        logged = refresh_log.refreshes(self.folder.polled(table.name), edited=edited)
        version = logged[-1].version if logged else self.folder.log(table.name).newest.version
        return self.versions.snapshot(replace(table, columns=table.stored), version, table.incremental)

    def current_rows(self, table: DynamicTable, row_ids: Sequence[str]) -> Relation:
        """Returns the rows of `current` that have one of the ids; all its rows if that is cheaper."""
        with store_errors(table.name):
            chosen = self.versions.chosen(replace(table, columns=table.stored), row_ids)
        return self.current(table) if chosen is None else chosen

    # Queries

    def compute(
        self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool, few: bool = False
    ) -> Relation:
        """Returns the rows of a plan over bound leaves; see `store.port`."""
        if not once:
            relation = self.workspace.query(render(plan, SPARK, view_names(leaves)).text())
            return (self.workspace.few(relation) or relation) if few else relation
        return self.computing.once(plan, leaves, few=few)

    def compute_text(self, text: str, relations: Mapping[str, Relation], time: int) -> Relation:
        """Returns the rows of a query's text at a time; views in it are expanded over the relations given."""
        frames = {
            name: relation.frame
            for name, relation in relations.items()
            if isinstance(relation, SparkRelation)
        }
        with store_errors():
            frame = text_frame(self.session, text, frames, self.definitions(), time)
            return bound(with_names(frame), local=False)

    def columns_of_text(self, text: str, relations: Iterable[str]) -> Columns:
        """Returns names and types of a text's result by Spark's analysis. Raises DefinitionError."""
        return columns_of_text(self.session, text, self.definitions())

    def type_of(self, expression: str, columns: Columns) -> Type | None:
        """Returns the type of an expression by Spark's analysis; None for one that Spark refuses."""
        return self.type_of_written(expression, columns)

    def misread(self, text: str, query: BoundQuery) -> str:
        """Returns how Spark reads a text in another way, tried on made-up rows; empty if it does not."""
        return misread(self.workspace, text, query, self.definitions())

    def knows_function(self, name: str) -> bool:
        """Tells whether Spark has a function of a name."""
        return name not in self.functions.known and self.functions.in_spark(name)

    def use_function(self, found: Loaded) -> None:
        """Makes queries call a function as it was loaded. Raises DefinitionError: Spark refuses it."""
        if self.functions.use(found):
            self.type_of_written.cache_clear()

    def forget_function(self, name: str) -> None:
        """Makes queries know a function no more."""
        self.functions.forget(name)
        self.type_of_written.cache_clear()

    # Commits

    def folded(self, table: DynamicTable, changes: Relation) -> Relation | None:
        """Returns what the plan `fold` gives, without a query; None for more rows than are literals."""
        if not isinstance(changes, SparkRelation) or not changes.local:
            return None
        with store_errors(table.name):
            columns = (*stored_columns(table), (OPERATION.name, STRING))
            return self.workspace.literal(folded_here(changes.table()), columns)

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Commits the changes by row id and returns the version; `apply` is not run, this does the same.

        Few changes are a commit of the engine's own; many are one MERGE.
        Raises ChangeDoesNotFit: if the changes do not fit the contents and `strict_merge`.
        """
        assert isinstance(folded, SparkRelation)
        return self.commits.merge(table, folded, record)

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Commits new contents under the existing schema and returns the version."""
        assert isinstance(contents, SparkRelation)
        return self.commits.overwrite(table, contents, record)

    def copy(self, original: DynamicTable, table: DynamicTable, record: RefreshRecord) -> None:
        """Commits the contents of a table as those of a new copy, by its files if they can be shared."""
        logged = refresh_log.refreshes(self.folder.polled(original.name))
        if not self.commits.copy(original, logged[-1].version, table, record):
            self.overwrite(table, self.current(original), record)

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits a record alone and returns the version."""
        return self.commits.touch(table, record)

    def release(self, relations: Sequence[Relation]) -> None:
        """Drops the temporary views of relations, but not those of cached snapshots."""
        kept = (*self.versions.cached(), *self.computing.kept())
        self.workspace.release(relations, kept)


def _in_database(
    spark: SparkSession, path: str, database: str, session_of: Callable[[SparkSession], SparkSession]
) -> SparkSession:
    """Returns the engine's own session, whose current database is a new one. Raises StoreError."""
    session = session_of(spark)
    with store_errors(path):
        session.sql(f"CREATE DATABASE {database}")
        session.sql(f"USE {database}")
    return session
