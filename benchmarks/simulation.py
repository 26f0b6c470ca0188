"""A discrete-event simulation of an account: the real scheduler on simulated time, without any data."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dynamic_tables.schedule.due import NEW, Due, TableState, due
from dynamic_tables.schedule.failing import RULE, Blame, Failure, FailureRule, standing
from dynamic_tables.schedule.timetable import Timetable

KEPT_PER_TABLE = 64
"""How many data timestamps of a table are remembered; those that read it look for the newest ones."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A refresh of a simulation. `before`: the data timestamp that readers saw; times in microseconds.

    `published`: whether readers see it from its end on; a group publishes what all members did, or nothing.
    """

    table: str
    timestamp: int
    start: int
    end: int
    before: int | None
    fault: Blame | None = None
    published: bool = True

    @property
    def peak_lag(self) -> int | None:
        """The lag just before the end: p + w + d of the DVS paper; None for the first contents."""
        return None if self.before is None else self.end - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a simulation takes as given.

    `duration`: how long a refresh takes, by table, the data timestamp before (None: none) and the new one.
    `fault`: how a refresh fails, by table and data timestamp; None: it succeeds. `workers`: how many units
    are refreshed at once; None: all that are due.
    """

    duration: Callable[[str, int | None, int], int]
    fault: Callable[[str, int], Blame | None] = lambda table, timestamp: None
    workers: int | None = None
    rule: FailureRule = RULE


@dataclass(slots=True)
class Simulation:
    """A simulated account at one time. `now`: microseconds.

    `events`: a heap of what will happen, the nearest first: time, number (`pushed` counts them, for events of
    one time), unit, the refreshes that end then (None: the unit may try again), and when they started.
    `running`: how many units are refreshed now. `waiting`: units to ask when a worker is free. `by_period`:
    the units with a table of a period. `consumers`: by unit, the units that read one of its tables.
    """

    timetable: Timetable
    world: World
    observe: Callable[[Ran], None] = lambda ran: None
    now: int = 0
    states: dict[str, TableState] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=lambda: defaultdict(list))
    events: list[tuple[int, int, str, Due | None, int]] = field(default_factory=list)
    running: int = 0
    waiting: dict[str, None] = field(default_factory=dict)
    by_period: dict[int, list[str]] = field(init=False)
    consumers: dict[str, tuple[str, ...]] = field(init=False)
    pushed: int = 0

    def __post_init__(self) -> None:
        self.by_period = defaultdict(list)
        consumers: dict[str, dict[str, None]] = defaultdict(dict)
        for unit, members in self.timetable.units.items():
            for period in sorted({self.timetable.periods[m] for m in members if m in self.timetable.periods}):
                self.by_period[period].append(unit)
            for member in members:
                for consumer in self.timetable.graph.consumers[member]:
                    consumers[unit][self.timetable.unit_of[consumer]] = None
        self.consumers = {unit: tuple(below) for unit, below in consumers.items()}

    def run(self, until: int) -> None:
        """Runs to a time in microseconds: at every time of a period, and at the end of every refresh."""
        if not self.by_period:
            self.now = until
            return
        rhythm, least = self.timetable.rhythm, min(self.by_period)
        tick = rhythm.newest(least, self.now)
        tick += least if tick < self.now else 0
        while True:
            ended = self.events[0][0] if self.events else until + 1
            self.now = min(tick, ended)
            if self.now > until:
                self.now = until
                return
            touched: dict[str, None] = {}
            while self.events and self.events[0][0] == self.now:
                _, _, unit, ended_one, start = heapq.heappop(self.events)
                touched[unit] = None
                if ended_one is not None:
                    touched.update(dict.fromkeys(self._end(ended_one, start)))
            if self.now == tick:
                for period, units in self.by_period.items():
                    if rhythm.has(period, tick):
                        touched.update(dict.fromkeys(units))
                tick += least
            self._begin(touched)

    def _begin(self, units: Iterable[str]) -> None:
        """Starts what is due of some units and of those that wait, as far as there are workers."""
        self.waiting.update(dict.fromkeys(units))
        free = None if self.world.workers is None else self.world.workers - self.running
        if free is not None and free <= 0:
            return
        candidates, self.waiting = self.waiting, {}
        for each in due(self.timetable, self.states, self.now, candidates):
            if free is not None and free <= 0:
                self.waiting[each.unit] = None
                continue
            free = None if free is None else free - 1
            self._start(each)

    def _start(self, each: Due) -> None:
        """Starts the refreshes of a unit, one after another; one whose result is stored takes no time."""
        end = self.now
        for table, timestamp in each.steps:
            state = self.states.get(table, NEW)
            if state.own != timestamp:
                end += self.world.duration(table, state.own, timestamp)
            self.states[table] = replace(state, busy=True)
        self.running += 1
        self._push(end, each.unit, each)

    def _push(self, time: int, unit: str, ended: Due | None) -> None:
        """Adds an event of a unit at a time; see `events`."""
        self.pushed += 1
        heapq.heappush(self.events, (time, self.pushed, unit, ended, self.now))

    def _end(self, each: Due, start: int) -> Iterable[str]:
        """Ends the refreshes of a unit and returns the units for which that may make a difference."""
        self.running -= 1
        faults: dict[str, Blame | None] = {}
        for table, timestamp in each.steps:
            if any(faults.values()):
                break
            stored = self.states[table].own == timestamp
            faults[table] = None if stored else self.world.fault(table, timestamp)
        published = not any(faults.values())
        for table, timestamp in each.steps:
            state = self.states[table]
            fault = faults.get(table)
            if table in faults and state.own != timestamp:
                self.observe(Ran(table, timestamp, start, self.now, state.newest, fault, published))
            if fault is not None:
                self.failures[table].append(Failure(timestamp, self.now, fault))
            own = timestamp if table in faults and fault is None else state.own
            versions = (*state.versions[-KEPT_PER_TABLE:], timestamp) if published else state.versions
            if own == timestamp:
                self.failures.pop(table, None)
            after_failures = standing(self.failures.get(table, ()), own, self.world.rule)
            self.states[table] = TableState(
                versions=versions,
                own=own,
                failed=after_failures.failed,
                suspended=state.suspended or after_failures.suspended,
                retry_at=after_failures.retry_at,
            )
            if after_failures.retry_at is not None:
                self._push(after_failures.retry_at, each.unit, None)
        return (each.unit, *self.consumers.get(each.unit, ()), *self.waiting)


def simulated(
    timetable: Timetable, world: World, until: int, observe: Callable[[Ran], None] = lambda ran: None
) -> Mapping[str, TableState]:
    """Runs an account from time zero to `until` in microseconds; returns the state of each table then."""
    simulation = Simulation(timetable, world, observe)
    simulation.run(until)
    return simulation.states
