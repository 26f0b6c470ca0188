"""A graph with what is added to it (sessions, real time, starts), and its knots as explicit edges."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field

from dvs_model.clock import Clock, moments
from dvs_model.edges import Adjacency, Budget, BudgetSpent, Edge, edges_among
from dvs_model.graph import Components, Graph, Kind, Note

MOST_EDGES = 5_000_000
"""Steps towards the edges in knots, and so edges: more would fill the memory before they are searched."""

DEPENDENCIES = (Kind.WW, Kind.WR, Kind.RW)


@dataclass(slots=True)
class Scope:
    """Dependencies, and edges of `added` kinds. `clock`: that of TIME edges."""

    graph: Graph
    added: tuple[Kind, ...]
    budget: Budget
    clock: Clock | None = None
    spent: bool = False
    _edges: list[Edge] | None = None
    _components: dict[tuple[frozenset[Kind], bool], Components] = field(default_factory=dict)

    def knots(self, kinds: Collection[Kind], *, certain: bool) -> Components:
        """The components over dependencies of some kinds and what is added."""
        key = frozenset(kinds), certain
        if key not in self._components:
            self._components[key] = self.graph.components((*kinds, *self.added), certain=certain)
        return self._components[key]

    def edges(self) -> list[Edge]:
        """All edges inside knots, but for those of time. Raises BudgetSpent; so for more than MOST_EDGES."""
        if self.spent:
            raise BudgetSpent
        if self._edges is None:
            found = self.knots(DEPENDENCIES, certain=False)
            knots = set(found.knots)
            members = [v for v in range(found.count) if found.labels[v] in knots]
            try:
                budget = Budget(min(self.budget.steps, MOST_EDGES))
                self._edges = list(edges_among(Adjacency(self.graph), members, found.labels, budget))
            except BudgetSpent:
                self.spent = True
                raise
        return self._edges


def with_sessions(graph: Graph, sessions: Collection[tuple[int, ...]]) -> Graph:
    """The graph with an edge from each transaction to the next committed one of its session."""
    extended = graph.extended()
    for txns in sessions:
        members = [graph.number[txn] for txn in txns if txn in graph.number]
        for tail, head in itertools.pairwise(members):
            extended.arc(tail, head, Kind.SESSION, Note())
    return extended


def with_time(graph: Graph, clock: Clock) -> Graph:
    """The graph with a chain of moments: a path along it says that one commits before the other starts."""
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
