"""Answer "does vertex a reach vertex b?" for many pairs at once, in a graph without cycles.

Each vertex gets a row of bits, one for each vertex that it reaches; the row is the union of the rows of its
successors. That costs vertices times arcs / 64 operations on words, and no search for each pair. The search
for a serial order (`clients.ordering`) asks it of every open arc in each round.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import topological

MOST_BYTES = 2**27
"""Memory for the rows of bits, 128 MB. For a larger graph the columns are computed in several blocks."""

Rows = NDArray[np.uint64]


def order_of(count: int, arcs: Arcs) -> Ints | None:
    """Returns the vertices in an order in which every arc leads forward; None: some arcs close a cycle."""
    by_tail = np.argsort(arcs[:, 0], kind="stable")
    starts = np.searchsorted(arcs[by_tail, 0], np.arange(count + 1)).tolist()
    heads = arcs[by_tail, 1].tolist()
    order = topological(range(count), [heads[a:b] for a, b in pairwise(starts)])
    return np.array(order, np.int64) if len(order) == count else None


def reachable(order: Ints, arcs: Arcs, pairs: Arcs) -> Bools:
    """Returns one bool per pair: whether its first vertex reaches its second one, or is the same vertex.

    `order`: all vertices, in an order in which every arc leads forward.
    """
    count = len(order)
    answers = np.zeros(len(pairs), np.bool_)
    if not len(pairs):
        return answers
    # Rename vertices to their places in the order: then an arc always leads to a larger number.
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    tails, heads = place[arcs[:, 0]], place[arcs[:, 1]]
    by_tail = np.argsort(tails, kind="stable")
    heads = heads[by_tail]
    starts = np.searchsorted(tails[by_tail], np.arange(count + 1)).tolist()
    sources, goals = place[pairs[:, 0]], place[pairs[:, 1]]
    by_goal = np.argsort(goals, kind="stable")
    # Columns of one block: whole words of 64 bits, at least one, and not more than MOST_BYTES for all rows.
    width = max(64, min(count + 63, MOST_BYTES * 8 // max(1, count)) // 64 * 64)
    for begin in range(0, count, width):
        first, last = np.searchsorted(goals[by_goal], (begin, begin + width)).tolist()
        if first == last:
            continue
        wanted = by_goal[first:last]
        rows = _rows(heads, starts, begin, min(width, count - begin))
        column = goals[wanted] - begin
        # Bit `column` is in word column // 64, at place column % 64. There are no rows for places behind the
        # block: they reach nothing in it. The minimum only keeps the index valid; the last line masks it.
        words = rows[np.minimum(sources[wanted], len(rows) - 1), column >> 6]
        bits = (words >> (column & 63).astype(np.uint64)) & np.uint64(1)
        answers[wanted] = (bits != 0) & (sources[wanted] < len(rows))
    return answers


def _rows(heads: Ints, starts: list[int], begin: int, width: int) -> Rows:
    """Returns a row of bits per place before `begin + width`: which places of the block it reaches.

    The block are the `width` places from `begin` on. Places behind it reach none of them.
    """
    end = begin + width
    rows = np.zeros((end, (width + 63) // 64), np.uint64)
    # Arcs lead to larger places, so from the last place to the first each row finds those it needs complete.
    for at in range(end - 1, -1, -1):
        low, high = starts[at], starts[at + 1]
        inside = heads[low:high]
        inside = inside[inside < end]
        if len(inside):
            np.bitwise_or.reduce(rows[inside], axis=0, out=rows[at])
        if at >= begin:
            rows[at, (at - begin) >> 6] |= np.uint64(1 << ((at - begin) & 63))
    return rows
