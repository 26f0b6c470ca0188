"""Cycles in a graph of explicit edges: reachability for many pairs at once, and shortest ways back.

The vertices are transactions and, where time counts, a chain of moments that stands for all pairs "commits
before the start of". Simple cycles are never enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from dvs_model.graph.cycles import cheapest_way, labels_of, order_of, reachable
from dvs_model.graph.edges import Budget, Edge
from dvs_model.graph.graph import Kind
from dvs_model.histories.clock import Clock, moments

BLOCK = 2048
"""First vertices of pairs that `reaches` counts as one pass, which costs the budget one step per vertex."""

CHEAP = 2_000
"""Candidates times vertices up to which a search from each candidate beats `reaches` for all (measured)."""

TRIES = 10
"""Edges through which a shortest cycle is searched in a large web; the smallest of these cycles is shown."""

SMALL_SEARCH = 500_000
"""Edges times vertices up to which a shortest cycle is searched through every edge."""


NO_EDGES: Mapping[int, Edge] = {}


@dataclass(slots=True)
class Web:
    """A graph for searches of ways: transactions and moments as vertices, edges and steps in time as arcs.

    `ways[v]`: the heads of arcs out of vertex v with their edges (None: an arc along the chain of moments),
    and whether they cost something: an edge of time counts once, however many moments it passes. `number`:
    the vertex of a transaction. `owner`: the transaction of a vertex. `moments`: whether it has moments.
    """

    ways: list[list[tuple[int, Edge | None, bool]]] = field(default_factory=list)
    number: dict[int, int] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)
    moments: bool = False

    def vertex(self) -> int:
        """Adds a vertex and returns its number."""
        self.ways.append([])
        return len(self.ways) - 1

    def node(self, txn: int) -> int:
        """Returns the vertex of a transaction, which is added if it is new."""
        vertex = self.number.get(txn)
        if vertex is None:
            vertex = self.number[txn] = self.vertex()
            self.owner[vertex] = txn
        return vertex


def web(edges: Iterable[Edge], clock: Clock | None = None, also: Iterable[int] = ()) -> Web:
    """Returns the web of some edges, with their ends and the transactions in `also` as vertices.

    With a clock, "commits before the start of" between these transactions is a way too, along a chain of
    the moments at which they start.
    """
    graph = Web()
    for edge in edges:
        graph.ways[graph.node(edge.source)].append((graph.node(edge.target), edge, True))
    for txn in also:
        graph.node(txn)
    if clock is not None:
        graph.moments = True
        txns = list(graph.number)
        starts, following = moments(clock, txns)
        slots = [graph.vertex() for _ in starts]
        place = dict(zip(starts, slots, strict=True))
        for early, late in pairwise(slots):
            graph.ways[early].append((late, None, False))
        for txn in txns:
            graph.ways[place[clock.starts[txn]]].append((graph.number[txn], None, False))
        for txn, after in following.items():
            graph.ways[graph.number[txn]].append((slots[after], None, True))
    return graph


def reaches(graph: Web, pairs: Sequence[tuple[int, int]], budget: Budget) -> list[bool]:
    """Returns for every pair of vertices whether the first reaches the second (or is it).

    Costs steps for every BLOCK different sources. Raises BudgetSpent.
    """
    if not pairs:
        return []
    # Imported here, because a small history needs no search for many pairs.
    import numpy as np

    arcs = np.array([(v, head) for v, ways in enumerate(graph.ways) for head, _, _ in ways], np.int64)
    labels = labels_of([arcs.reshape(-1, 2)], len(graph.ways))
    # The condensed web: its vertices are the components, between which no arcs close a cycle.
    between, asked = labels[arcs.reshape(-1, 2)], labels[np.array(pairs, np.int64)]
    between = np.unique(between[between[:, 0] != between[:, 1]], axis=0)
    open_ = asked[:, 0] != asked[:, 1]
    answers = ~open_
    if open_.any():
        order = order_of(int(labels.max()) + 1, between)
        assert order is not None
        budget.spend(len(order) * -(-len(np.unique(asked[open_, 0])) // BLOCK))
        answers[open_] = reachable(order, between, asked[open_])
    found: list[bool] = answers.tolist()
    return found


def promising(back: Web, candidates: Sequence[Edge], budget: Budget) -> Sequence[Edge]:
    """Returns the candidates that a way back along a web may close to a cycle. Raises BudgetSpent.

    These are the ones that it does close, or all where there are so few that trying each is cheaper.
    """
    if len(candidates) * len(back.ways) <= CHEAP:
        return candidates
    pairs = [(back.number[edge.target], back.number[edge.source]) for edge in candidates]
    answers = reaches(back, pairs, budget)
    return [edge for edge, closes in zip(candidates, answers, strict=True) if closes]


def shortest(
    graph: Web, start: int, goal: int, budget: Budget, closing: Mapping[int, Edge] = NO_EDGES
) -> tuple[Edge, ...] | None:
    """Returns the edges of a shortest way; None: there is none. Raises BudgetSpent.

    Moments on the way become edges of time: an edge of time counts once, however many moments it passes.
    `closing`: in a web without moments the vertices with an edge to the goal, if the caller knows all: then
    the search ends as soon as it sees one of them, and most of the web is never visited.
    """
    if start in closing:
        return (closing[start],)
    way = cheapest_way(graph.ways, start, goal, plain=not graph.moments, closing=closing, spend=budget.spend)
    return None if way is None else tuple(_edges_of_way(graph, start, way))


def _edges_of_way(graph: Web, start: int, steps: Iterable[tuple[int, Edge | None]]) -> Iterator[Edge]:
    """Yields the edges of a way, each row of moments on it as one edge of time."""
    since = graph.owner.get(start)
    for vertex, edge in steps:
        txn = graph.owner.get(vertex)
        if edge is not None:
            yield edge
        elif txn is not None and since is not None:
            yield Edge(Kind.TIME, since, txn)
        if txn is not None:
            since = txn


def smallest_cycle(through: Iterable[Edge], graph: Web, budget: Budget) -> tuple[Edge, ...] | None:
    """Returns the shortest of the cycles that begin with one of some edges and go back along a web.

    Tries TRIES edges, and more in a small web. None: none of them closes a cycle. Raises BudgetSpent.
    """
    best: tuple[Edge, ...] | None = None
    for edge in islice(through, max(TRIES, SMALL_SEARCH // max(1, len(graph.ways)))):
        if best is not None and len(best) == 2:
            break
        start, goal = graph.number.get(edge.target), graph.number.get(edge.source)
        if start is None or goal is None:
            continue
        back = shortest(graph, start, goal, budget)
        if back is not None and (best is None or len(back) + 1 < len(best)):
            best = (edge, *back)
    return best
