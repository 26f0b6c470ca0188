"""Target lags: how old a table may become, as a duration or as DOWNSTREAM (DVS paper, section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from dynamic_tables.errors import DefinitionError
from dynamic_tables.schedule.graph import Graph
from dynamic_tables.schedule.group import RefreshGroup, is_repeatable, units

SECOND = 1_000_000
"""Microseconds in a second."""

MINIMUM_LAG = 60 * SECOND
"""The least target lag of an account on real time, in microseconds (DVS paper, section 3.2)."""

UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
"""The seconds of each unit in the text of a target lag, ascending."""

TEXT = re.compile(r"\s*(\d+)\s+(second|minute|hour|day)s?\s*", re.IGNORECASE)
"""The text of a target lag: a number and a unit."""

Lag = int | str | timedelta | None
"""A target lag as users give it: microseconds, a text such as '5 minutes', a timedelta, or None."""


def read_lag(table: str, lag: Lag, minimum: int) -> int | None:
    """Returns a target lag in microseconds; None for DOWNSTREAM. Raises DefinitionError.

    Example: `read_lag("totals", "2 minutes", MINIMUM_LAG)` is 120,000,000.
    """
    match lag:
        case None:
            return None
        case str() if lag.strip().upper() == "DOWNSTREAM":
            return None
        case str():
            matched = TEXT.fullmatch(lag)
            if matched is None:
                raise DefinitionError(
                    f"target lag of {table} is {lag!r}; write a number and seconds, minutes, hours or days, "
                    "such as '5 minutes', or DOWNSTREAM"
                )
            micros = int(matched[1]) * UNITS[matched[2].lower()] * SECOND
        case timedelta():
            micros = lag // timedelta(microseconds=1)
        case int() if not isinstance(lag, bool):
            micros = lag
        case _:
            raise DefinitionError(
                f"target lag of {table} is {lag!r}; give microseconds as an int, a text such as '5 minutes', "
                "or DOWNSTREAM"
            )
    if micros < minimum:
        raise DefinitionError(
            f"target lag of {table} is {shown(micros)}; the least is {shown(minimum)}, else use DOWNSTREAM"
        )
    return micros


def shown(micros: int | None) -> str:
    """Returns a duration as a person would write it: '2 minutes', '90 seconds', '12 microseconds'."""
    if micros is None:
        return "DOWNSTREAM"
    for name, seconds in reversed(UNITS.items()):
        count, rest = divmod(micros, seconds * SECOND)
        if count and not rest:
            return f"{count} {name}{'' if count == 1 else 's'}"
    if abs(micros) >= SECOND:
        return f"{micros / SECOND:.1f} seconds"
    return f"{micros} microsecond{'' if micros == 1 else 's'}"


def effective_lags(graph: Graph, groups: Mapping[str, RefreshGroup]) -> Mapping[str, int | None]:
    """Returns the target lag that each table is kept to; None for one that no schedule refreshes.

    DOWNSTREAM is the least lag of the tables that read the table, at any depth; without such a table it is
    the least lag in a group with repeatable reads; else nothing refreshes the table but a command.
    """
    lags: dict[str, int | None] = {}
    for unit, members in reversed(tuple(units(graph, groups).items())):
        for name in reversed(members):
            own = graph.tables[name].target_lag
            lags[name] = own if own is not None else least(lags[each] for each in graph.consumers[name])
        if is_repeatable(unit, groups):
            shared = least(lags[name] for name in members)
            lags.update({name: shared for name in members if lags[name] is None})
    return lags


def least(values: Iterable[int | None]) -> int | None:
    """Returns the least of some numbers; None if there is none."""
    return min((value for value in values if value is not None), default=None)


def initialization_timestamp(
    upstream: Mapping[str, Sequence[int]], now: int, target_lag: int | None, oldest: int | None = None
) -> int:
    """Returns the newest data timestamp that every upstream table has within the target lag, else `now`
    (DVS paper, section 3.1.2).

    `upstream`: the data timestamps of each upstream dynamic table. All times in microseconds; a target lag
    of None (DOWNSTREAM) allows any age. `oldest`: the earliest time at which all base tables exist. So a
    chain of tables that is created in order of dependency is not refreshed again for each new table.
    """
    if not upstream:
        return now
    shared = set.intersection(*(set(timestamps) for timestamps in upstream.values()))
    exists = [t for t in shared if oldest is None or t >= oldest]
    within = [t for t in exists if target_lag is None or now - t <= target_lag]
    return max(within, default=now)
