"""Directed graphs: components, short cycles, cheapest ways, orders of the vertices, and what reaches what.

Every cycle lies in one strongly connected component, so a search for cycles begins with the components. Of
arcs in an array each is a row: the vertex that it leaves, and the one that it enters.

SciPy finds components and searches in breadth. rustworkx would do both with less to load, but it takes arcs
as tuples of Python only: five million arcs took it 7.6 s and 1.0 GB, where SciPy takes 0.5 s and 0.2 GB. One
search stands elsewhere: that of `stated.core` stops at a time, and many searches share its budget.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# numpy and scipy are imported where they are used: to load scipy takes as long as to judge many histories,
# and the process that starts a campaign judges none.

Label = TypeVar("Label")

MOST_BYTES = 2**27
"""Memory for the rows of bits of `reachable`, 128 MB. A larger graph is looked at in several blocks."""


def strong_labels(tails: Iterable[int], heads: Iterable[int], vertices: int) -> list[int]:
    """Returns for each vertex the number, from 0, of its strongly connected component."""
    import numpy as np

    numbers: list[int] = component_labels(
        [np.fromiter(tails, np.int32)], [np.fromiter(heads, np.int32)], vertices
    ).tolist()
    return numbers


def labels_of(arcs: Sequence[NDArray[np.int64]], vertices: int) -> NDArray[np.int64]:
    """Returns for each vertex the number, from 0, of its strongly connected component; joins `arcs`."""
    return component_labels([each[:, 0] for each in arcs], [each[:, 1] for each in arcs], vertices)


def component_labels(
    tails: Sequence[NDArray[np.integer]], heads: Sequence[NDArray[np.integer]], vertices: int
) -> NDArray[np.int64]:
    """Returns for each vertex the number, from 0, of its strongly connected component; joins the batches."""
    import numpy as np
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    # SciPy's graphs are sparse matrices with 32-bit indexes: row is tail, column is head. Converted before
    # they are joined: there may be hundreds of millions of arcs. Each entry takes one byte; parallel arcs are
    # added up, and only whether an entry is there matters.
    nothing = np.empty(0, np.int32)
    rows, columns = (
        np.concatenate([nothing, *(each.astype(np.int32, copy=False) for each in ends)])
        for ends in (tails, heads)
    )
    matrix = csr_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(vertices, vertices))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return np.asarray(labels, np.int64)


def short_cycle(arcs: NDArray[np.int64], tries: int, through: NDArray[np.int64] | None = None) -> list[int]:
    """Returns the vertices of a short cycle of a graph; empty: it has none.

    Each vertex leads to the next one, and the last to the first. `through`: arcs of the graph of which one is
    on the cycle, the first one; by default any. The shortest cycle through an arc costs one search in
    breadth, so at most `tries` of the arcs that lie on cycles are tried, spread over all of them, for
    neighbours lie on the same cycles.
    """
    if not len(arcs):
        return []
    labels = labels_of([arcs], int(arcs.max()) + 1)
    inside = arcs[labels[arcs[:, 0]] == labels[arcs[:, 1]]]
    first = inside if through is None else through[labels[through[:, 0]] == labels[through[:, 1]]]
    ways, best = Ways(inside), list[int]()
    for tail, head in first[:: max(1, len(first) // tries)][:tries].tolist():
        way = ways.shortest(head, tail)
        if not best or len(way) < len(best):
            best = way
        if len(best) == 2:
            # Nothing is shorter: no arc leads from a vertex to itself.
            break
    # The way found leads from the head of the arc round to its tail. Let the tail come first.
    return best[-1:] + best[:-1]


class Ways:
    """A graph prepared for many questions "which is a shortest way from a to b?", by breadth-first search."""

    def __init__(self, arcs: NDArray[np.int64]) -> None:
        import numpy as np
        from scipy.sparse import csr_matrix

        # A search costs time for each vertex that there is, so only those with an arc are numbered.
        self.vertices, ends = np.unique(arcs, return_inverse=True)
        self.count = len(self.vertices)
        places = ends.reshape(-1, 2)
        ones = np.ones(len(places), np.int8)
        self.matrix = csr_matrix((ones, (places[:, 0], places[:, 1])), shape=(self.count, self.count))

    def shortest(self, start: int, goal: int) -> list[int]:
        """Returns the vertices of a shortest way with its ends; empty: there is none."""
        import numpy as np
        from scipy.sparse.csgraph import breadth_first_order

        first, last = (int(np.searchsorted(self.vertices, vertex)) for vertex in (start, goal))
        if max(first, last) >= self.count or (self.vertices[[first, last]] != (start, goal)).any():
            return []
        _, before = breadth_first_order(self.matrix, first, return_predecessors=True)
        way = [last]
        while way[-1] != first:
            previous = int(before[way[-1]])
            if previous < 0:
                return []
            way.append(previous)
        return [int(self.vertices[place]) for place in reversed(way)]


def topological(vertices: Iterable[int], below: Sequence[Collection[int]]) -> list[int]:
    """Returns vertices in an order in which every arc leads forward (Kahn's algorithm).

    If the graph has cycles, the vertices on them and those after them are missing in the result. `below`: the
    heads of arcs by tail, all among the vertices. (The standard library's graphlib costs three times as
    much.)
    """
    entering = dict.fromkeys(vertices, 0)
    for vertex in entering:
        for head in below[vertex]:
            entering[head] += 1
    order = [vertex for vertex, arcs in entering.items() if arcs == 0]
    # The list grows while it is walked: it is the queue as well.
    for vertex in order:
        for head in below[vertex]:
            entering[head] -= 1
            if entering[head] == 0:
                order.append(head)
    return order


def cheapest_way(
    ways: Sequence[Sequence[tuple[int, Label, bool]]] | Mapping[int, Sequence[tuple[int, Label, bool]]],
    start: int,
    goal: int,
    *,
    plain: bool = False,
    closing: Mapping[int, Label] | None = None,
    spend: Callable[[], None] = lambda: None,
) -> list[tuple[int, Label]] | None:
    """Returns the steps of a cheapest way: each vertex after the start, with the label of the arc to it.

    None: there is none. `ways`: by vertex its arcs: head, label, and whether the arc costs 1 or nothing. It
    is a search in breadth with a queue that has two ends. `plain`: every arc costs 1; then the search ends as
    soon as it sees the goal, since nothing that is seen later is nearer. `closing`: the labels of further
    arcs to the goal by their tails. `spend`: called for each vertex that is visited.
    """
    closing = closing or {}
    parent, cost = dict[int, tuple[int, Label]](), {start: 0}
    done, queue = set[int](), deque([start])
    while queue:
        vertex = queue.popleft()
        if vertex in done:
            continue
        if vertex == goal:
            break
        done.add(vertex)
        spend()
        for head, label, costs in ways[vertex]:
            if cost[vertex] + costs < cost.get(head, cost[vertex] + 2):
                cost[head] = cost[vertex] + costs
                parent[head] = vertex, label
                if head in closing and goal not in parent:
                    parent[goal] = head, closing[head]
                if plain and goal in parent:
                    queue.clear()
                    break
                # The queue is ordered by cost: what costs nothing more comes first.
                if costs:
                    queue.append(head)
                else:
                    queue.appendleft(head)
    if goal not in parent and goal != start:
        return None
    steps, vertex = list[tuple[int, Label]](), goal
    while vertex != start:
        before, label = parent[vertex]
        steps.append((vertex, label))
        vertex = before
    return steps[::-1]


def order_of(count: int, arcs: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Returns the vertices in an order in which every arc leads forward; None: some arcs close a cycle."""
    import numpy as np

    by_tail = np.argsort(arcs[:, 0], kind="stable")
    starts = np.searchsorted(arcs[by_tail, 0], np.arange(count + 1)).tolist()
    heads = arcs[by_tail, 1].tolist()
    order = topological(range(count), [heads[a:b] for a, b in pairwise(starts)])
    return np.array(order, np.int64) if len(order) == count else None


def reachable(
    order: NDArray[np.int64], arcs: NDArray[np.int64], pairs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Returns one bool per pair: whether its first vertex reaches its second one, or is the same vertex.

    Each vertex gets a row of bits, one for each second vertex; the row is the union of the rows of its
    successors. That costs arcs times second vertices / 64 operations on words, and no search for each pair.
    `order`: all vertices, in an order in which every arc leads forward.
    """
    import numpy as np

    answers = np.zeros(len(pairs), np.bool_)
    count = len(order)
    # Rename vertices to their places in the order: then an arc always leads to a larger number.
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    tails, heads = place[arcs[:, 0]], place[arcs[:, 1]]
    by_tail = np.argsort(tails, kind="stable")
    heads = heads[by_tail]
    starts = np.searchsorted(tails[by_tail], np.arange(count + 1)).tolist()
    sources = place[pairs[:, 0]]
    goals, column = np.unique(place[pairs[:, 1]], return_inverse=True)
    by_goal = np.argsort(column, kind="stable")
    # Goals of one block: whole words of 64 bits, and not more than MOST_BYTES for all rows.
    width = max(64, MOST_BYTES * 8 // max(1, count) // 64 * 64)
    for begin in range(0, len(goals), width):
        rows = _rows(heads, starts, goals[begin : begin + width])
        first, last = np.searchsorted(column[by_goal], (begin, begin + width)).tolist()
        wanted = by_goal[first:last]
        bit = column[wanted] - begin
        # Bit `bit` is in word bit // 64, at place bit % 64. There are no rows for places behind the last
        # goal: they reach none. The minimum only keeps the index valid; the last line masks it.
        words = rows[np.minimum(sources[wanted], len(rows) - 1), bit >> 6]
        bits = (words >> (bit & 63).astype(np.uint64)) & np.uint64(1)
        answers[wanted] = (bits != 0) & (sources[wanted] < len(rows))
    return answers


def _rows(heads: NDArray[np.int64], starts: list[int], goals: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Returns a row of bits per place up to the last goal: which of some goals it reaches.

    `goals`: places in ascending order. Places behind the last one reach none of them.
    """
    import numpy as np

    end = int(goals[-1]) + 1
    rows = np.zeros((end, (len(goals) + 63) // 64), np.uint64)
    bit = np.arange(len(goals))
    rows[goals, bit >> 6] = np.uint64(1) << (bit & 63).astype(np.uint64)
    # Arcs lead to larger places, so from the last place to the first each row finds those it needs complete.
    for at in range(end - 1, -1, -1):
        low, high = starts[at], starts[at + 1]
        inside = heads[low:high]
        inside = inside[inside < end]
        if len(inside):
            rows[at] |= np.bitwise_or.reduce(rows[inside], axis=0)
    return rows
