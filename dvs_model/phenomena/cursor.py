"""G-cursor(x): an item anti-dependency on x, and a way back along write dependencies on x alone.

Adya 1999, section 4.2.2 (PL-CS).
"""

from __future__ import annotations

from dvs_model.analysis import Analysis
from dvs_model.edges import BudgetSpent, Edge
from dvs_model.graph import Kind
from dvs_model.phenomena.cycles import SPENT, usable, why_possible
from dvs_model.scope import DEPENDENCIES, Scope
from dvs_model.search import smallest_cycle, web
from dvs_model.verdict import ABSENT, Cycle, Finding, Present, Unknown


def cursor(analysis: Analysis) -> Finding:
    """G-cursor, one piece of evidence per object."""
    scope = analysis.plain
    if not scope.knots(DEPENDENCIES, certain=False).knots:
        return ABSENT
    try:
        certain = _cycles(scope, certain=True)
        if certain:
            return Present(certain)
        possible = _cycles(scope, certain=False) if scope.graph.uncertain else ()
    except BudgetSpent:
        return Unknown(SPENT)
    return Unknown(why_possible(analysis, possible[0].edges), possible) if possible else ABSENT


def _cycles(scope: Scope, *, certain: bool) -> tuple[Cycle, ...]:
    reads: dict[str, list[Edge]] = {}
    writes: dict[str, list[Edge]] = {}
    for edge in usable(scope, certain):
        if edge.kind is Kind.RW and edge.predicate is None:
            reads.setdefault(edge.obj, []).append(edge)
        elif edge.kind is Kind.WW:
            writes.setdefault(edge.obj, []).append(edge)
    cycles = []
    for obj in reads.keys() & writes.keys():
        made = web(writes[obj])
        cycle = smallest_cycle(reads[obj], made, scope.budget, tries=len(reads[obj]))
        if cycle is not None:
            cycles.append(Cycle(cycle, obj))
    return tuple(sorted(cycles, key=lambda cycle: (len(cycle.edges), cycle.subject)))
