"""The scheduler: a pure function from the state of all tables and the time to the refreshes that are due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dynamic_tables.schedule.group import Isolation, RefreshGroup
from dynamic_tables.schedule.timetable import Timetable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a scheduler knows of one table; all times in microseconds.

    `versions`: the data timestamps that readers may see, ascending; older ones may be missing. `own`: the
    newest data timestamp that is stored, which a group may not have published yet. `failed`: the newest data
    timestamp at which the query failed. `suspended`: by a user, or after too many failures. `busy`: a refresh
    of it runs. `retry_at`: no refresh before this time, because the system failed. `earliest`: the first data
    timestamp at which all that it reads exists; None: any.
    """

    versions: Sequence[int] = ()
    own: int | None = None
    failed: int | None = None
    suspended: bool = False
    busy: bool = False
    retry_at: int | None = None
    earliest: int | None = None

    @property
    def newest(self) -> int | None:
        """The data timestamp that readers see; None before the first contents."""
        return self.versions[-1] if self.versions else None


@dataclass(frozen=True, slots=True)
class Due:
    """Refreshes that are due as one: of one table, or of a group, whose members are then published together.

    `unit`: the unit of the timetable. `steps`: tables and data timestamps, each table after those it reads.
    `group`: the group as it is when the refreshes begin; None: a table in no group.
    """

    unit: str
    steps: tuple[tuple[str, int], ...]
    group: RefreshGroup | None = None


NEW = TableState()
"""The state of a table that was never refreshed."""


def due(
    timetable: Timetable, states: Mapping[str, TableState], now: int, among: Iterable[str] | None = None
) -> Sequence[Due]:
    """Returns the refreshes that may begin now, none of which reads another one's result.

    A refresh is due at the newest time of the table's period at which every table that it reads has a
    version, if the table has none then or later. Times between are skipped, and their changes enter all the
    same: the interval of a refresh begins where the table stands. Not skipped is the newest time of the
    period of a table below, which could not be refreshed without it (`_needed`). A data timestamp at which
    the query failed is not tried again; the next one is.

    `among`: only these units, for a caller that knows what has changed.
    """
    units = timetable.units if among is None else among
    found = (_due(timetable, unit, states, now) for unit in units)
    return [each for each in found if each is not None]


def _due(timetable: Timetable, unit: str, states: Mapping[str, TableState], now: int) -> Due | None:
    """Returns the refreshes of one unit that are due; None if there are none."""
    members = timetable.units[unit]
    for member in members:
        state = states.get(member, NEW)
        waits = state.retry_at is not None and now < state.retry_at
        if state.busy or waits or (state.suspended and len(members) > 1):
            return None
    group = timetable.group_of(unit)
    if group is not None and group.isolation is Isolation.REPEATABLE_READ:
        return _due_at_one_time(timetable, unit, group, states, now)
    # What one member of a group could not do, the others do not publish without it.
    refused = max((f for m in members if (f := states.get(m, NEW).failed) is not None), default=None)
    steps: list[tuple[str, int]] = []
    planned: dict[str, int] = {}
    for member in members:
        timestamp = _newest_time(timetable, member, states, now, planned, refused)
        if timestamp is not None:
            planned[member] = timestamp
            steps.append((member, timestamp))
    return Due(unit, tuple(steps), group) if steps else None


def _newest_time(
    timetable: Timetable,
    name: str,
    states: Mapping[str, TableState],
    now: int,
    planned: Mapping[str, int],
    refused: int | None,
) -> int | None:
    """Returns the data timestamp at which a table is due, after `refused`; None if it is not."""
    state = states.get(name, NEW)
    period = timetable.periods.get(name)
    if period is None or state.suspended:
        return None
    upstream = [up for up in timetable.graph.tables[name].upstream if up in timetable.graph.tables]
    # What is stored and not published is not gone back behind; at its own time it is published.
    stored = None if state.own is None else state.own - 1
    times = (state.newest, refused, _before(state), stored)
    after = max((time for time in times if time is not None), default=None)
    seen = [_seen(up, states, planned) for up in upstream]
    return _chosen(timetable, (name,), states, now, period, seen, after)


