"""The data timestamp of an initialization (DVS paper, section 3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def initialization_timestamp(upstream: Mapping[str, Sequence[int]], now: int, target_lag: int | None) -> int:
    """The newest data timestamp that every upstream dynamic table has, if within the target lag; else now.

    `upstream`: data timestamps of each upstream table. With no target lag of its own (DOWNSTREAM) a table
    takes any age. Creating a chain of tables in dependency order then refreshes nothing twice.
    """
    if not upstream:
        return now
    shared = set.intersection(*(set(timestamps) for timestamps in upstream.values()))
    within = [t for t in shared if target_lag is None or now - t <= target_lag]
    # An older version is out of reach once its table has moved on: what is refreshed next must be newer.
    return max(within, default=now)
