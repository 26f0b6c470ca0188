"""Commits of refreshes: contents, frontier and fence in one Delta commit.

The frontier is in the user metadata of the commit that writes the rows, so both are there or neither is. The
fence is the commit's `txn`, (table id, number of the refresh): Delta admits each number once, so of two
refreshes that began with the same contents only one is committed. Few rows are a commit that the engine
writes itself (`own_commit`); the rest is MERGE, overwrite or append by Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from dynamic_tables.definition import Columns, DynamicTable
from dynamic_tables.errors import ChangeDoesNotFit, CorruptTable, StoreError
from dynamic_tables.moment import moment
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.types import STRING, Kind
from dynamic_tables.store.fitting import as_stored, ensure_fits
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import Actions, OwnCommit, OwnCommitter, own_commit, writable
from dynamic_tables.store.log.touched import AddAction, removed
from dynamic_tables.store.names.catalog import delta_type, from_metadata
from dynamic_tables.store.names.relations import SparkRelation
from dynamic_tables.store.names.texts import no_rows
from dynamic_tables.store.port import RefreshRecord
from dynamic_tables.store.rows.file_rows import FileRows, file_name
from dynamic_tables.store.rows.row_places import Places
from dynamic_tables.store.sizes import SIZES, Sizes
from dynamic_tables.store.spark.commit_settings import commit_settings
from dynamic_tables.store.spark.spark_errors import store_errors
from dynamic_tables.store.tables import refresh_log
from dynamic_tables.store.tables.folder import Folder
from dynamic_tables.store.tables.linked import linked
from dynamic_tables.store.tables.merge_text import REFUSED, merge_text
from dynamic_tables.store.tables.small_merge import SmallMerge, new_file, with_nulls

CHECKPOINT_INTERVAL = "50"
"""Commits from one checkpoint to the next, where the table does not say. Delta's own default is 10. A
checkpoint takes Spark one to three seconds; to read 50 commits of a few lines takes milliseconds."""

NTZ_FEATURE = "timestampNtz"
"""What Delta calls the columns of TIMESTAMP_NTZ."""

CLEANED_UP = "{}: its log was cleaned up during this refresh; refresh it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshCommits:
    """Writes refreshes to the dynamic tables in a folder.

    `strict`: changes that do not fit the contents are refused. `seen`: by table, the version of the newest
    refresh when this one began, -1 if there was none, and the text of the table's first commit. Another
    refresh since then is a conflict, and so is another table under that name. `own_commit`: writes a commit
    without Spark; a test replaces it.
    """

    folder: Folder
    strict: bool
    own_commit: OwnCommitter = own_commit
    sizes: Sizes = SIZES
    seen: dict[str, tuple[int, str | None]] = field(default_factory=dict)

    def merge(self, table: DynamicTable, folded: SparkRelation, record: RefreshRecord) -> int:
        """Commits folded changes by row id and returns the version.

        Few changes are a commit of the engine's own; many are one MERGE. Raises ChangeDoesNotFit.
        """
        active = self._active(table)
        if active is not None and folded.local:
            return self._merge_small(table, folded, record, active)
        with store_errors(table.name):
            ensure_fits(table.name, folded.frame, stored_columns(table))
        text = merge_text(
            self.folder.sql_name(table.name), SPARK.identifier(folded.view), table.stored, strict=self.strict
        )
        try:
            return self._commit_by_spark(table, record, lambda: self.folder.session.sql(text))
        except StoreError as error:
            if REFUSED in str(error):
                raise ChangeDoesNotFit(str(error)) from error
            raise

    def overwrite(self, table: DynamicTable, contents: SparkRelation, record: RefreshRecord) -> int:
        """Commits new contents, with new columns if the query has others, and returns the version.

        Few rows are a commit of the engine's own.
        """
        path = self.folder.path_of(table.name)
        with store_errors(table.name):
            ensure_fits(table.name, contents.frame, stored_columns(table))
        self._enable_timestamp_ntz(table)
        active = self._active(table)
        # To remove all old files, the log must name all of them: it must still begin with version 0.
        whole = self.folder.polled(table.name).commits[0].version == 0
        if active is not None and table.incremental and contents.local and whole:
            return self._overwrite_small(table, contents, record, active)

        def write() -> None:
            writer = contents.frame.write.format("delta").mode("overwrite")
            if stored_fields(self.folder.polled(table.name)) != stored_columns(table):
                writer = writer.option("overwriteSchema", "true")
            writer.save(path)

        return self._commit_by_spark(table, record, write)

    def _enable_timestamp_ntz(self, table: DynamicTable) -> None:
        """Enables the table feature of TIMESTAMP_NTZ where the new columns need it.

        Delta refuses the first such column of an existing table (DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT),
        unless the feature was enabled before.
        """
        features = self.folder.polled(table.name).newest.features
        types = " ".join(str(type_) for _, type_ in stored_columns(table)).lower()
        if features is None or NTZ_FEATURE in features or "timestamp_ntz" not in types:
            return
        asked = f"SET TBLPROPERTIES ('delta.feature.{NTZ_FEATURE}' = 'supported')"
        with store_errors(table.name):
            self.folder.session.sql(f"ALTER TABLE {self.folder.sql_name(table.name)} {asked}")

    def _overwrite_small(
        self,
        table: DynamicTable,
        contents: SparkRelation,
        record: RefreshRecord,
        active: ActiveFiles,
    ) -> int:
        """Commits few new rows without Spark: a file with them, and a `remove` of every other file."""
        folder = self.folder.path_of(table.name)
        with store_errors(table.name):
            rows = with_nulls(as_stored(table.name, contents.table(), stored_columns(table)))

        def actions() -> Actions:
            if not active.update():
                raise StoreError(CLEANED_UP.format(table.name))
            added = [{"add": new_file(folder, rows, self.sizes, self.folder.files)}] if rows.num_rows else []
            columns = self._new_columns(table, contents)
            return [*columns, *({"remove": removed(file)} for file in active.files.values()), *added]

        return self._commit_by_engine(table, record, "WRITE", actions, overwrites=True)

    def _new_columns(self, table: DynamicTable, contents: SparkRelation) -> Actions:
        """Returns the action by which a table gets the columns of its query, none if it has them already.

        It repeats all else that the newest description says, such as its properties: it must be made anew for
        each version that is tried, or what somebody has altered meanwhile would be lost.
        """
        log = self.folder.polled(table.name)
        if stored_fields(log) == stored_columns(table):
            return ()
        with store_errors(table.name):
            schema = json.loads(contents.frame._jdf.schema().asNullable().json())  # noqa: SLF001
        fields = [{**field, "metadata": {}} for field in schema["fields"]]
        return ({"metaData": {**_described(log), "schemaString": json.dumps({**schema, "fields": fields})}},)

    def copy(self, original: DynamicTable, version: int, table: DynamicTable, record: RefreshRecord) -> bool:
        """Commits the files of a version of a table as the contents of a new copy; False if it cannot.

        No rows are read or written: see `store.tables.linked`.
        """
        log, other = (self.folder.polled(each.name) for each in (original, table))
        first, second = log.newest, other.newest
        alike = (first.table.partitions, first.features) == (second.table.partitions, second.features)
        # Otherwise the next refresh of the original will write it anew, or another writer has added columns.
        alike = alike and stored_fields(log) == stored_columns(table)
        active = self.folder.active(original.name)
        if not (alike and writable(log) and writable(other) and isinstance(self.folder.files, LocalFiles)):
            return False
        files = None if active is None else active.at(version)
        folders = self.folder.path_of(original.name), self.folder.path_of(table.name)
        added = None if files is None else linked(files, *folders)
        if added is None:
            return False
        # The copy was created without the hidden columns, which a first refresh adds.
        described = _described(other)
        columns = {"metaData": {**described, "schemaString": first.table.schema}}
        self._commit_by_engine(table, record, "CLONE", lambda: [columns, *added])
        return True

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits a record alone and returns the version.

        By Spark it is an empty append. Delta makes a version of it only because of its `txn`: with nothing
        but user metadata an empty write creates no version, and the frontier would be lost without an error.
        """
        if writable(self.folder.polled(table.name)):
            return self._commit_by_engine(table, record, "WRITE", list)
        path = self.folder.path_of(table.name)
        empty = no_rows(self.folder.session, stored_columns(table))
        return self._commit_by_spark(
            table, record, lambda: empty.write.format("delta").mode("append").save(path)
        )

    def _active(self, table: DynamicTable) -> ActiveFiles | None:
        """Returns the files of the newest version; None if this engine cannot write the next one itself."""
        log = self.folder.polled(table.name)
        if not writable(log):
            return None
        if "deletionVectors" not in (log.newest.features or ()):
            return None
        if any(type_.kind is Kind.OTHER for _, type_ in table.stored):
            # How values of such a type are stored in a file, only Spark knows.
            return None
        active = self.folder.active(table.name)
        if active is None or any("stats" not in file for file in active.files.values()):
            # Without the number of rows of a file nobody can say that a deletion vector empties it.
            return None
        return active

    def _merge_small(
        self, table: DynamicTable, folded: SparkRelation, record: RefreshRecord, active: ActiveFiles
    ) -> int:
        """Commits few changes without Spark, by `SmallMerge`."""
        folder = self.folder.path_of(table.name)
        with store_errors(table.name):
            merge = SmallMerge(
                folder=folder,
                files=self.folder.files,
                active=active,
                folded=as_stored(table.name, folded.table(), stored_columns(table)),
                strict=self.strict,
                locate=lambda files, row_ids: self._locate(folder, files, row_ids),
                sizes=self.sizes,
            )

        def actions() -> Actions:
            if not active.update():
                raise StoreError(CLEANED_UP.format(table.name))
            return merge.actions()

        return self._commit_by_engine(table, record, "MERGE", actions)

    def _locate(self, folder: str, files: Sequence[AddAction], row_ids: Sequence[str]) -> Places:
        """Returns where row ids are stored, by one query over the row ids of some files."""
        import pyarrow as pa

        session, row_id = self.folder.session, SPARK.identifier(ROW_ID)
        wanted = session.createDataFrame(pa.table({ROW_ID: pa.array(row_ids, pa.string())}))
        rows = FileRows(session, self.folder.files, folder, (row_id,), self.sizes).frame(files)
        frame = rows.selectExpr(row_id, "_metadata.file_name", "_metadata.row_index")
        # Row ids grow with the rows of a file, so that Parquet's index of pages leaves most pages unread.
        frame = frame.where(f"{row_id} BETWEEN {SPARK.string(min(row_ids))} AND {SPARK.string(max(row_ids))}")
        paths = {file_name(file["path"]): file["path"] for file in files}
        stored: dict[str, list[tuple[str, int]]] = {}
        for found, name, index in frame.join(wanted.hint("broadcast"), ROW_ID, "left_semi").collect():
            stored.setdefault(paths[name], []).append((found, index))
        return stored

    def _commit_by_engine(
        self,
        table: DynamicTable,
        record: RefreshRecord,
        operation: str,
        actions: Callable[[], Actions],
        *,
        overwrites: bool = False,
    ) -> int:
        """Commits actions without Spark and returns the version. Raises StoreError: nothing was committed."""
        log = self.folder.polled(table.name)
        number = self._number(table, log, record)
        own = OwnCommit(
            operation=operation,
            metadata=json.dumps(refresh_log.to_metadata(record, number)),
            application=log.newest.table.id,
            version=number,
            overwrites=overwrites,
        )

        def check() -> None:
            self._number(table, log, record)
            newest = f"{log.log_folder}/{log.newest.version:020d}.json"
            replaced = log.newest.table.id != own.application or not self.folder.files.exists(newest)
            if replaced or not writable(log):
                raise StoreError(f"{table.name} was altered during this refresh; refresh it again")

        with store_errors(table.name):
            version = self.own_commit(
                log,
                own,
                actions=actions,
                check=check,
                write=lambda version, text: self.folder.write_commit(table.name, version, text),
            )
        properties = log.newest.table.properties
        if version % int(properties.get("delta.checkpointInterval", CHECKPOINT_INTERVAL)) == 0:
            # The refresh is committed: a checkpoint only saves later readers time.
            with suppress(StoreError):
                self.folder.checkpoint(table.name)
        return version

    def _commit_by_spark(
        self, table: DynamicTable, record: RefreshRecord, write: Callable[[], object]
    ) -> int:
        """Runs a write and returns the version of its commit. Raises StoreError: nothing was committed."""
        log = self.folder.polled(table.name)
        number = self._number(table, log, record)
        metadata = refresh_log.to_metadata(record, number)
        with (
            store_errors(table.name),
            commit_settings(
                self.folder.session,
                json.dumps(metadata),
                (log.newest.table.id, number),
            ),
        ):
            write()
        # Delta skips, without an error, a write whose number another refresh has taken since the number was
        # chosen. So the commit is looked up by its nonce. A compaction that the table's properties ask for
        # (autoCompact) follows in a commit of its own, with the same nonce, but without the number.
        for commit in reversed(log.poll()):
            nonce = None if commit.metadata is None else commit.metadata.get("nonce")
            if nonce == metadata["nonce"] and commit.transactions.get(commit.table.id) == number:
                return commit.version
        raise _overtaken(table, log.newest.version)

    def _number(self, table: DynamicTable, log: TableLog, record: RefreshRecord) -> int:
        """Returns the number of a refresh that follows the newest one that was seen when it began.

        Only one commit can have it, so of two refreshes that began with the same contents one is refused,
        however they are written. Raises StoreError: another refresh is committed already, the definition was
        replaced, or the name belongs to another table by now.
        """
        logged = refresh_log.refreshes(log, edited=True)
        newest, first = logged[-1].version if logged else -1, self.folder.first(table.name)
        seen, seen_first = self.seen.get(table.name, (newest, first))
        if first != seen_first:
            raise StoreError(f"{table.name} was dropped, renamed or swapped meanwhile; refresh it again")
        if newest != seen:
            raise _overtaken(table, newest)
        _, defined = from_metadata(table.name, log.newest.table)
        if isinstance(defined, DynamicTable) and defined.text != table.text:
            raise StoreError(f"{table.name} was replaced by another definition meanwhile; refresh it again")
        if logged and logged[-1].record.frontier.timestamp >= record.frontier.timestamp:
            raise StoreError(
                f"{table.name} already has a refresh at data timestamp {moment(record.frontier.timestamp)} "
                "or later; refresh the table to a later time"
            )
        number = refresh_log.last_number(log)
        if number is not None:
            return number + 1
        # Where log cleanup has removed every refresh, Delta still knows the greatest number. It is smaller
        # than this: numbers grow by one for each refresh, and a microsecond is shorter than any refresh.
        return 1 if log.commits[0].version == 0 else record.frontier.timestamp


def _described(log: TableLog) -> Mapping[str, object]:
    """Returns the newest description of a table whose log holds all commits."""
    for commit in reversed(log.commits):
        for action in log.actions(commit.version):
            if "metaData" in action:
                return action["metaData"]
    raise CorruptTable(f"{log.name}: its log holds no description of the table")


def _overtaken(table: DynamicTable, version: int) -> StoreError:
    """Returns the error of a refresh during which another one was committed, in `version`."""
    return StoreError(
        f"another process refreshed {table.name} during this refresh, in version {version}; "
        "refresh the table again"
    )


def stored_fields(log: TableLog) -> Columns:
    """Returns names and types of the columns that a Delta table has."""
    fields = json.loads(log.newest.table.schema)["fields"]
    return tuple((item["name"], delta_type(item["type"]) or STRING) for item in fields)


def stored_columns(table: DynamicTable) -> Columns:
    """Returns the columns of the Delta table: its own, and unless it is FULL hidden ones and `$ROW_ID`."""
    return (*table.stored, (ROW_ID, STRING)) if table.incremental else table.columns
