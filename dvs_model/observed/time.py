"""When transactions began and ended, as an array."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dvs_model.observed.seen import Window

Windows = NDArray[np.float64]
"""By transaction its begin and its end; NaN: not known."""


def window_of(time: Windows, index: int) -> Window | None:
    """Returns when one transaction began and ended."""
    return None if np.isnan(time[index, 0]) else Window(float(time[index, 0]), float(time[index, 1]))


def time_pairs(of: Windows) -> list[tuple[int, int]]:
    """Returns pairs of which the first one ended before the second one began; they imply all others."""
    known = np.flatnonzero(~np.isnan(of[:, 0]))
    timed = [(Window(*of[index].tolist()), index) for index in known.tolist()]
    by_end = sorted((window.end, window.begin, index) for window, index in timed)
    ends = [end for end, _, _ in by_end]
    # The latest beginning among the transactions up to each end.
    latest = list(accumulate((begin for _, begin, _ in by_end), max))
    pairs = []
    for window, index in timed:
        count = bisect_left(ends, window.begin)
        if count:
            # Who ended before one of these began is before it already.
            first = bisect_left(ends, latest[count - 1], 0, count)
            pairs += [(by_end[at][2], index) for at in range(first, count)]
    return pairs
