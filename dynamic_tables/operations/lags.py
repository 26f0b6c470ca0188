"""How old a table was over a time: the sawtooth of its lag, summed up (DVS paper, section 5.2, figure 4)."""

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

    def below(lag: float) -> float:
        return sum(min(max(lag - low, 0), high - low) for low, high in teeth) / total

    def percentile(share: float) -> float:
        low, high = float(min(low for low, _ in teeth)), float(max(high for _, high in teeth))
        # Half a microsecond is near enough; the function is continuous and grows.
        while high - low > 0.5:
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) < share else (low, middle)
        return high

    return LagSummary(
        mean=sum((high * high - low * low) / 2 for low, high in teeth) / total,
        median=percentile(0.5),
        percentile_95=percentile(0.95),
        maximum=max(high for _, high in teeth),
        within=None if target is None else below(target),
    )
