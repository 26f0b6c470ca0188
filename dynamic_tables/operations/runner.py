"""Keeps an account fresh: refreshes what is due, until it is told to stop (`dvs-tables run`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event as Signal

from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.journal.events import Trigger
from dynamic_tables.operations.claiming import LEASE, claimed
from dynamic_tables.operations.groups import publish
from dynamic_tables.operations.refresh_commands import RefreshCommands
from dynamic_tables.operations.states import table_states, timetable_of
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.due import Due, TableState, due
from dynamic_tables.schedule.group import RefreshGroup
from dynamic_tables.schedule.timetable import Timetable
from dynamic_tables.store.transactions.owner import has_ended

Schedule = Callable[[Timetable, Mapping[str, TableState], int], Sequence[Due]]
"""What is due, as `schedule.due.due` says it."""

Told = RefreshResult | DynamicTablesError
"""What an observer of a runner receives: a refresh that is committed, or why one is not."""


@dataclass(slots=True, kw_only=True)
class Runner:
    """One of the processes that keep an account fresh.

    `lease`: how long its claims hold without a sign of life, in microseconds. `gone`: tells whether a process
    has ended. `observe`: receives each refresh and each failure. `beats`: whether it gives signs of life
    while a refresh runs. `publish` and `schedule`: how a group becomes visible, and what is due; tests
    replace them.
    """

    account: RefreshCommands
    lease: int = LEASE
    gone: Callable[[str], bool] = has_ended
    observe: Callable[[Told], None] = lambda told: None
    beats: bool = True
    publish: Callable[[AccountTables, RefreshGroup, Mapping[str, int]], None] = publish
    schedule: Schedule = due

    def run(self, stop: Signal, *, pause: float = 1.0) -> None:
        """Refreshes what is due until `stop` is set; a refresh under way is ended first.

        `pause`: seconds between two looks at the account. What one look or refresh raises is observed, and
        the next look is made all the same.
        """
        while not stop.is_set():
            try:
                self.run_due(stop)
            except DynamicTablesError as error:
                self.observe(error)
            stop.wait(pause)

    def run_due(self, stop: Signal | None = None) -> int:
        """Refreshes all that is due now, and what becomes due by that; returns the number of units refreshed.

        Raises DynamicTablesError: the account cannot be read.
        """
        count = 0
        tried: set[Due] = set()
        while stop is None or not stop.is_set():
            # What was tried and is due all the same waits for the next call: it would be due for ever.
            ready = [each for each in self.due() if each not in tried]
            tried.update(ready)
            done = 0
            for each in ready:
                if stop is not None and stop.is_set():
                    break
                done += self.run_unit(each)
            count += done
            if not done:
                break
        return count

    def due(self) -> list[Due]:
        """Returns what is due now. Raises DynamicTablesError: the account cannot be read."""
        with self.account.lock:
            now, graph = self.now(), self.account.graph()
            states = table_states(self.account, graph, now, self.gone)
            return list(self.schedule(timetable_of(self.account, graph), states, now))

    def now(self) -> int:
        """Returns the time, not before the last event: a clock that went back must not undo a claim."""
        return max(self.account.clock.now(), self.account.store.journal.poll().newest)

    def run_unit(self, unit: Due) -> bool:
        """Refreshes the tables of a unit, unless another process does; tells whether all went well."""
        tables = tuple(name for name, _ in unit.steps)
        newest = max(timestamp for _, timestamp in unit.steps)
        with claimed(
            self.account,
            tables,
            newest,
            lease=self.lease,
            gone=self.gone,
            observe=self.observe,
            beats=self.beats,
        ) as mine:
            if not mine:
                return False
            for name, timestamp in unit.steps:
                try:
                    self._step(name, timestamp)
                except DynamicTablesError as error:
                    self.observe(error)
                    return False
            if unit.group is not None:
                with self.account.lock:
                    self.publish(self.account, unit.group, dict(unit.steps))
        return True

    def _step(self, name: str, timestamp: int) -> None:
        """Refreshes one table of a unit, unless it has the data timestamp already."""
        with self.account.lock:
            table = self.account.dynamic_table(name)
            # Another process may have done it between our look and our claim.
            if self.account.has_version_at(table, timestamp):
                return
            self.account.decide(table, timestamp)
            self.observe(self.account.run_refresh(table, timestamp, Trigger.SCHEDULED))