def _due_at_one_time(
    timetable: Timetable, unit: str, group: RefreshGroup, states: Mapping[str, TableState], now: int
) -> Due | None:
    """Returns the refreshes of a group with repeatable reads, all to one data timestamp; None: not due."""
    members = timetable.units[unit]
    period = timetable.periods.get(members[0])
    if period is None:
        return None
    tables = timetable.graph.tables
    outside = {up for member in members for up in tables[member].upstream if up in tables} - set(members)
    of_members = [states.get(member, NEW) for member in members]
    seen = [_seen(up, states, {}) for up in sorted(outside)]
    timestamp = _chosen(timetable, members, states, now, period, seen, _after(of_members))
    if timestamp is None:
        return None
    return Due(unit, tuple((member, timestamp) for member in members), group)


def _after(members: Sequence[TableState]) -> int | None:
    """Returns the time after which the refresh of a group must be.

    That is the oldest contents that readers see, the newest failure, and what is stored but not published: a
    member does not go back, and one that has the data timestamp already is not refreshed again.
    """
    times = [state.failed for state in members if state.failed is not None]
    times += [before for state in members if (before := _before(state)) is not None]
    times += [state.own - 1 for state in members if state.own is not None]
    seen = [state.newest for state in members if state.newest is not None]
    if len(seen) == len(members):
        times.append(min(seen))
    return max(times, default=None)


def _chosen(
    timetable: Timetable,
    members: Sequence[str],
    states: Mapping[str, TableState],
    now: int,
    period: int,
    upstream: Sequence[Sequence[int]],
    after: int | None,
) -> int | None:
    """Returns the data timestamp at which tables of one period are due, after `after`; None: they are not.

    `upstream`: the data timestamps of each table that they read.
    """
    limit = timetable.rhythm.newest(period, now)
    # Only a table that is late skips times. After an error it is not tried at more of them than it must be.
    late = after is not None and limit - after > period
    if after is not None and late and all(states.get(each, NEW).failed is None for each in members):
        for needed in sorted(_needed(timetable, members, states, now, after)):
            if needed < limit and _common(timetable, period, upstream, after, needed) == needed:
                return needed
    return _common(timetable, period, upstream, after, limit)


def _needed(
    timetable: Timetable, members: Sequence[str], states: Mapping[str, TableState], now: int, after: int
) -> set[int]:
    """Returns the times after `after` that tables below some tables need of them: the newest of each period.

    A table whose refreshes take longer than its period, or wait for those of others, may be refreshed at no
    time of a longer period, and a table below with that period would wait for ever.
    """
    # For each table the time after which everything from the members down to it stands.
    bounds = dict.fromkeys(members, after)
    todo = list(members)
    while todo:
        name = todo.pop()
        for consumer in timetable.graph.consumers[name]:
            state = states.get(consumer, NEW)
            if state.suspended or consumer not in timetable.periods:
                continue
            bound = max(time for time in (bounds[name], state.newest, state.failed) if time is not None)
            if bound < bounds.get(consumer, bound + 1):
                bounds[consumer] = bound
                todo.append(consumer)
    newest = {name: timetable.rhythm.newest(timetable.periods[name], now) for name in bounds}
    return {time for name, time in newest.items() if time > bounds[name]}


def _before(state: TableState) -> int | None:
    """Returns the last time at which something that a table reads did not exist yet."""
    return None if state.earliest is None else state.earliest - 1


def _seen(name: str, states: Mapping[str, TableState], planned: Mapping[str, int]) -> Sequence[int]:
    """Returns the data timestamps at which a table can be read, with the one that `planned` has for it."""
    versions = states.get(name, NEW).versions
    return (*versions, planned[name]) if name in planned else versions


def _common(
    timetable: Timetable, period: int, upstream: Sequence[Sequence[int]], after: int | None, limit: int
) -> int | None:
    """Returns the newest time of a period, after `after` and up to `limit`, that all upstream tables have."""
    if not upstream:
        return limit if after is None or limit > after else None
    first, others = upstream[0], upstream[1:]
    for timestamp in reversed(first):
        if after is not None and timestamp <= after:
            return None
        on_time = timestamp <= limit and timetable.rhythm.has(period, timestamp)
        if on_time and all(timestamp in other for other in others):
            return timestamp
    return None
