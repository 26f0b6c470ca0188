"""Data timestamps of an account: which one comes next, and which versions each stands for.

A refresh to data timestamp t reads every base table as of t. What that is, is decided once and written into
the ledger as a tick: before the first refresh at t, or with a write. Later commits belong to later ticks,
whatever their clocks show.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from dynamic_tables.errors import CorruptTable, StoreError
from dynamic_tables.moment import moment
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.ticks.cut import finished
from dynamic_tables.store.ticks.ledger import Ledger, TableVersion, Tick
from dynamic_tables.store.ticks.version_rules import VERSION_RULES, VersionRules


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTime:
    """Decides which vector of base-table versions a data timestamp stands for: all refreshes at it read that.

    Vectors grow with the data timestamp, and a transaction is in a vector as a whole or not at all. `logs`:
    returns the logs of all base tables by name. `undo_abandoned`: undoes transactions of ended processes.
    `unreadable`: names the folders of the account that cannot be read now.
    """

    clock: Clock
    ledger: Ledger
    logs: Callable[[], Mapping[str, TableLog]]
    undo_abandoned: Callable[[], None]
    rules: VersionRules = VERSION_RULES
    unreadable: Callable[[], Collection[str]] = tuple

    def earliest(self, now: int) -> int:
        """Returns the earliest data timestamp, not before `now`, for which versions can still be decided.

        It is later than `now` where `now` or a later one is decided already, by a process whose clock is
        ahead. In simulated time it is `now`: the owner sets the time.
        """
        self.ledger.poll()
        newest = self.ledger.newest
        if newest is None or self.clock.simulated or newest.timestamp < now:
            return now
        return newest.timestamp + 1

    def decide(self, timestamp: int) -> None:
        """Decides, once for all, which version of each base table a data timestamp stands for.

        If a later one is decided already, it stands for the versions of the last tick before it.
        """

        def make() -> Tick | None:
            newest = self.ledger.newest
            if newest is not None and newest.timestamp >= timestamp:
                # Decided already. A tick of a write at this very time becomes fixed, so that no later write
                # can enter the data timestamp which is about to be read.
                same = newest.timestamp == timestamp
                return Tick(timestamp, True, {}) if same and not newest.fixed else None
            return Tick(timestamp, True, self._new_versions())

        self.ledger.append(make)
        self.reach(timestamp)

    def reach(self, timestamp: int) -> None:
        """Reads the ledger back to the last tick at or before a data timestamp, if there is one."""
        self.ledger.poll()
        if not self.ledger.ticks or self.ledger.ticks[0].timestamp > timestamp:
            self.ledger.reach_back()

    def ensure_open(self) -> None:
        """Raises StoreError if simulated time stands at or before a data timestamp that was read already."""
        self.ledger.poll()
        newest, now = self.ledger.newest, self.clock.now()
        if not self.clock.simulated or newest is None:
            return
        if newest.timestamp > now or (newest.fixed and newest.timestamp == now):
            raise StoreError(
                f"the clock says {moment(now)}, but the data timestamp {moment(newest.timestamp)} is decided "
                "already; "
                "no commit can enter it any more: set the clock forward"
            )

    def add_write(self) -> None:
        """Adds a tick with what was committed, so that a read at this time sees it.

        The commit stands in any case: if the tick cannot be written now, the next refresh writes it.
        """

        def make() -> Tick | None:
            versions = self._new_versions()
            return Tick(self.earliest(self.clock.now()), False, versions) if versions else None

        with suppress(StoreError):
            self.ledger.append(make)

    def add_table(self, name: str) -> None:
        """Adds a tick with a table that was just created or attached.

        No refresh can have read the table, so it may enter a data timestamp that is decided already.
        """

        def make() -> Tick:
            commit = self.logs()[name].newest
            newest, timestamp = self.ledger.newest, self.earliest(self.clock.now())
            if newest is not None:
                timestamp = max(timestamp, newest.timestamp)
            fixed = newest is not None and newest.fixed and newest.timestamp == timestamp
            return Tick(timestamp, fixed, {name: TableVersion(commit.version, commit.table.id)})

        self.ledger.append(make)

    def _new_versions(self) -> Mapping[str, TableVersion]:
        """Returns the versions of a consistent cut that differ from those of the newest tick."""
        # An abandoned transaction would hold back all later commits of its tables.
        self.undo_abandoned()
        start = self.ledger.vector
        complete = finished(self._polled(), start)
        # Logs are read one after the other, so a log may have been read before a transaction committed to it
        # and another one after its last part. Read again, every log has all parts of the finished ones.
        logs = self._polled()
        lost = {*self.unreadable(), *(self.logs().keys() - logs.keys())}
        now = self.rules.cut(logs, start, complete, lost)
        return {name: version for name, version in now.items() if start.get(name) != version}

    def _polled(self) -> Mapping[str, TableLog]:
        """Returns the logs that can be read, up to their ends; one that cannot concerns only who names it."""
        readable = {}
        for name, log in self.logs().items():
            with suppress(CorruptTable):
                log.poll()
                readable[name] = log
        return readable
