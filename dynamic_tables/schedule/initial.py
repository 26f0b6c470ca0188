"""The data timestamp of an initialization (DVS paper, section 3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def initialization_timestamp(
    upstream: Mapping[str, Sequence[int]], now: int, target_lag: int | None, oldest: int | None = None
) -> int:
    """Returns the newest data timestamp that every upstream table has within the target lag, else `now`.

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
