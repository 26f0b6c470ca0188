"""Directed graphs as arcs between numbered vertices: components, short cycles, and an order of the vertices.

Every cycle lies in one strongly connected component, so a search for cycles begins with the components. Of
arcs in an array each is a row: the vertex that it leaves, and the one that it enters.

Two searches stand elsewhere: `analysis.search`, whose ways pass moments that cost nothing, and `stated.core`,
which stops at a time and has a budget for all its searches together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# numpy and scipy are imported where they are used: to load scipy takes as long as to judge many histories,
# and the process that starts a campaign judges none.


def strong_labels(tails: Iterable[int], heads: Iterable[int], vertices: int) -> list[int]:
    """Returns for each vertex the number, from 0, of its strongly connected component."""
    import numpy as np

    numbers: list[int] = component_labels(
        np.fromiter(tails, np.int32), np.fromiter(heads, np.int32), vertices
    ).tolist()
    return numbers


def component_labels(
    tails: NDArray[np.integer], heads: NDArray[np.integer], vertices: int
) -> NDArray[np.int64]:
    """Returns for each vertex the number, from 0, of its strongly connected component, as an array."""
    import numpy as np
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    # SciPy's graphs are sparse matrices with 32-bit indexes: row is tail, column is head. Each entry takes
    # one byte; parallel arcs are added up, and only whether an entry is there matters.
    arcs = tails.astype(np.int32, copy=False), heads.astype(np.int32, copy=False)
    matrix = csr_matrix((np.ones(len(arcs[0]), np.int8), arcs), shape=(vertices, vertices))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return np.asarray(labels, np.int64)


def labels_of(arcs: Sequence[NDArray[np.int64]], vertices: int) -> NDArray[np.int64]:
    """Returns for each vertex the number, from 0, of its strongly connected component; joins `arcs`."""
    import numpy as np

    # Converted to 32 bits before they are joined: there may be hundreds of millions of arcs.
    nothing = np.empty(0, np.int32)
    tails = np.concatenate([nothing, *(each[:, 0].astype(np.int32, copy=False) for each in arcs)])
    heads = np.concatenate([nothing, *(each[:, 1].astype(np.int32, copy=False) for each in arcs)])
    return component_labels(tails, heads, vertices)


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
