"""Refresh periods: 48 seconds times a power of two, one phase for the account (DVS paper, section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dynamic_tables.schedule.graph import Graph
from dynamic_tables.schedule.group import RefreshGroup, is_repeatable, units
from dynamic_tables.schedule.lag import SECOND, effective_lags, least

PERIOD = 48 * SECOND
"""The canonical period from which the others come by doubling and halving, in microseconds."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The times at which the tables of an account may be refreshed.

    All periods are `unit` times a power of two and all begin at `phase`, so the times of a longer period are
    times of each shorter one: data timestamps of tables with different lags align. All in microseconds.
    """

    unit: int = PERIOD
    phase: int = 0

    def period(self, below: int) -> int:
        """Returns the greatest canonical period that is less than a duration; at least one microsecond."""
        period = self.unit
        while period * 2 < below:
            period *= 2
        while period >= below and period % 2 == 0:
            period //= 2
        return period

    def newest(self, period: int, now: int) -> int:
        """Returns the newest time of a period that is not after `now`."""
        return now - (now - self.phase) % period

    def has(self, period: int, timestamp: int) -> bool:
        """Tells whether a time is one of a period."""
        return (timestamp - self.phase) % period == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """When each table is refreshed.

    `periods` in microseconds; a table that no schedule refreshes has none. `units`: what is refreshed
    together, each unit after those that it reads. `lags`: the lag that each table is kept to.
    """

    graph: Graph
    rhythm: Rhythm
    groups: Mapping[str, RefreshGroup]
    periods: Mapping[str, int]
    lags: Mapping[str, int | None]
    units: Mapping[str, tuple[str, ...]]
    unit_of: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        unit_of = {member: unit for unit, members in self.units.items() for member in members}
        object.__setattr__(self, "unit_of", unit_of)

    def group_of(self, unit: str) -> RefreshGroup | None:
        """Returns the group that a unit is; None for a table of its own."""
        return self.groups.get(unit.removeprefix("group ")) if unit.startswith("group ") else None


def timetable(
    graph: Graph,
    rhythm: Rhythm,
    groups: Mapping[str, RefreshGroup] | None = None,
    durations: Mapping[str, int] | None = None,
) -> Timetable:
    """Returns the periods of all tables of a graph.

    A table's period p is the greatest canonical one with p + w + d < t: t its target lag, d the duration of
    its refresh (`durations`, microseconds, zero where unknown), w the time until its upstream tables are
    refreshed. It is not shorter than the periods of the tables that it reads; a table without a lag of its
    own has the shortest period of those that read it. If no period meets the lag, it is `rhythm.unit`.
    """
    grouping = groups or {}
    lags, together = effective_lags(graph, grouping), units(graph, grouping)
    wanted = _wanted(graph, rhythm, lags, durations or {}, together, grouping)
    periods: dict[str, int] = {}
    for unit, members in together.items():
        repeatable = is_repeatable(unit, grouping)
        shared = least(wanted.get(member) for member in members) if repeatable else None
        for member in members:
            period = shared if shared is not None else wanted.get(member)
            if period is not None:
                above = (periods[up] for up in graph.tables[member].upstream if up in periods)
                periods[member] = max((period, *above))
        if shared is not None:
            periods.update(dict.fromkeys(members, max(periods[member] for member in members)))
    return Timetable(graph=graph, rhythm=rhythm, groups=grouping, periods=periods, lags=lags, units=together)


def _wanted(
    graph: Graph,
    rhythm: Rhythm,
    lags: Mapping[str, int | None],
    durations: Mapping[str, int],
    together: Mapping[str, tuple[str, ...]],
    groups: Mapping[str, RefreshGroup],
) -> dict[str, int]:
    """Returns the period that each table wants for itself and for those that read it."""
    waits: dict[str, int] = {}
    for name in graph.order:
        above = (up for up in graph.tables[name].upstream if up in waits)
        waits[name] = max((waits[up] + durations.get(up, 0) for up in above), default=0)
    wanted: dict[str, int] = {}
    for unit, members in reversed(tuple(together.items())):
        for name in reversed(members):
            own = graph.tables[name].target_lag
            if own is None:
                below = least(wanted.get(consumer) for consumer in graph.consumers[name])
                if below is not None:
                    wanted[name] = below
                continue
            period = rhythm.period(max(own - waits[name] - durations.get(name, 0), 1))
            wanted[name] = max(period, min(rhythm.unit, rhythm.period(own)))
        shared = least(wanted.get(name) for name in members)
        if shared is not None and is_repeatable(unit, groups):
            wanted.update({name: shared for name in members if name not in wanted})
    return wanted
