"""The public face of the engine: an account of base tables, views and dynamic tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dynamic_tables.arguments import checked_key, checked_time
from dynamic_tables.define import define, ensure_frozen_stays, read_query
from dynamic_tables.definition import BaseTable, Definition, DynamicTable, RefreshMode, View
from dynamic_tables.errors import DefinitionError, ObjectStore, RefreshFailed, SlowCapture, StoreError
from dynamic_tables.journal.events import Privilege
from dynamic_tables.moment import moment
from dynamic_tables.operations.dropping import finish_drops, note_dropped
from dynamic_tables.operations.evolving import Evolving
from dynamic_tables.operations.groups import ensure_in_order
from dynamic_tables.operations.reading import ensure_acyclic
from dynamic_tables.operations.renaming import finish_renames
from dynamic_tables.operations.rights import allowed
from dynamic_tables.operations.table_commands import TableCommands
from dynamic_tables.operations.tables import ensure_not_moving
from dynamic_tables.operations.watching import Watching
from dynamic_tables.own_functions import is_function_statement
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.reading.text.text import names_in, read_text
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.schedule.lag import MINIMUM_LAG, Lag, read_lag
from dynamic_tables.store.names.statements import column_type
from dynamic_tables.store.port import FrameStore, NamingStore, RefreshRecord, Relation, WritableStore
from dynamic_tables.store.spark.attached import what_is_missing
from dynamic_tables.store.spark.object_store import WHAT_IS_REFUSED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Kind = TypeVar("Kind", View, DynamicTable)


@dataclass(frozen=True, slots=True)
class Description:
    """A dynamic table's definition and its refresh history, oldest refresh first."""

    table: DynamicTable
    refreshes: Sequence[RefreshRecord]

    @property
    def data_timestamp(self) -> int | None:
        """The data timestamp of the contents in microseconds; None before initialization."""
        return self.refreshes[-1].frontier.timestamp if self.refreshes else None


