"""G-update(T): the DSG of all update transactions and T has a cycle with an anti-dependency.

Adya 1999, section 4.2.3 (PL-3U).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dvs_model.analysis import Analysis
from dvs_model.edges import Edge
from dvs_model.graph import Kind
from dvs_model.phenomena.cycles import found_each, usable
from dvs_model.scope import Scope
from dvs_model.search import Web, reaches, shortest, smallest_cycle, web
from dvs_model.verdict import Cycle, Finding


def update(analysis: Analysis) -> Finding:
    """G-update; without subject where updates alone have such a cycle, else one cycle per reader."""
    scope, updates = analysis.plain, analysis.facts.updates
    return found_each(analysis, scope, lambda certain: _cycles(scope, updates, certain=certain))


def _cycles(scope: Scope, updates: set[int], *, certain: bool) -> tuple[Cycle, ...]:
    edges = list(usable(scope, certain))
    among = [edge for edge in edges if edge.source in updates and edge.target in updates]
    made = web(among)
    anti = [edge for edge in among if edge.kind is Kind.RW]
    pairs = [(made.number[edge.target], made.number[edge.source]) for edge in anti]
    answers = reaches(made, pairs, scope.budget) if pairs else []
    closing = [edge for edge, found in zip(anti, answers, strict=True) if found]
    if closing:
        return (Cycle(smallest_cycle(closing, made, scope.budget) or ()),)
    return _through_readers(scope, edges, among, updates)


def _through_readers(
    scope: Scope, edges: list[Edge], among: list[Edge], updates: set[int]
) -> tuple[Cycle, ...]:
    """Cycles through one reader each: out of it, along updates, back into it, over an anti-dependency.

    In two layers, the second behind an anti-dependency. (Under `thesis` a predicate write that wrote
    nothing leaves its transaction a reader, with write dependencies out of it.)
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
    answers = reaches(layers.web, [gates[reader] for reader in readers], scope.budget)
    cycles = [
        Cycle(shortest(layers.web, *gates[reader], scope.budget) or (), f"T{reader}")
        for reader, found in zip(readers, answers, strict=True)
        if found
    ]
    return tuple(sorted(cycles, key=lambda cycle: len(cycle.edges)))


@dataclass(slots=True)
class Layers:
    """Update transactions twice: before and behind an anti-dependency."""

    web: Web = field(default_factory=Web)
    vertices: dict[tuple[int, bool], int] = field(default_factory=dict)

    def vertex(self, txn: int, behind: bool) -> int:
        """A transaction in one layer."""
        key = txn, behind
        if key not in self.vertices:
            self.vertices[key] = self.web.vertex()
        return self.vertices[key]

    def ways(self, edge: Edge) -> None:
        """An edge between updates, in both layers."""
        anti = edge.kind is Kind.RW
        for behind in (False, True):
            tail = self.vertex(edge.source, behind)
            self.web.ways[tail].append((self.vertex(edge.target, behind or anti), edge))

    def leave(self, gate: int, edge: Edge) -> None:
        """An edge out of a reader."""
        self.web.ways[gate].append((self.vertex(edge.target, edge.kind is Kind.RW), edge))

    def enter(self, gate: int, edge: Edge) -> None:
        """An edge into a reader, of which none is an anti-dependency but under `thesis`."""
        self.web.ways[self.vertex(edge.source, True)].append((gate, edge))
        if edge.kind is Kind.RW:
            self.web.ways[self.vertex(edge.source, False)].append((gate, edge))
