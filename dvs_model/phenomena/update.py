"""Detects G-update(T): the DSG of all update transactions and T has a cycle with an anti-dependency.

Adya 1999, section 4.2.3 (PL-3U).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from dvs_model.analysis.search import Web, promising, reaches, shortest, smallest_cycle, web
from dvs_model.analysis.verdict import Cycle
from dvs_model.graph.edges import Budget, Edge
from dvs_model.graph.graph import Kind

READERS_SHOWN = 100
"""The readers, from the first, whose cycle is searched; of the others only their names are given."""


def update_cycles(edges: Sequence[Edge], updates: Set[int], budget: Budget) -> tuple[Cycle, ...]:
    """Returns a cycle without subject where updates alone have one, else one cycle for each reader."""
    among = [edge for edge in edges if edge.source in updates and edge.target in updates]
    ways = web(among)
    anti = promising(ways, [edge for edge in among if edge.kind is Kind.RW], budget)
    if cycle := smallest_cycle(anti, ways, budget):
        return (Cycle(cycle),)
    return _through_readers(edges, among, updates, budget)


def _through_readers(
    edges: Sequence[Edge], among: Sequence[Edge], updates: Set[int], budget: Budget
) -> tuple[Cycle, ...]:
    """Returns cycles through one reader each: out of it, along updates, back into it.

    The updates are searched in two layers, the second behind an anti-dependency. (Under the reading `thesis`
    a transaction with a predicate write that wrote nothing is a reader, with write dependencies out of it.)
    """
    out: dict[int, list[Edge]] = {}
    into: dict[int, list[Edge]] = {}
    for edge in edges:
        if edge.source not in updates and edge.target in updates:
            out.setdefault(edge.source, []).append(edge)
        elif edge.target not in updates and edge.source in updates:
            into.setdefault(edge.target, []).append(edge)
    readers = sorted(out.keys() & into.keys())
    if not readers:
        return ()
    layers = Layers()
    for edge in among:
        layers.ways(edge)
    gates = {reader: (layers.web.vertex(), layers.web.vertex()) for reader in readers}
    for reader in readers:
        for edge in out[reader]:
            layers.leave(gates[reader][0], edge)
        for edge in into[reader]:
            layers.enter(gates[reader][1], edge)
    answers = reaches(layers.web, [gates[reader] for reader in readers], budget)
    found = [reader for reader, reached in zip(readers, answers, strict=True) if reached]
    cycles = []
    for reader in found[:READERS_SHOWN]:
        way = shortest(layers.web, *gates[reader], budget, layers.entering(into[reader]))
        cycles.append(Cycle(way or (), f"T{reader}"))
    cycles.sort(key=lambda cycle: len(cycle.edges))
    return (*cycles, *(Cycle((), f"T{reader}") for reader in found[READERS_SHOWN:]))


@dataclass(slots=True)
class Layers:
    """A web with each update transaction twice: before and behind an anti-dependency."""

    web: Web = field(default_factory=Web)
    vertices: dict[tuple[int, bool], int] = field(default_factory=dict)

    def vertex(self, txn: int, behind: bool) -> int:
        """Returns the vertex of a transaction in one layer."""
        key = txn, behind
        if key not in self.vertices:
            self.vertices[key] = self.web.vertex()
        return self.vertices[key]

    def ways(self, edge: Edge) -> None:
        """Adds an edge between updates to both layers."""
        anti = edge.kind is Kind.RW
        for behind in (False, True):
            tail = self.vertex(edge.source, behind)
            self.web.ways[tail].append((self.vertex(edge.target, behind or anti), edge, True))

    def leave(self, gate: int, edge: Edge) -> None:
        """Adds an edge out of a reader."""
        self.web.ways[gate].append((self.vertex(edge.target, edge.kind is Kind.RW), edge, True))

    def enter(self, gate: int, edge: Edge) -> None:
        """Adds an edge into a reader; such an anti-dependency exists only under the reading `thesis`."""
        for vertex in self._tails(edge):
            self.web.ways[vertex].append((gate, edge, True))

    def entering(self, edges: Sequence[Edge]) -> dict[int, Edge]:
        """Returns the edges into a reader by the vertices that they leave; the first of each vertex."""
        return {vertex: edge for edge in reversed(edges) for vertex in self._tails(edge)}

    def _tails(self, edge: Edge) -> Sequence[int]:
        """Returns the vertices at which an edge begins: for an anti-dependency those of both layers."""
        layers = (True, False) if edge.kind is Kind.RW else (True,)
        return [self.vertex(edge.source, behind) for behind in layers]
