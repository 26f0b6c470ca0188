"""Compares each look of the process at a simulated account with what is due, computed by hand.

A look is one time at which the process that refreshes asks what is due, once in each tick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaign.soak.acts import GROUP, visible
from campaign.soak.plan import SECOND, TICK
from campaign.soak.result import Check, State
from campaign.soak.shown import Showing, identity_of
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.operations.runner import Told
from dynamic_tables.refresh.execute import RefreshResult

MOST_ERRORS = 5
"""Failed refreshes in a row that suspend a table, as docs/semantics.md says."""


@dataclass(slots=True)
class Judge(Showing):
    """Compares contents, data timestamps, suspensions and counts of failures with the truth by hand."""

    def look(self, at: int, reports: Sequence[Told]) -> None:
        """Judges a look: the refreshes and errors that it reported, and what the tables hold after it."""
        self.result.looks += 1
        done = [each for each in reports if isinstance(each, RefreshResult)]
        self.result.refreshes += len(done)
        self.result.actions.update(each.action.value for each in done)
        self.result.failures += len(reports) - len(done)
        self._note_states(done)
        for each in reports:
            if isinstance(each, RefreshResult | RefreshFailed) and each.table in self._stopped():
                found = "is suspended, and was refreshed by the schedule"
                self.wrong(at, each.table, Check.SUSPENDED, found)
            match each:
                case RefreshResult():
                    self.seen.errors[each.table] = 0
                    self.seen.stored[each.table] = each.timestamp
                case RefreshFailed():
                    self.seen.errors[each.table] += 1
                    is_tick = each.timestamp in self.truth.states
                    if is_tick and self.truth.contents(each.table, each.timestamp) is not None:
                        found = f"its query does not fail, and this did: {each}"
                        self.wrong(at, each.table, Check.FAILED, found)
                case DefinitionError() if self._lacks_source(each):
                    self.seen.errors[str(each).split()[0]] += 1
                case _:
                    self.wrong(at, "", Check.ERROR, f"an error that is no failed refresh: {each}")
        self._contents(at, done)
        self._times(at)

    def _note_states(self, done: Sequence[RefreshResult]) -> None:
        """Notes which rare states this look has met, before its refreshes change what was seen."""
        periods, stopped = self.truth.periods(), self._stopped()
        before = {each.table: self.seen.stored.get(each.table, each.timestamp) for each in done}
        met = {
            State.SKIPPED: any(
                before[each.table] < each.timestamp - periods.get(each.table, each.timestamp) for each in done
            ),
            State.BELOW_SUSPENDED: any(
                name not in stopped and stopped.intersection(self.truth.above(name))
                for name in self.truth.tables
            ),
            State.SUSPENDED_BY_ERRORS: bool(stopped - self.truth.suspended),
            State.SOURCE_MISSING: any(map(self.truth.lacks_source, self.truth.tables)),
            State.REPEATABLE_GROUP: self.truth.repeatable,
        }
        self.result.states.update(state.value for state, is_met in met.items() if is_met)

    def _lacks_source(self, error: DefinitionError) -> bool:
        """Tells whether an error `TABLE reads SOURCE ...` is right: that table lacks a source."""
        name, reads, *_ = str(error).split()
        return reads == "reads" and name in self.truth.tables and self.truth.lacks_source(name)

    def _contents(self, at: int, done: Sequence[RefreshResult]) -> None:
        """Compares what each refresh of this look has stored with its query at its data timestamp."""
        newest = {each.table: each for each in done}
        for result in done:
            if result is not newest[result.table] and result.timestamp in self.truth.states:
                self.truth.note(result.table, result.timestamp)
        for name, result in newest.items():
            due = (
                self.truth.contents(name, result.timestamp) if result.timestamp in self.truth.states else None
            )
            table = self.account.dynamic_table(name)
            rows = Counter(row[: len(table.columns)] for row in self.account.store.current(table).rows())
            if due is None:
                self.wrong(
                    at,
                    name,
                    Check.NO_CONTENTS,
                    f"was refreshed to {shown(result.timestamp)}, where its query fails",
                )
            elif rows == due:
                self.truth.note(name, result.timestamp)
                self.seen.past.setdefault(identity_of(self.account, name), {})[result.timestamp] = due
            else:
                missing, more = due - rows, rows - due
                wrong = (("lacks", missing), ("has also", more))
                parts = [f"{what} {bag(them)}" for what, them in wrong if them]
                found = f"{' and '.join(parts)}, at data timestamp {shown(result.timestamp)}"
                self.wrong(at, name, Check.CONTENTS, found)

    def _times(self, at: int) -> None:
        """Compares the data timestamps that readers see with those that are due by hand."""
        periods = self.truth.periods()
        seen = {name: visible(self.account, name) for name in self.truth.order()}
        on_time = self._on_time(at, periods)
        for name, timestamp in seen.items():
            before = self.seen.visible.get(name, timestamp)
            if timestamp < before:
                self.wrong(at, name, Check.TIME, f"went back from {shown(before)} to {shown(timestamp)}")
            if timestamp > at:
                self.wrong(at, name, Check.TIME, f"is at {shown(timestamp)}, which lies in the future")
            if timestamp != before and timestamp % TICK:
                self.wrong(at, name, Check.TIME, f"is at {shown(timestamp)}, which is no tick")
            if name in on_time and timestamp != at:
                self.wrong(at, name, Check.LATE, f"is at {shown(timestamp)}, and {shown(at)} is due")
        if self.truth.repeatable and len({seen[name] for name in self.truth.group}) > 1:
            times = ", ".join(f"{name} {shown(seen[name])}" for name in self.truth.group)
            self.wrong(at, GROUP, Check.GROUP, f"the members are at different times: {times}")
        self.seen.visible = seen
        self.compare_shown(at, self._stopped())

    def _on_time(self, at: int, periods: Mapping[str, int]) -> set[str]:
        """Returns the tables that must be at this tick: nothing above them is suspended, fails or waits."""
        stopped = self._stopped()
        fine: set[str] = set()
        # A group is one unit: what stops a member, or a table above one, stops all of it.
        bad = any(
            name in stopped or self.truth.contents(name, at) is None
            for member in self.truth.group
            for name in (*self.truth.above(member), member)
        )
        waits = {
            name
            for name in self.truth.group
            if bad or any(at % periods.get(each, at + 1) for each in self.truth.group)
        }
        for name in self.truth.order():
            above = [source for source in self.truth.tables[name].sources if source in self.truth.tables]
            if (
                name in periods
                and at % periods[name] == 0
                and name not in stopped
                and name not in waits
                and all(source in fine for source in above)
                and self.truth.contents(name, at) is not None
            ):
                fine.add(name)
        return fine

    def _stopped(self) -> set[str]:
        """Returns the tables that no schedule may refresh: suspended by command, or by errors."""
        return self.truth.suspended | {
            name for name, count in self.seen.errors.items() if count >= MOST_ERRORS
        }


def shown(time: int) -> str:
    """Returns a time in seconds, as a person reads it."""
    return f"{time / SECOND:g} s"


def bag(rows: Counter[tuple[object, ...]]) -> str:
    """Returns some rows as text: `(1, 2), (1, 3) twice`."""
    times = {1: "", 2: " twice"}
    shown = [f"{row}{times.get(count, f' {count} times')}" for row, count in sorted(rows.items(), key=repr)]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
