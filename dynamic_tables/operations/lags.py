"""Statistics of a table's lag over a time: the lag is a sawtooth (DVS paper, section 5.2, figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LagSummary:
    """The lag of a table over a time, in microseconds, each moment counted alike.

    `within`: the share of the time in which the lag was less than the target; None without a target.
    """

    mean: float
    median: float
    percentile_95: float
    maximum: int
    within: float | None


def lag_summary(refreshes: Sequence[tuple[int, int]], now: int, target: int | None) -> LagSummary | None:
    """Returns the lag from the end of the first refresh until `now`; None if there was no refresh or no time.

    `refreshes`: end and data timestamp of each, in the order of their ends. Between two ends the lag grows by
    one second a second, from the end minus the data timestamp that was published then.
    """
    ends = [end for end, _ in refreshes[1:]] + [now]
    teeth = [
        (start - timestamp, end - timestamp)
        for (start, timestamp), end in zip(refreshes, ends, strict=False)
        if end > start
    ]
    total = sum(high - low for low, high in teeth)
    if not total:
        return None

    return LagSummary(
        mean=sum((high * high - low * low) / 2 for low, high in teeth) / total,
        median=_percentile(teeth, total / 2),
        percentile_95=_percentile(teeth, total * 0.95),
        maximum=max(high for _, high in teeth),
        within=None if target is None else _time_below(teeth, target) / total,
    )


def _time_below(teeth: Sequence[tuple[int, int]], lag: int) -> int:
    """Returns how long the table was below a lag. `teeth`: the lag at the beginning and end of each rise."""
    return sum(min(max(lag - low, 0), high - low) for low, high in teeth)


def _percentile(teeth: Sequence[tuple[int, int]], time: float) -> float:
    """Returns the lag below which the table was for this long.

    The time below a lag grows with the lag, by one for each tooth that has this lag: one pass over the
    ends of all teeth, in their order, finds it.
    """
    ends = sorted([(low, 1) for low, _ in teeth] + [(high, -1) for _, high in teeth])
    reached, before, running = 0, ends[0][0], 0
    for end, change in ends:
        gained = running * (end - before)
        if running and reached + gained >= time:
            return before + (time - reached) / running
        reached, before, running = reached + gained, end, running + change
    return float(before)
