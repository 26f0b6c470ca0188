"""The difference of two derived versions: the base versions behind one of them and not behind the other.

For example u2 derived from x1 and y1, and u3 from x1 and y3: only y1 is behind u2 alone, only y3 behind u3.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import TypeVar

V = TypeVar("V")


def difference(
    first: V, second: V, event_of: Callable[[V], int], sources: Callable[[V], Sequence[V] | None]
) -> tuple[list[V], list[V]]:
    """Returns the base versions behind only the first of two derived versions, and only the second.

    Walks from new versions to old ones, and stops when all pending ones are behind both, because the rest is
    common. So it costs the difference, not the transitive closure, where the two share their past. Flags are
    bits: 1: behind the first, 2: behind the second, 3: behind both. `single`: how many pending versions have
    one bit only. `event_of`: the number of the event that makes a version. `sources`: the versions from which
    a version derives; None: it is a base version.
    """
    flags = {first: 1, second: 2}
    heap = [(-event_of(version), version) for version in flags]
    heapq.heapify(heap)
    single = 2
    sides: tuple[list[V], list[V]] = ([], [])
    while single:
        _, version = heapq.heappop(heap)
        # Sources are older than what derives from them, so the flags of this version are final now.
        flag = flags[version]
        single -= flag != 3
        below = sources(version)
        if below is None:
            if flag != 3:
                sides[flag - 1].append(version)
            continue
        for source in below:
            old = flags.get(source, 0)
            new = old | flag
            if old == 0:
                heapq.heappush(heap, (-event_of(source), source))
                single += new != 3
            elif old != 3 and new == 3:
                # It was pending on one side alone, and is common now.
                single -= 1
            flags[source] = new
    return sides
