"""The folder of an account: its tables and views, their logs, and their names in Spark's catalog.

Each sub-folder is a Delta table whose properties hold the definition; there is no other catalog. A view is a
table without rows, and an attached table is a pointer to a folder elsewhere. Other processes may create, drop
and replace tables at any time, so what was read is compared with the folder again in each operation. Spark's
catalog and Delta's cache of logs must be told of every change that is made by renaming folders.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dynamic_tables.definition import BaseTable, Columns, Definition
from dynamic_tables.errors import CorruptTable, DefinitionError, StoreError, TimesWithoutZone
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.types import INT, TIMESTAMP
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.files import Files, files_of
from dynamic_tables.store.log.known import Known
from dynamic_tables.store.log.log import TableLog, TableMetadata, decoding
from dynamic_tables.store.names.catalog import (
    ATTACHED,
    VIEW,
    attached,
    attached_key,
    attached_place,
    column_names,
    create_text,
    from_metadata,
    is_reserved,
    kind_of,
    order_of,
    pointer_properties,
    to_properties,
)
from dynamic_tables.store.names.texts import ensure_names
from dynamic_tables.store.spark.java_classes import COLLECTIONS, DELTA_LOG, java_class, java_none
from dynamic_tables.store.spark.log_store import create_once
from dynamic_tables.store.spark.on_demand import is_waiting
from dynamic_tables.store.spark.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


DROPPED = ".dropped"
"""The sub-folder of an account with what was dropped, for `restore`; one table or view under each name.

