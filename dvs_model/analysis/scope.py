"""The graph in which one phenomenon is searched: the DSG, with the edges of an order where it needs one.

The order is that of sessions, of real time or of starts. Cycles are searched among explicit edges, which are
listed only inside knots, because a cycle never leaves a knot.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from dvs_model.graph.edges import Adjacency, Budget, BudgetSpent, Edge, edges_among
from dvs_model.graph.graph import DEPENDENCIES, Components, Graph, Kind
from dvs_model.histories.clock import Clock, moments

MOST_EDGES = 5_000_000
"""The most steps for listing the edges inside knots, and so the most edges: more would fill the memory."""


@dataclass(slots=True)
class Scope:
    """A graph of dependencies and the edges of an order.

    `added`: the kind of the edges that the order added, if any. `clock`: the clock that edges of time follow.
    """

    graph: Graph
    added: tuple[Kind, ...]
    budget: Budget
    clock: Clock | None = None
    _spent: bool = False
    _edges: list[Edge] | None = None
    _components: dict[tuple[frozenset[Kind], bool], Components] = field(default_factory=dict)

    def knots(self, kinds: Collection[Kind], *, certain: bool) -> Components:
        """Returns the strongly connected components over dependencies of some kinds and the added edges."""
        key = frozenset(kinds), certain
        if key not in self._components:
            self._components[key] = self.graph.components((*kinds, *self.added), certain=certain)
        return self._components[key]

    def edges(self, *, certain: bool) -> list[Edge]:
        """Returns the edges inside knots: the certain ones, or all. Edges of time are left out.

        Raises BudgetSpent: the budget is spent, or there are more than MOST_EDGES.
        """
        if self._spent:
            raise BudgetSpent
        if self._edges is None:
            components = self.knots(DEPENDENCIES, certain=False)
            transactions = range(len(self.graph.transactions))
            members = [v for v in transactions if components.labels[v] in components.knots]
            try:
                budget = Budget(min(self.budget.steps, MOST_EDGES))
                self._edges = edges_among(Adjacency(self.graph, components.labels), members, budget)
            except BudgetSpent:
                self._spent = True
                raise
        return [edge for edge in self._edges if edge.certain] if certain else self._edges


def with_sessions(graph: Graph, sessions: Iterable[tuple[int, ...]]) -> Graph:
    """Returns the graph with an edge from each transaction to the next committed one of its session."""
    extended = graph.extended()
    for txns in sessions:
        members = [graph.number[txn] for txn in txns if txn in graph.number]
        for tail, head in itertools.pairwise(members):
            extended.arc(tail, head, Kind.SESSION)
    return extended


def with_time(graph: Graph, clock: Clock) -> Graph:
    """Returns the graph with a chain of moments: a path along it means "commits before the start of".

    The chain has one vertex for each start, and so stands for all pairs with linearly many arcs.
    """
    extended = graph.extended()
    starts, following = moments(clock, graph.transactions)
    slots = [extended.vertex() for _ in starts]
    place = dict(zip(starts, slots, strict=True))
    for early, late in itertools.pairwise(slots):
        extended.arc(early, late, Kind.PART)
    for txn in graph.transactions:
        extended.arc(place[clock.starts[txn]], graph.number[txn], Kind.PART)
    for txn, after in following.items():
        extended.arc(graph.number[txn], slots[after], Kind.TIME)
    return extended