class Account(TableCommands, Watching, Evolving):
    """Tables over one store and one clock. Its methods may be called by several threads; they run one by one.

    Each of its bases has the methods for one thing that users do with them.
    """

    def _begin(self) -> None:
        """Begins an operation: what another process has left undone is finished first."""
        super()._begin()
        finish_renames(self)
        finish_drops(self)

    @classmethod
    def open(
        cls,
        path: str,
        spark: SparkSession,
        clock: Clock,
        *,
        role: str = "",
        minimum_lag: int | None = None,
    ) -> Account:
        """Opens the account in a folder; its whole state is in the Delta commits and in two ledgers there.

        A path without `://` is local, and relative to Python's working directory: the JVM's may differ. At
        `s3a://bucket/folder` an ObjectStore warning says what is refused there.
        `role`: who opens it; a table that has an owner admits only roles with a privilege on it.
        `minimum_lag`: the least target lag in microseconds; by default one minute, and in simulated time any.
        Example: `Account.open("lake", open_session(), WallClock())`.
        """
        # Imported here, because an account over another store needs no Spark.
        from dynamic_tables.store.delta import DeltaStore

        folder = path if "://" in path else str(Path(path).resolve())
        store = DeltaStore(folder, spark, clock)
        if not store.renames:
            warnings.warn(WHAT_IS_REFUSED.format(folder), ObjectStore, stacklevel=2)
        if minimum_lag is None:
            minimum_lag = 1 if clock.simulated else MINIMUM_LAG
        return cls(store=store, clock=clock, role=role, minimum_lag=minimum_lag)

    def create_base_table(
        self,
        name: str,
        columns: Mapping[str, str] | Sequence[tuple[str, str]],
        *,
        primary_key: Sequence[str] = (),
    ) -> BaseTable:
        """Adds an empty base table; `columns` gives names and SQL types.

        `primary_key`: the columns by which rows keep their identity, as for `attach`.

        Raises DefinitionError: for a name or type that is refused, or a store that has no base tables.
        """
        with self.lock:
            pairs = columns.items() if isinstance(columns, Mapping) else columns
            typed = tuple((column, column_type(column, text)) for column, text in pairs)
            table = checked_key(BaseTable(self.new_name(name), typed), primary_key)
            self._writable().create_base_table(table)
            return table

    def attach(self, name: str, path_or_name: str, *, primary_key: Sequence[str] = ()) -> BaseTable:
        """Makes a Delta table a base table of the account, where it lies, and returns its definition.

        `path_or_name`: the folder of the table, or its name in Spark's catalog. Whoever writes it goes on;
        what is committed enters with the next data timestamp. `drop` detaches the table and touches no file.
        Without Delta's row tracking each refresh compares whole versions; a SlowCapture warning names the
        statement that adds it. A TimesWithoutZone warning names columns whose times the account reads as UTC,
        and other sessions perhaps not.

        `primary_key`: columns whose values no two rows share. Rows then keep their identity by them, so that
        a table that is overwritten or replaced costs what really differs. A refresh looks up the keys of the
        rows that came, and fails where two rows have one.

        Raises DefinitionError: for a name that is refused, no such Delta table, columns of a type that
        dynamic tables do not hold, or a key that it cannot have.

        Example: `account.attach("sales", "/data/sales")`.
        """
        with self.lock:
            return self._frames().attach(
                self.new_name(name),
                path_or_name,
                lambda table: checked_key(table, primary_key),
                lambda table: _warn_of(table, depth=6),
            )

    def execute(self, *statements: str) -> Mapping[str, int]:
        """Runs DML on base tables as one transaction with the commit timestamp `clock.now()`.

        CREATE FUNCTION and DROP FUNCTION are statements, too, each alone. Returns the newest version of each
        table written.
        Raises DefinitionError: for a statement that is refused. Raises StoreError: for one that fails.
        After an error no statement has any effect.
        """
        with self.lock:
            if any(map(is_function_statement, statements)):
                if len(statements) > 1:
                    raise DefinitionError("CREATE FUNCTION and DROP FUNCTION are executed one at a time")
                self.run_function_statement(statements[0])
                return {}
            return self._writable().write(statements)

    def end_unfinished(self, *, keep: bool) -> Sequence[int]:
        """Undoes every unfinished transaction, or keeps what it committed; returns their times.

        Only for a process that knows that no other one writes. It is seldom needed: the next write or
        refresh undoes the transactions of processes that have ended by itself, and `keep` is for one that
        cannot be undone, because another writer has changed the same rows since. Raises StoreError.
        """
        with self.lock:
            return self._writable().end_unfinished(keep=keep)

    def _writable(self) -> WritableStore:
        """Returns the store, in which users can write base tables. Raises DefinitionError: it has none."""
        if not isinstance(self.store, WritableStore):
            raise DefinitionError("this account's store keeps no base tables; write them where they live")
        return self.store

    def create_view(self, name: str, query: str, *, or_replace: bool = False) -> View:
        """Adds a view; its query may be one that only FULL can refresh. Raises DefinitionError.

        `or_replace`: a view of the name gets this query; the tables that read it are written anew.
        """
        with self.lock:
            old = self._replaced(name, View) if or_replace else None
            view = View(self.new_name(name) if old is None else old.name, query)
            definitions = self.store.definitions()
            ensure_acyclic(definitions, view.name, query)
            self.use_functions(read_text(query, definitions).texts)
            read_query(query, definitions, self.rules, self._analyzer)
            ensure_in_order(self, {**definitions, view.name: view})
            if old is None:
                self.store.create_view(view)
            else:
                self.store.redefine(view)
            return view

    def _replaced(self, name: str, kind: type[Kind]) -> Kind | None:
        """Returns the definition that a new one replaces; None if there is none of the name.

        Raises DefinitionError: it is something else. Raises StoreError: it is being renamed.
        """
        old = self.store.definitions().get(name.lower())
        if old is not None and not isinstance(old, kind):
            raise DefinitionError(f"{old.name} exists already and is something else; drop it first")
        ensure_not_moving(self.store.journal.poll(), name.lower())
        return old

    def _old_table(self, name: str) -> DynamicTable | None:
        """Returns the caller's dynamic table of a name, with the lag that it has now; None: there is none.

        If the new definition fails, all is as before.
        """
        old = self._replaced(name, DynamicTable)
        return None if old is None else allowed(self, old.name, Privilege.OWNERSHIP)

    def create_dynamic_table(
        self,
        name: str,
        query: str,
        *,
        target_lag: Lag = None,
        refresh_mode: RefreshMode | str = RefreshMode.AUTO,
        frozen_where: str = "",
        backfill_from: str = "",
        initialize: bool = True,
        or_replace: bool = False,
    ) -> DynamicTable:
        """Adds a dynamic table and initializes it, unless `initialize` is False: then a schedule does.

        `or_replace`: a dynamic table of the name gets this definition, and new contents by it.

        `target_lag`: a text such as "5 minutes", microseconds, or a timedelta; None means DOWNSTREAM.

        With refresh mode AUTO, each refresh of a query that can be maintained is INCREMENTAL or FULL, as the
        table's own earlier refreshes make one or the other look cheaper (`refresh.choice`).

        `frozen_where`: a condition on its columns, such as "day < current_date() - 30". Rows that are stored
        and meet it stay as they are, whatever happens to the data that they were made of; the current time in
        it is the data timestamp. `backfill_from`: the table whose rows are the frozen ones at first.

        The initial data timestamp is the newest one that all upstream dynamic tables have and that lies
        within the target lag, else now (DVS paper, section 3.1.2). After an error nothing is stored.

        Raises DefinitionError: for a query, name or option that makes no sense.
        Raises UnsupportedError: for refresh mode INCREMENTAL over an operator without a rule.
        Raises RefreshFailed: if the initialization fails.

        Example: `account.create_dynamic_table("totals", "SELECT city, SUM(n) AS n FROM r GROUP BY city")`.
        """
        with self.lock:
            old = self._old_table(name) if or_replace else None
            name = self.new_name(name) if old is None else old.name
            # A table of the name may have been dropped while others read it.
            ensure_acyclic(self.store.definitions(), name, query)
            mode, lag = RefreshMode.of(refresh_mode), read_lag(name, target_lag, self.minimum_lag)
            marks, changing = self.use_functions(read_text(query, self.store.definitions()).texts)
            table, bound = define(
                name,
                query,
                self.store,
                self.rules,
                self.clock.now(),
                target_lag=lag,
                mode=mode,
                frozen_where=frozen_where,
                backfill_from=backfill_from.lower(),
                changing=changing,
            )
            table = replace(table, expanded=table.expanded + marks)
            self._store_definition(table, old, bound)
            if initialize:
                self._first_contents(table, old)
            definitions = self.store.definitions()
            for source in table.sources if table.incremental else ():
                _warn_of(definitions[source])
            return table

    def _store_definition(
        self, table: DynamicTable, old: DynamicTable | None, bound: BoundQuery | None
    ) -> None:
        """Stores a new definition, or one in place of an old one, with the plan that it was bound to."""
        if old is not None and self.store.refreshes(old, edited=True):
            ensure_frozen_stays(old, table)
        ensure_in_order(self, {**self.store.definitions(), table.name: table})
        _, inputs = self._plan_inputs(table)
        if old is None:
            self.store.create_dynamic_table(table)
        else:
            self.store.redefine(table)
        self.note_definition(table, created=old is None)
        self.bound[table.name] = (inputs, bound, table.columns)

    def _first_contents(self, table: DynamicTable, old: DynamicTable | None) -> None:
        """Writes the contents of a new or replaced table; if that fails, all is as before."""
        try:
            if old is None:
                self.initialize(table.name)
            elif all(result.table != table.name for result in self.refresh(table.name)):
                # It can only be so in simulated time.
                time = self.clock.now()
                raise RefreshFailed(
                    table.name, time, "it has this data timestamp already: set the clock forward"
                )
        except BaseException:
            self.forget(table.name)
            if old is None:
                self.discard(table)
            else:
                self.store.redefine(old)
                self.note_definition(old)
            raise

    def read(self, name: str, at: int | None = None) -> DataFrame:
        """Returns the rows of a base or dynamic table as a data frame of Spark, without internal columns.

        `at`: a data timestamp in microseconds; by default the newest contents.
        Raises DefinitionError: for a view, an unknown table, or a time at which the table had no contents.

        Example: `account.read("totals").show()`.
        """
        with self.lock:
            definition, store = self.existing(name), self._frames()
            if at is not None:
                store.reach(checked_time(at))
            version = self.version_read(definition, at)
            return store.read(definition.name, store.newest(definition.name) if version is None else version)

    def version_read(self, definition: Definition, at: int | None) -> int | None:
        """Returns the version of a table that `read` reads; None: the newest. Raises DefinitionError."""
        if isinstance(definition, View):
            raise DefinitionError(f"{definition.name} is a view; only tables are read")
        if at is None and isinstance(definition, DynamicTable):
            published = self.store.journal.poll().published(definition.name)
            at = published[-1] if published else None
        if at is None:
            return None
        try:
            history = self.store.history(definition)
            return self.protocol.resolve(history, at, definition.name).version
        except RefreshFailed as error:
            raise DefinitionError(
                f"{definition.name} cannot be read at {moment(at)}: {error.reason}"
            ) from error

    def write(self, name: str, frame: DataFrame, mode: str = "append") -> int:
        """Appends a data frame's rows to a base table, or replaces all rows by `overwrite`; for bulk loads.

        Columns are matched by name. Returns the version of the table.
        Raises DefinitionError: for no base table, or another mode. Raises StoreError: if the write fails.
        """
        with self.lock:
            definition, store = self.existing(name), self._frames()
            if not isinstance(definition, BaseTable):
                raise DefinitionError(f"{definition.name} is no base table; only base tables are written")
            if mode not in ("append", "overwrite"):
                raise DefinitionError(f"no mode {mode!r}; there are: append, overwrite")
            return store.write_frame(definition.name, frame, mode)

    def _frames(self) -> FrameStore:
        """Returns the store, which has data frames of Spark. Raises DefinitionError: it has none."""
        if not isinstance(self.store, FrameStore):
            raise DefinitionError("this account's store has no data frames; open one on Spark")
        return self.store

    def fresh_contents(self, name: str) -> Relation:
        """Returns the contents that an initialization at the table's frontier would write; no commit."""
        with self.lock:
            table = self.dynamic_table(name)
            record = self.store.refreshes(table)[-1]
            return self.refreshing(table).fresh(record.frontier)

    def fresh_state(self, name: str) -> Relation | None:
        """Returns the table's rows at its frontier with every hidden column and `$ROW_ID`, computed anew.

        None for a table without hidden columns. It shows whether refreshes kept the hidden columns right.
        """
        with self.lock:
            table = self.dynamic_table(name)
            return self.refreshing(table).fresh_state(self.store.refreshes(table)[-1].frontier)

    def describe(self, name: str) -> Description:
        """Returns definition and history of a dynamic table. Raises DefinitionError: no such table."""
        with self.lock:
            table = allowed(self, name, Privilege.MONITOR)
            return Description(table, self.store.refreshes(table))

    def drop(self, name: str, *, even_if_read: bool = False) -> None:
        """Removes a table or view; `undrop` brings it back, until another one of its name is dropped.

        `even_if_read`: also one that others read; these fail to refresh until it is back, or replaced.
        Raises DefinitionError: another definition reads it. Raises MissingPrivilege.
        """
        with self.lock:
            if not even_if_read:
                self._ensure_unread(name.lower())
            if isinstance(self.store, FrameStore) and self.store.is_lost(name.lower()):
                self.store.detach(name.lower())
                return
            definition = self.existing(name)
            if isinstance(definition, DynamicTable):
                allowed(self, definition.name, Privilege.OWNERSHIP)
            ensure_not_moving(self.store.journal.poll(), definition.name)
            self.forget(definition.name)
            number = self.store.journal.poll().of(definition.name).number
            self.store.drop(definition)
            if isinstance(definition, DynamicTable):
                try:
                    note_dropped(self, definition.name, number)
                except StoreError:
                    # As on a full disk: the command has failed, so the table is still there.
                    if isinstance(self.store, NamingStore):
                        self.store.restore(definition.name)
                    raise

    def _ensure_unread(self, name: str) -> None:
        """Raises DefinitionError if a view or dynamic table reads a table or view."""
        definitions = self.store.definitions()
        # Another process may drop one of them meanwhile.
        for other in map(definitions.get, definitions):
            if isinstance(other, View | DynamicTable) and name in names_in(other.text):
                raise DefinitionError(f"{name} is read by {other.name}; drop that first")


def _warn_of(table: Definition, depth: int = 3) -> None:
    """Warns the caller of the account's method, `depth` calls above, of what makes refreshes slow."""
    missing = what_is_missing(table) if isinstance(table, BaseTable) else ""
    if missing:
        warnings.warn(missing, SlowCapture, stacklevel=depth)
