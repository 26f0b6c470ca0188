"""G-cursor(x): an item anti-dependency on x, and a way back along write dependencies on x alone.

Adya 1999, section 4.2.2 (PL-CS).
"""

from __future__ import annotations

from dvs_model.analysis import Analysis
from dvs_model.edges import Edge
from dvs_model.graph import Kind
from dvs_model.phenomena.cycles import found_each, usable
from dvs_model.scope import Scope
from dvs_model.search import smallest_cycle, web
from dvs_model.verdict import Cycle, Finding


def cursor(analysis: Analysis) -> Finding:
    """G-cursor, one piece of evidence per object."""
    scope = analysis.plain
    return found_each(analysis, scope, lambda certain: _cycles(scope, certain=certain))


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
