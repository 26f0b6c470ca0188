"""G-update(T): the DSG of all update transactions and T has a cycle with an anti-dependency.

Adya 1999, section 4.2.3 (PL-3U).
"""

from __future__ import annotations

from dvs_model.analysis import Analysis
from dvs_model.edges import BudgetSpent, Edge
from dvs_model.graph import Kind
from dvs_model.phenomena.cycles import SPENT, usable, why_possible
from dvs_model.scope import DEPENDENCIES, Scope
from dvs_model.search import Web, reaches, shortest, smallest_cycle, web
from dvs_model.verdict import ABSENT, Cycle, Finding, Present, Unknown


def update(analysis: Analysis) -> Finding:
    """G-update; without subject where updates alone have such a cycle, else one cycle per reader."""
    scope = analysis.plain
    if not scope.knots(DEPENDENCIES, certain=False).knots:
        return ABSENT
    updates = analysis.facts.updates
    try:
        certain = _cycles(scope, updates, certain=True)
        if certain:
            return Present(certain)
        possible = _cycles(scope, updates, certain=False) if scope.graph.uncertain else ()
    except BudgetSpent:
        return Unknown(SPENT)
    return Unknown(why_possible(analysis, possible[0].edges), possible) if possible else ABSENT


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
    return _through_readers(scope, edges, made, updates)


def _through_readers(scope: Scope, edges: list[Edge], made: Web, updates: set[int]) -> tuple[Cycle, ...]:
    """A reader has read dependencies in and anti-dependencies out: a way between them closes a cycle."""
    out: dict[int, list[Edge]] = {}
    into: dict[int, list[Edge]] = {}
    for edge in edges:
        if edge.source not in updates and edge.target in updates:
            out.setdefault(edge.source, []).append(edge)
        elif edge.target not in updates and edge.source in updates:
            into.setdefault(edge.target, []).append(edge)
    gates: dict[int, tuple[int, int]] = {}
    for reader in out.keys() & into.keys():
        leave, enter = made.vertex(), made.vertex()
        gates[reader] = leave, enter
        for edge in out[reader]:
            made.ways[leave].append((made.node(edge.target), edge))
        for edge in into[reader]:
            made.ways[made.node(edge.source)].append((enter, edge))
    readers = sorted(gates)
    answers = reaches(made, [gates[reader] for reader in readers], scope.budget) if readers else []
    guilty = [reader for reader, found in zip(readers, answers, strict=True) if found]
    cycles = [_cycle(scope, made, gates[reader], reader) for reader in guilty]
    return tuple(sorted(cycles, key=lambda cycle: len(cycle.edges) or len(edges)))


def _cycle(scope: Scope, made: Web, gate: tuple[int, int], reader: int) -> Cycle:
    return Cycle(shortest(made, *gate, scope.budget) or (), f"T{reader}")
