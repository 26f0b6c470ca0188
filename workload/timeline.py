"""The refreshes that a scenario calls for, by the scheduling rules of delayed view semantics.

The engine has these rules too. The harness states them again, independently, to build scenarios that can be
refreshed and to judge whether the engine did every refresh that was due.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workload.errors import WorkloadError
from workload.query import names_read
from workload.scenario import (
    Commit,
    Create,
    Definition,
    Drop,
    DynamicTable,
    Read,
    Redefine,
    Refresh,
    Scenario,
    View,
)


@dataclass(frozen=True, slots=True)
class Due:
    """A refresh that is due. `timestamp`: the data timestamp of the refresh, in logical microseconds."""

    table: str
    timestamp: int


@dataclass(slots=True)
class Timeline:
    """The data timestamps of every dynamic table as steps go by.

    `replaced`: for a table that took the place of another one, the newest data timestamp of that one.
    """

    definitions: Mapping[str, Definition]
    timestamps: dict[str, list[int]] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)
    upstreams: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """What `upstream` has returned before: each refresh asks for it several times."""

    def upstream(self, name: str) -> tuple[str, ...]:
        """Returns the dynamic tables below a table at any depth (views looked through), sources first."""
        if name in self.upstreams:
            return self.upstreams[name]
        ordered: dict[str, None] = {}

        def visit(current: str) -> None:
            for source in names_read(self.definitions[current].query):
                match self.definitions.get(source):
                    case View():
                        visit(source)
                    case DynamicTable() if source not in ordered:
                        visit(source)
                        ordered[source] = None
                    case _:
                        pass

        visit(name)
        self.upstreams[name] = tuple(ordered)
        return self.upstreams[name]

    def last(self, name: str) -> int:
        """Returns a table's newest data timestamp, -1 before its initialization."""
        timestamps_of_table = self.timestamps.get(name)
        return timestamps_of_table[-1] if timestamps_of_table else self.replaced.get(name, -1)

    def possible(self, name: str, timestamp: int) -> bool:
        """Tells whether every upstream version that a refresh to the timestamp needs exists or may come."""
        return timestamp > self.last(name) and all(
            timestamp in self.timestamps.get(upstream, ()) or timestamp > self.last(upstream)
            for upstream in self.upstream(name)
        )

    def refresh(self, name: str, timestamp: int) -> tuple[Due, ...]:
        """Records a refresh and returns those that it makes due, upstreams first.

        Raises WorkloadError: an upstream table is past the timestamp and has no version at it.
        """
        due = [
            table for table in (*self.upstream(name), name) if timestamp not in self.timestamps.get(table, ())
        ]
        for table in due:
            if timestamp <= self.last(table):
                raise WorkloadError(f"{table} is at {self.last(table)} and has no version at {timestamp}")
        for table in due:
            self.timestamps.setdefault(table, []).append(timestamp)
        return tuple(Due(table, timestamp) for table in due)

    def create(self, name: str, at: int) -> tuple[Due, ...]:
        """Records the creation of a table and returns the refreshes due for it (DVS paper, section 3.1.2)."""
        definition = self.definitions[name]
        if not isinstance(definition, DynamicTable):
            return ()
        return self.refresh(name, self.initial_timestamp(definition, at))

    def redefine(self, replaced: Mapping[str, str], first: str, at: int) -> tuple[Due, ...]:
        """Records a replacement (old -> new definition) and returns the refreshes due for it."""
        for old, new in replaced.items():
            self.replaced[new] = self.last(old)
        return self.refresh(first, at) if isinstance(self.definitions[first], DynamicTable) else ()

    def initial_timestamp(self, table: DynamicTable, at: int) -> int:
        """Returns the newest data timestamp that all upstreams have within the target lag, else `at`."""
        upstream = self.upstream(table.name)
        if not upstream:
            return at
        shared = set(self.timestamps.get(upstream[0], ()))
        for name in upstream[1:]:
            shared &= set(self.timestamps.get(name, ()))
        return max((t for t in shared if table.target_lag is None or at - t <= table.target_lag), default=at)


def done_as_due(done: Sequence[Due], due: Sequence[Due], definitions: Mapping[str, Definition]) -> bool:
    """Tells whether the refreshes that were done in a step are those that were due, upstreams first.

    Tables that do not read each other may be refreshed in any order. Written with EXISTS, a semi join may be
    read after what stands right of it.
    """
    if Counter(done) != Counter(due):
        return False
    timeline, before = Timeline(definitions), set[str]()
    tables = {each.table for each in due}
    for each in done:
        if not tables.intersection(timeline.upstream(each.table)) <= before:
            return False
        before.add(each.table)
    return True


def due_refreshes(scenario: Scenario) -> tuple[tuple[Due, ...], ...]:
    """Returns for each step the refreshes it calls for, in order. Raises WorkloadError: one is impossible."""
    timeline = Timeline({definition.name: definition for definition in scenario.definitions})
    due: list[tuple[Due, ...]] = []
    for number, step in enumerate(scenario.steps):
        try:
            match step:
                case Commit() | Drop() | Read():
                    due.append(())
                case Create(at, name):
                    due.append(timeline.create(name, at))
                case Redefine(at, names):
                    replaced = scenario.replaced(step, scenario.live_after(scenario.steps[:number]))
                    due.append(timeline.redefine(replaced, names[0], at))
                case Refresh(_, table, timestamp):
                    due.append(timeline.refresh(table, timestamp))
        except WorkloadError as error:
            raise WorkloadError(f"step {number}: {error}") from error
    return tuple(due)
