"""When transactions began and ended, as an array, and the pairs that real time orders.

"a ended before b began" is an interval order; strict levels must keep it.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dvs_model.observed.seen import Window

Windows = NDArray[np.float64]
"""A row (begin, end) per transaction; NaN: not known."""


def window_of(time: Windows, index: int) -> Window | None:
    """Returns when one transaction began and ended."""
    return None if np.isnan(time[index, 0]) else Window(float(time[index, 0]), float(time[index, 1]))


def time_pairs(of: Windows) -> list[tuple[int, int]]:
    """Returns pairs of transactions of which the first one ended before the second one began.

    They are few, and all others follow from them: a pair is left out if a third transaction lies between,
    which began after the first one ended and ended before the second one began.
    """
    rows = np.flatnonzero(~np.isnan(of[:, 0]))
    timed = [(Window(*of[index].tolist()), index) for index in rows.tolist()]
    by_end = sorted((window.end, window.begin, index) for window, index in timed)
    ends = [end for end, _, _ in by_end]
    # The latest beginning among the transactions up to each end.
    latest = list(accumulate((begin for _, begin, _ in by_end), max))
    pairs = []
    for window, index in timed:
        count = bisect_left(ends, window.begin)
        if count:
            # Transactions 0 to count - 1, by their ends, ended before this one began. Those among them that
            # ended before another of these began come before that one, and need no pair of their own.
            first = bisect_left(ends, latest[count - 1], 0, count)
            pairs += [(by_end[at][2], index) for at in range(first, count)]
    return pairs