Where folders cannot be renamed, a file of that name marks the folder in its old place as dropped.
"""


DELETED = ".deleted"
"""The prefix of the name of a folder while it is deleted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table or view as it was read last.

    `table`: Delta's description. `order`: its number in the order of creation. `first`: the text of the first
    commit in the account's own folder; if it is another text, another table has the name now, or the pointer
    leads elsewhere. `place`: the folder of an attached table, to which the log belongs; empty for any other.
    `last`: number and text of the newest commit there; another text means that the table was made anew.
    `key`: the primary key that the account gives an attached table.
    """

    log: TableLog
    table: TableMetadata
    order: int
    definition: Definition
    first: str | None
    place: str = ""
    last: tuple[int, str | None] = (-1, None)
    key: tuple[str, ...] = ()


class Folder:
    """Tables and views by name, read from their Delta logs as they change.

    Sub-folders are ignored if their name starts with a dot or underscore, or if they hold no file, which is
    what a crash before the first commit leaves. `database`: the session's current database, in which base
    tables have their plain names (`registered`). `looked_at`: the names that this operation has checked.
    `account_id`: returns the id of the account; the store sets it. `_active`: the data files by table.
    """

    def __init__(self, path: str, files: Files, session: SparkSession, database: str) -> None:
        self.path = path
        self.files = files
        self.session = session
        self.entries: dict[str, Entry] = {}
        self.registered: set[str] = set()
        self.looked_at: set[str] = set()
        self._active: dict[str, ActiveFiles] = {}
        self.account_id: Callable[[], str] = str
        self.database = database

    def close(self) -> None:
        """Removes the account's names from Spark's catalog and Delta's cache; no file is touched."""
        if is_waiting(self.session):
            return
        with store_errors(self.path):
            for name in self.registered:
                self.session.sql(f"DROP TABLE {self.database}.{SPARK.identifier(name)}")
            self.session.sql("USE default")
            self.session.sql(f"DROP DATABASE {self.database}")
            for name in self.entries:
                self._forget_in_delta(self._own_place(name))
        self.registered.clear()

    def path_of(self, name: str) -> str:
        """Returns the path of a table's folder, which is elsewhere for an attached table."""
        entry = self.entries.get(name)
        return entry.place if entry is not None and entry.place else self._own_place(name)

    def files_of(self, name: str) -> Files:
        """Returns the file operations for a table's folder."""
        return self.log(name).files

    def _own_place(self, name: str) -> str:
        """Returns the path of a sub-folder of the account, also for an attached table."""
        return f"{self.path}/{name}"

    def sql_name(self, name: str) -> str:
        """Returns the SQL text that names a table by its path."""
        return f"delta.{SPARK.identifier(self.path_of(name))}"

    def definitions(self) -> Known:
        """Returns the definitions in the order of creation, and the errors of folders that cannot be read."""
        names = {name for name in self.files.folders(self.path) if name[0] not in "._"}
        if not self.files.renames:
            names.difference_update(self._dropped_names())
        for dropped in self.entries.keys() - names:
            del self.entries[dropped]
        unreadable: dict[str, CorruptTable] = {}
        for name in names:
            try:
                self._see(name)
            except CorruptTable as error:
                self.entries.pop(name, None)
                unreadable[name] = error
        ordered = sorted(self.entries.items(), key=lambda item: (item[1].order, item[0]))
        return Known({name: entry.definition for name, entry in ordered}, unreadable, self._current)

    def begin(self) -> None:
        """Begins an operation: each table and view is checked against its folder once, at its first use."""
        self.looked_at = set()

    def _current(self, name: str) -> Definition:
        """Returns the definition of a table or view, also if another process has replaced it or made it anew.

        Raises KeyError: it was dropped.
        """
        entry = self.entries.get(name)
        if entry is None or name not in self.looked_at:
            first = self.first(name)
            if first is None and self._is_leftover(name):
                self.entries.pop(name, None)
                raise KeyError(name)
            if entry is None or first != entry.first:
                self._read_anew(name)
            elif not entry.place:
                # Another process may have replaced the definition, which is a later commit of the same table.
                self.polled(name)
            self.looked_at.add(name)
        return self.entries[name].definition

    def _see(self, name: str) -> None:
        """Makes the entry of a folder, or brings it up to date; there is none for what a crash left."""
        entry = self.entries.get(name)
        if entry is None:
            if not self._is_leftover(name):
                self.polled(name)
        elif entry.table is not entry.log.newest.table:
            # A commit that was read since has changed the table.
            self._define(name, entry.log, entry.first)

    def log(self, name: str) -> TableLog:
        """Returns the log of a table as it was read last."""
        return self.entries[name].log if name in self.entries else self.polled(name)

    def polled(self, name: str) -> TableLog:
        """Returns the log of a table, read up to its end, and updates the table's definition from it."""
        entry = self.entries.get(name)
        if entry is not None and entry.place and self._is_other(name, entry):
            return self._read_anew(name)
        log = entry.log if entry else TableLog(name, self._own_place(name), self.files, self._metadata_at)
        # The first commit is read before the log. If the table is made anew in between, the old text is kept,
        # and the next check sees the difference.
        first = entry.first if entry else self.first(name)
        if log.poll() and entry is not None and entry.place:
            self.entries[name] = replace(entry, last=_newest(log))
        if entry is None or entry.table is not log.newest.table:
            log = self._define(name, log, first)
        return log

    def _define(self, name: str, log: TableLog, first: str | None) -> TableLog:
        """Makes the entry of a table by its newest description; returns its log."""
        table, entry = log.newest.table, self.entries.get(name)
        if entry is not None and entry.place:
            keyed = attached(name, entry.place, table, entry.key)
            self.entries[name] = replace(entry, table=table, definition=keyed)
            return log
        place = attached_place(table)
        if place:
            return self._define_attached(name, place, table, first)
        order, definition = from_metadata(name, table)
        self.entries[name] = Entry(log, table, order, definition, first)
        return log

    def _define_attached(self, name: str, place: str, pointer: TableMetadata, first: str | None) -> TableLog:
        """Makes the entry of an attached table from the log in its own folder. Raises CorruptTable."""
        key = attached_key(pointer)
        log = TableLog(
            name, place, files_of(place, self.session), self._metadata_at, account=self.account_id()
        )
        try:
            with decoding(f"{name}, attached from {place},"):
                is_there = log.files.exists(log.log_folder)
            if not is_there:
                raise CorruptTable(f"{name}: the table attached from {place} is not there any more")
            log.poll()
            definition = attached(name, place, log.newest.table, key)
        except CorruptTable as error:
            raise CorruptTable(f'{error}; `account.drop("{name}")` detaches it') from error
        table = log.newest.table
        order = order_of(pointer)
        self.entries[name] = Entry(log, table, order, definition, first, place, _newest(log), key)
        return log

    def is_pointer(self, name: str) -> bool:
        """Tells whether a folder of the account stands for an attached table."""
        log = TableLog(name, self._own_place(name), self.files, self._metadata_at)
        try:
            log.poll()
            return bool(attached_place(log.newest.table))
        except CorruptTable:
            return False

    def _is_other(self, name: str, entry: Entry) -> bool:
        """Tells whether an attached table was made anew, or another one was attached under its name."""
        return self.first(name) != entry.first or _text(entry.log, entry.last[0]) != entry.last[1]

    def first(self, name: str) -> str | None:
        """Returns the text of the first commit in the folder of a table or view; None if it is not there."""
        if self._is_marked(name):
            return None
        return self.files.read(f"{self._own_place(name)}/_delta_log/{0:020d}.json")

    def _read_anew(self, name: str) -> TableLog:
        """Reads a table as if for the first time; its plain name stands for what is there now."""
        registered = name in self.registered
        if name in self.entries:
            self._forget(name)
        log = self.polled(name)
        if registered:
            self.register(name)
        return log

    def _forget(self, name: str) -> None:
        """Removes what was read of a table from here, from Spark's catalog and from Delta's cache."""
        entry = self.entries.pop(name)
        self._active.pop(name, None)
        with store_errors(name):
            self._unregister(name)
            self._forget_in_delta(entry.place or self._own_place(name))

    def active(self, name: str) -> ActiveFiles | None:
        """Returns the data files of a table, up to date; None if the log no longer holds all its commits."""
        log = self.polled(name)
        active = self._active.get(name)
        if active is None or active.log is not log:
            active = self._active[name] = ActiveFiles(log)
        return active if active.update() else None

    def create(self, definition: Definition, columns: Columns, properties: Mapping[str, str]) -> None:
        """Creates the Delta table of a definition; its first commit holds the definition.

        Raises DefinitionError: if Spark or Delta cannot create it.
        """
        name = definition.name
        ensure_names(column for column, _ in columns)
        self._free(name)
        properties = {**properties, **to_properties(definition, self._next_order())}
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

    def attach(
        self,
        name: str,
        place: str,
        key: Callable[[BaseTable], BaseTable],
        before: Callable[[BaseTable], None],
    ) -> BaseTable:
        """Adds a pointer to the table in another folder; returns its definition.

        `key`: gives the definition its primary key, and refuses one that it cannot have. `before`: receives
        the definition before the pointer is written.
        Raises DefinitionError: the table cannot be one of the account, or Spark cannot write the pointer.
        """
        log = TableLog(name, place, files_of(place, self.session), self._metadata_at)
        try:
            log.poll()
            _ensure_attachable(name, place, log.newest.table)
            table = key(attached(name, place, log.newest.table))
        except CorruptTable as error:
            raise DefinitionError(f"{name} cannot be attached: {error}") from error
        before(table)
        self._warn_of_zones(table, place, log.newest.table.partitions)
        self._free(name)
        properties = pointer_properties(place, table.key, self._next_order())
        try:
            with store_errors(name):
                own = f"delta.{SPARK.identifier(self._own_place(name))}"
                self.session.sql(create_text(own, (("pointer", INT),), properties))
        except StoreError as error:
            raise DefinitionError(f"{name} cannot be stored: {error}") from error
        self.polled(name)
        return table

    def _warn_of_zones(self, table: BaseTable, place: str, partitions: Sequence[str]) -> None:
        """Warns where the times that partition a table depend on the time zone of the session that reads it.

        The log then has them as texts without a zone: Delta writes such ones where a setting asks for them.
        """
        times = [name for name, type_ in table.columns if type_ == TIMESTAMP and name in partitions]
        items = (f"{end}(unix_micros({SPARK.identifier(name)}))" for name in times for end in ("min", "max"))
        text = f"SELECT {', '.join(items)} FROM delta.{SPARK.identifier(place)}"
        if times and len({self._in_zone(zone, text) for zone in ("UTC", "America/New_York")}) > 1:
            warnings.warn(
                f"{table.name} is partitioned by {', '.join(times)}, of which the log has no time zone: the "
                "account reads them as UTC, and other sessions in their own zones; write them anew with "
                "spark.databricks.delta.write.utcTimestampPartitionValues=true",
                TimesWithoutZone,
                stacklevel=5,
            )

    def _in_zone(self, zone: str, text: str) -> tuple[object, ...]:
        """Returns the only row of a query in a session of its own with a time zone. Raises StoreError."""
        session = self.session.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        with store_errors(text):
            (row,) = session.sql(text).collect()
            return tuple(row)

    def _free(self, name: str) -> None:
        """Removes what was dropped under a name, where it still lies there."""
        if self._is_marked(name):
            with store_errors(name):
                self._remove_marked(name)
                self._forget_in_delta(self._own_place(name))

    def _next_order(self) -> int:
        """Returns the number of a new table or view in the order of creation."""
        return max((entry.order for entry in self.entries.values()), default=0) + 1

    def remove(self, name: str, *, for_good: bool = False) -> None:
        """Puts a table aside, with its name in Spark's catalog and its log in Delta's cache.

        `restore` brings it back, until another table of its name is removed. `for_good`: it is deleted, and
        what `restore` would bring back stays. Of an attached table only the pointer is touched.
        """
        # Renamed or marked first in any case: a crash while files are deleted one by one would leave half of
        # a table under its name.
        if not self.files.renames:
            with store_errors(name):
                self._unregister(name)
                self.files.put(self._dropped_place(name), "dropped\n")
                if for_good:
                    self._remove_marked(name)
                self._forget_in_delta(self._own_place(name))
            self._active.pop(name, None)
        else:
            place = f"{self.path}/{DELETED}-{name}" if for_good else self._dropped_place(name)
            self._move(name, self._own_place(name), place, over=True)
            if for_good:
                with store_errors(name):
                    self.files.remove(place)
        self.entries.pop(name, None)

    def _is_marked(self, name: str) -> bool:
        """Tells whether a folder, which cannot be renamed, is one of a table or view that was dropped."""
        return not self.files.renames and self.files.exists(self._dropped_place(name))

    def _remove_marked(self, name: str) -> None:
        """Removes the files of a table that is marked as dropped, the mark last: it can be done again."""
        self.files.remove(self._own_place(name))
        self.files.remove(self._dropped_place(name))

    def restore(self, name: str) -> Definition:
        """Brings back the table or view that was removed last under a name. Raises DefinitionError."""
        dropped = self._dropped_place(name)
        if not self.files.exists(dropped):
            names = ", ".join(sorted(self._dropped_names())) or "none"
            raise DefinitionError(f"no dropped table or view {name}; there are: {names}")
        if self.files.renames:
            self._clear(name)
            self._move(name, dropped, self._own_place(name))
        else:
            with store_errors(name):
                self.files.remove(dropped)
        return self.polled_definition(name)

    def _dropped_names(self) -> Sequence[str]:
        """Returns the names of tables and views that can be restored."""
        place = f"{self.path}/{DROPPED}"
        return self.files.folders(place) if self.files.renames else self.files.files(place)

    def rename(self, name: str, other: str) -> Definition:
        """Gives a table or view another name that is free; returns its definition. Raises StoreError."""
        self._clear(other)
        self._move(name, self._own_place(name), self._own_place(other))
        self.entries.pop(name, None)
        return self.polled_definition(other)

    def _clear(self, name: str) -> None:
        """Forgets what had a name that is free now, and removes what a crash left there."""
        if name in self.entries:
            self._forget(name)
        place = self._own_place(name)
        if self.files.exists(place) and self._is_leftover(name):
            with store_errors(name):
                self.files.remove(place)

    def identity(self, name: str) -> str:
        """Returns the id of the Delta table in the folder of a table or view; empty if there is none."""
        log = TableLog(name, self._own_place(name), self.files, self._metadata_at)
        try:
            log.poll()
            return log.newest.table.id
        except CorruptTable:
            return ""

    def polled_definition(self, name: str) -> Definition:
        """Returns the definition in a folder, read now."""
        self.polled(name)
        self.looked_at.add(name)
        return self.entries[name].definition

    def redefine(self, definition: Definition) -> None:
        """Writes another definition into a table or view; its rows stay. Raises StoreError."""
        name = definition.name
        properties = to_properties(definition, self.entries[name].order)
        pairs = ", ".join(f"{SPARK.string(key)} = {SPARK.string(value)}" for key, value in properties.items())
        with store_errors(name):
            place = f"delta.{SPARK.identifier(self._own_place(name))}"
            self.session.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ({pairs})")
        self.polled(name)

    def _move(self, name: str, place: str, other: str, *, over: bool = False) -> None:
        """Renames the folder of a table or view from one path to another. `over`: see `Files.rename`."""
        with store_errors(name):
            self._unregister(name)
            self.files.rename(place, other, over=over)
            # Delta caches logs by path, so both paths have a stale one.
            self._forget_in_delta(place)
            self._forget_in_delta(other)
        self._active.pop(name, None)

    def _unregister(self, name: str) -> None:
        """Drops a base table's plain name from Spark's catalog, if it has one; its files stay."""
        if name in self.registered:
            self.session.sql(f"DROP TABLE {self.database}.{SPARK.identifier(name)}")
            self.registered.discard(name)

    def _dropped_place(self, name: str) -> str:
        """Returns the path where a dropped table or view lies, or the file that marks it; see DROPPED."""
        return f"{self.path}/{DROPPED}/{name}"

    def register(self, name: str) -> None:
        """Gives a base table its plain name in the session's current database, for users' statements."""
        if name not in self.registered:
            with store_errors(name):
                target, place = f"{self.database}.{SPARK.identifier(name)}", SPARK.string(self.path_of(name))
                self.session.sql(f"CREATE TABLE {target} USING delta LOCATION {place}")
            self.registered.add(name)

    def checkpoint(self, name: str) -> None:
        """Writes a checkpoint of a table's newest version, from which readers start."""
        log, nothing = self._delta_log(name), java_none(self.session)
        with store_errors(name):
            log.checkpoint(log.update(False, nothing, nothing), nothing)

    def write_commit(self, name: str, version: int, text: str) -> bool:
        """Writes a commit of a table's log; False if the version exists already. Raises StoreError.

        It goes through Delta's own log store, which orders the writers of this JVM. On a local disk Delta
        looks whether the file exists and then renames its own over it: a file that other code created in
        between would be replaced, and that commit lost.
        """
        place = self.path_of(name)
        with store_errors(name):
            return create_once(self.session, place, f"{place}/_delta_log/{version:020d}.json", text)

    def _delta_log(self, name: str) -> Any:
        """Returns Delta's object in the JVM for the log of a table."""
        java = self.session._jsparkSession  # noqa: SLF001
        with store_errors(name):
            return java_class(self.session, DELTA_LOG).forTable(java, self.path_of(name))

    def _forget_in_delta(self, place: str) -> None:
        """Removes the log of the table in a folder from Delta's cache."""
        # Delta caches logs by path; a new table in the same folder would get the old log. The cache has no
        # Python interface.
        path = java_class(self.session, "org.apache.hadoop.fs.Path")(place)
        java_class(self.session, DELTA_LOG).invalidateCache(self.session._jsparkSession, path)  # noqa: SLF001

    def _is_leftover(self, name: str) -> bool:
        """Tells whether a sub-folder is no table: a crash came before its first commit, or it was dropped."""
        place = self._own_place(name)
        if self._is_marked(name):
            return True
        folders = self.files.folders(place)
        if self.files.files(place) or [folder for folder in folders if folder != "_delta_log"]:
            return False
        return not self.files.files(f"{place}/_delta_log")

    def _metadata_at(self, place: str, version: int) -> TableMetadata:
        """Returns a table's metadata from Delta's checkpoint: log cleanup removed the commit that set it."""
        with store_errors(place):
            log = java_class(self.session, DELTA_LOG).forTable(self.session._jsparkSession, place)  # noqa: SLF001
            nothing, collections = java_none(self.session), java_class(self.session, COLLECTIONS)
            metadata = log.getSnapshotAt(version, nothing, nothing, False).metadata()
            properties = collections.asJava(metadata.configuration())
            schema = str(metadata.schemaString())
            partitions = collections.asJava(metadata.partitionColumns())
            return TableMetadata(
                id=str(metadata.id()),
                properties=dict(properties),
                schema=schema,
                partitions=tuple(map(str, partitions)),
            )


def _newest(log: TableLog) -> tuple[int, str | None]:
    """Returns number and text of the newest commit, for `Entry.last`."""
    return log.newest.version, _text(log, log.newest.version)


def _text(log: TableLog, version: int) -> str | None:
    """Returns the text of a commit, read from its file now; None if there is none."""
    return log.files.read(f"{log.log_folder}/{version:020d}.json")


def _ensure_attachable(name: str, place: str, metadata: TableMetadata) -> None:
    """Raises DefinitionError for a table that an account has made for itself, or with reserved columns."""
    if kind_of(metadata) in (VIEW, ATTACHED):
        kind = "a view" if kind_of(metadata) == VIEW else "an attached table"
        raise DefinitionError(f"{name} cannot be attached: {place} is no table, it is {kind} of an account")
    for column in column_names(metadata):
        if column.startswith("$"):
            raise DefinitionError(
                f"{name} cannot be attached: {place} is a dynamic table of an account, by its column {column}"
            )
        if is_reserved(column):
            raise DefinitionError(f"{name} cannot be attached: the column name {column} is reserved")
