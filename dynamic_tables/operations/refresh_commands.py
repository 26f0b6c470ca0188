"""Refreshes of dynamic tables by command: a table, what it reads, and the members of their groups."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from traceback import walk_tb
from types import FrameType

from dynamic_tables import errors
from dynamic_tables.definition import DynamicTable
from dynamic_tables.journal.events import Privilege, Refreshed, RefreshFailure, Trigger
from dynamic_tables.moment import moment
from dynamic_tables.operations.binding import Binding
from dynamic_tables.operations.claiming import claimed_in_turn
from dynamic_tables.operations.groups import publish
from dynamic_tables.operations.rights import allowed
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.lag import SECOND, initialization_timestamp
from dynamic_tables.store.blame import MISTAKES, blame_of

Observe = Callable[[RefreshResult], None]
"""Receives each refresh as soon as it is committed."""


class RefreshCommands(Binding):
    """The methods of an account that refresh tables, and say how far they are."""

    def initialize(self, name: str, *, observe: Observe | None = None) -> tuple[RefreshResult, ...]:
        """Writes the first contents of a table created with `initialize=False`; otherwise as `refresh`."""
        with self.lock:
            table = self.dynamic_table(name)

            def newest_of_all() -> int:
                timestamps = {upstream.name: self._made_alike(upstream) for upstream in self.upstream(table)}
                now = self.store.earliest(self.clock.now())
                return initialization_timestamp(timestamps, now, table.target_lag, self.oldest(table))

            return _refresh(self, (table.name,), newest_of_all, Trigger.CREATION, observe)

    def _made_alike(self, table: DynamicTable) -> Sequence[int]:
        """Returns the data timestamps that readers may see; none if the definition has changed since.

        A table that is created after CREATE OR REPLACE of a view below must not show the replaced one.
        """
        try:
            now = self.refreshing(table).table.expanded
        except errors.DefinitionError:
            return ()
        records = self.store.refreshes(table)
        return self.visible(table) if records and records[-1].frontier.definition == now else ()

    def refresh(
        self, name: str, at: int | None = None, *, observe: Observe | None = None
    ) -> tuple[RefreshResult, ...]:
        """Refreshes a table to data timestamp `at` in microseconds (default: now), upstream tables first.

        Returns the refreshes that were run, those of upstream tables included; a table that already has
        this data timestamp is not refreshed. The tables of its refresh group are refreshed with it.
        Raises DefinitionError: for an unknown table or a time in the future. Raises MissingPrivilege.
        Raises RefreshFailed: if a refresh fails; the tables refreshed before it keep their new contents.

        Example: `[result.action for result in account.refresh("totals")]`.
        """
        with self.lock:
            table = allowed(self, name, Privilege.OPERATE)
            if at is not None and at > self.store.earliest(self.clock.now()):
                raise errors.DefinitionError(
                    f"refresh of {table.name} at {moment(at)}: the future cannot be read yet"
                )
            return _refresh(
                self, (table.name,), _present(self) if at is None else lambda: at, Trigger.MANUAL, observe
            )

    def refresh_together(self, names: Sequence[str]) -> tuple[RefreshResult, ...]:
        """Refreshes tables to one data timestamp, now, and what they read; as `refresh`."""
        with self.lock:
            named = [allowed(self, name, Privilege.OPERATE).name for name in names]
            return _refresh(self, named, _present(self), Trigger.MANUAL)

    def reinitialize(self, name: str) -> tuple[RefreshResult, ...]:
        """Writes the contents of a dynamic table anew, upstream tables first, and returns the refreshes.

        It repairs a table whose rows another writer has changed; tables that read it stay as they are. The
        tables of its refresh group are refreshed with it.
        Raises DefinitionError: no such dynamic table. Raises MissingPrivilege, RefreshFailed.
        """
        with self.lock:
            table = allowed(self, name, Privilege.OPERATE)
            return _refresh(self, (table.name,), _present(self), Trigger.MANUAL, anew="it was asked for")

    def run_refresh(
        self, table: DynamicTable, timestamp: int, trigger: Trigger, *, anew: str = ""
    ) -> RefreshResult:
        """Refreshes one table alone, to a data timestamp that all tables it reads have, and journals it.

        `anew`: the reason to write the contents anew. Raises RefreshFailed, also for a mistake of the engine,
        so that other tables are refreshed all the same; and DefinitionError.
        """
        started = self.clock.now()
        try:
            with _telling_mistakes(table.name, timestamp):
                refreshing = self.refreshing(table)
                if table.incremental and not refreshing.table.incremental:
                    # Before its contents, because tables above it must know that its rows have no ids now.
                    reason = refreshing.table.reason
                    self.store.redefine(replace(table, incremental=False, reason=reason, state=()))
                if refreshing.reads_time:
                    _ensure_clock(self, table, timestamp)
                result = refreshing.run(timestamp, anew=anew)
        except errors.DynamicTablesError as raised:
            error = _naming(table.name, raised)
            failure = RefreshFailure(
                at=self.clock.now(),
                by=self.process,
                table=table.name,
                timestamp=timestamp,
                started=started,
                trigger=trigger,
                fault=blame_of(error),
                reason=str(error),
            )
            # The error that counts is that of the refresh.
            with suppress(errors.StoreError):
                self.store.journal.add(failure)
            if error is raised:
                raise
            raise error from raised
        # The refresh is committed, whether the journal can be written or not.
        with suppress(errors.StoreError):
            _completed(self, result, started, trigger)
        return result


SKEW = 60 * SECOND
"""How far the clock may stand before the data timestamp of a table that reads the current time: clocks of
several machines differ by less. Until it has caught up, time stands still for the table."""


def _ensure_clock(account: AccountTables, table: DynamicTable, timestamp: int) -> None:
    """Raises RefreshFailed: the clock went back, so that the current time of a query would be a wrong one."""
    newest = max((each.frontier.timestamp for each in account.store.refreshes(table)), default=None)
    now = account.clock.now()
    if newest is not None and not account.clock.simulated and now < newest - SKEW:
        raise errors.RefreshFailed(
            table.name,
            timestamp,
            f"the clock went back: it says {moment(now)}, and the contents are of {moment(newest)}; "
            "the query reads the current time, so set the clock right, or wait until it has caught up",
        )


def _completed(account: AccountTables, result: RefreshResult, started: int, trigger: Trigger) -> None:
    """Writes a committed refresh into the journal."""
    account.store.journal.add(
        Refreshed(
            at=account.clock.now(),
            by=account.process,
            table=result.table,
            timestamp=result.timestamp,
            started=started,
            trigger=trigger,
            action=result.action.value,
        )
    )


def _naming(table: str, error: errors.DynamicTablesError) -> errors.DynamicTablesError:
    """Returns an error about a definition with the name of the table that it is about, if it lacks it."""
    about = type(error) in (errors.DefinitionError, errors.UntypedError)
    if not about or re.search(rf"\b{re.escape(table)}\b", str(error)):
        return error
    return errors.DefinitionError(f"{table} cannot be refreshed: {error}")


def _present(account: AccountTables) -> Callable[[], int]:
    """Returns a function that chooses the present as the data timestamp."""
    return lambda: account.store.earliest(account.clock.now())


def _refresh(
    account: RefreshCommands,
    names: Sequence[str],
    choose: Callable[[], int],
    trigger: Trigger,
    observe: Observe | None = None,
    *,
    anew: str = "",
) -> tuple[RefreshResult, ...]:
    """Refreshes tables, what they read and the members of their groups, and publishes the groups.

    Waits for other processes that refresh one of them. `choose`: chooses the data timestamp, after the
    waiting. `anew`: the reason to write the tables that were named anew, whatever has changed.
    """
    tables = account.with_upstream(names, groups=True)
    expected = choose()
    reasons = dict.fromkeys(names, anew) if anew else {}
    try:
        with claimed_in_turn(account, [table.name for table in tables], expected) as waited:
            if waited:
                tables = _as_they_are_now(account, names, tables)
            return _refresh_claimed(account, tables, choose(), trigger, observe, reasons)
    except errors.StoreError as error:
        raise errors.RefreshFailed(names[-1], expected, str(error)) from error


def _as_they_are_now(
    account: AccountTables, names: Sequence[str], tables: Sequence[DynamicTable]
) -> tuple[DynamicTable, ...]:
    """Returns tables with the definitions that they have after a wait.

    Raises StoreError: by these definitions other tables must be refreshed too.
    """
    account.store.begin()
    now = account.with_upstream(names, groups=True)
    if {table.name for table in now} != {table.name for table in tables}:
        raise errors.StoreError("another process has changed what it reads; refresh it again")
    return now


def _refresh_claimed(
    account: RefreshCommands,
    tables: Sequence[DynamicTable],
    timestamp: int,
    trigger: Trigger,
    observe: Observe | None,
    anew: Mapping[str, str],
) -> tuple[RefreshResult, ...]:
    """Refreshes tables that this process has claimed. `anew`: why to write some of them anew, by name."""
    operations = account.store.journal.poll()
    groups = {group.name: group for table in tables if (group := operations.group_of(table.name))}
    account.decide(tables[-1], timestamp)
    results = []
    for table in tables:
        reason = anew.get(table.name, "")
        if reason or not account.has_version_at(table, timestamp):
            results.append(account.run_refresh(table, timestamp, trigger, anew=reason))
            if observe is not None:
                observe(results[-1])
    for group in groups.values():
        publish(account, group, dict.fromkeys(group.members, timestamp))
    _ensure_published(account, tables, timestamp)
    return tuple(results)


def _ensure_published(account: AccountTables, tables: Sequence[DynamicTable], timestamp: int) -> None:
    """Raises StoreError: a table came into a group while it was refreshed, or its group has changed."""
    operations = account.store.journal.poll()
    for table in tables:
        published, group = operations.published(table.name), operations.group_of(table.name)
        if group is not None and max(published or (), default=timestamp - 1) < timestamp:
            raise errors.StoreError(
                f"another process has changed refresh group {group.name}, which {table.name} is in; "
                "refresh it again"
            )


@contextmanager
def _telling_mistakes(table: str, timestamp: int) -> Iterator[None]:
    """Raises EngineMistake for a mistake of the engine in the block; RefreshFailed for one of a library.

    A library fails so where a session has stopped or bytes are damaged. Errors of a caller pass through.
    """
    try:
        yield
    except MISTAKES as error:
        frames = [frame for frame, _ in walk_tb(error.__traceback__)]
        if not _is_below_the_engine(frames):
            raise
        shown = f"{type(error).__name__}: {error}".splitlines()[0]
        if type(error) is RecursionError or (
            type(error).__module__ == "builtins" and _package(frames[-1]) == OWN
        ):
            reason = f"a mistake of the engine ({shown}); please report it"
            raise errors.EngineMistake(table, timestamp, reason) from error
        raise errors.RefreshFailed(table, timestamp, shown) from error


OWN = "dynamic_tables"
"""The package of the engine."""


def _is_below_the_engine(frames: Sequence[FrameType]) -> bool:
    """Tells whether the engine, or a library that it has called, has raised an error, and no caller of it."""
    for frame in reversed(frames):
        package = _package(frame)
        if package == OWN:
            return True
        if package not in sys.stdlib_module_names and "site-packages" not in frame.f_code.co_filename:
            return False
    return False


def _package(frame: FrameType) -> str:
    """Returns the top-level package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
