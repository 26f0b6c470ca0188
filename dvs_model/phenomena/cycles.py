"""Detects every phenomenon that is a cycle of the DSG, as the table `theory.definitions.CYCLES` defines it.

A search runs first over the certain edges and then, where predicates leave edges open, over all of them: a
cycle of the second search alone makes the phenomenon unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import assert_never

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.scope import Scope
from dvs_model.analysis.search import promising, smallest_cycle, web
from dvs_model.analysis.verdict import ABSENT, Cycle, PhenomenonVerdict, Present, Unknown
from dvs_model.graph.edges import BudgetSpent, Edge, doubt
from dvs_model.graph.graph import DEPENDENCIES, Kind
from dvs_model.histories.history import Read
from dvs_model.phenomena.monotonic import unfolded_cycles
from dvs_model.phenomena.update import update_cycles
from dvs_model.theory.definitions import CYCLES, CycleSpec, Subject
from dvs_model.theory.names import Phenomenon

SPENT = "the step budget is used up, or a knot of the graph has too many edges"

Detector = Callable[[Analysis], PhenomenonVerdict]


def detect(phenomenon: Phenomenon, analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on a phenomenon in `CYCLES`, with one cycle for each of its subjects."""
    spec = CYCLES[phenomenon]
    scope = analysis.scope(spec.order, unfolded=spec.subject is Subject.TRANSACTION)
    if scope is None:
        assert spec.order is not None
        assert spec.without_order is not None
        implied = analysis.once(CYCLE_DETECTORS[spec.without_order])
        return implied if isinstance(implied, Present) else Unknown(spec.order.value)
    if not scope.knots(DEPENDENCIES, certain=False).knots:
        return ABSENT
    try:
        if certain := find_cycles(analysis, scope, spec, certain=True):
            return Present(certain)
        possible = find_cycles(analysis, scope, spec, certain=False) if scope.graph.uncertain else ()
    except BudgetSpent:
        return Unknown(SPENT)
    return Unknown(doubt(possible[0].edges), possible) if possible else ABSENT


CYCLE_DETECTORS: Mapping[Phenomenon, Detector] = {
    phenomenon: partial(detect, phenomenon) for phenomenon in CYCLES
}


def find_cycles(analysis: Analysis, scope: Scope, spec: CycleSpec, *, certain: bool) -> tuple[Cycle, ...]:
    """Returns a cycle for each subject that has one, the shortest first. Raises BudgetSpent.

    A cycle without edges stands for one that exists and that the step budget does not suffice to show.
    """
    match spec.subject:
        case Subject.HISTORY if spec.rw_max == 1:
            edges_by_subject = {"": scope.edges(certain=certain)}
        case Subject.HISTORY:
            return knot_cycle(scope, spec, certain=certain)
        case Subject.OBJECT:
            edges_by_subject = {}
            for edge in filter(_at_cursor(analysis), scope.edges(certain=certain)):
                edges_by_subject.setdefault(edge.obj, []).append(edge)
        case Subject.TRANSACTION:
            return unfolded_cycles(analysis, scope, scope.edges(certain=certain), certain=certain)
        case Subject.READER:
            return update_cycles(scope.edges(certain=certain), analysis.facts.updates, scope.budget)
        case _:
            assert_never(spec.subject)
    cycles = [
        Cycle(cycle, subject)
        for subject, edges in edges_by_subject.items()
        if (cycle := single_cycle(edges, scope, spec)) is not None
    ]
    return tuple(sorted(cycles, key=lambda cycle: (len(cycle.edges), cycle.subject)))


def _at_cursor(analysis: Analysis) -> Callable[[Edge], bool]:
    """Returns a test whether an edge counts for G-cursor: with cursors, only reads through them do."""
    events = analysis.history.events
    if not any(isinstance(event, Read) and event.cursor for event in events):
        return lambda edge: True

    def counted(edge: Edge) -> bool:
        read = None if edge.event is None else events[edge.event]
        return edge.kind is not Kind.RW or (isinstance(read, Read) and read.cursor)

    return counted


def single_cycle(edges: Sequence[Edge], scope: Scope, spec: CycleSpec) -> tuple[Edge, ...] | None:
    """Returns a cycle with exactly one anti-dependency, with which it begins; None: there is none."""
    anti = [edge for edge in edges if counts(edge, spec)]
    kinds = [kind for kind in (*spec.edges, *scope.added) if kind is not Kind.RW]
    back = [edge for edge in edges if edge.kind in kinds]
    # Where time counts, a way back may consist of moments alone: so all transactions are vertices.
    ways = web(back, scope.clock, {txn for edge in edges for txn in (edge.source, edge.target)})
    return smallest_cycle(promising(ways, anti, scope.budget), ways, scope.budget)


def knot_cycle(scope: Scope, spec: CycleSpec, *, certain: bool) -> tuple[Cycle, ...]:
    """Returns a cycle with any number of anti-dependencies from `rw_min` on: it lies inside a knot.

    Without anti-dependencies, knots alone decide whether there is a cycle, so a spent budget hides none.
    """
    components = scope.knots(spec.edges, certain=certain)
    if not components.knots:
        return ()
    kinds = (*spec.edges, *scope.added)
    knot = {txn: components.labels[vertex] for vertex, txn in enumerate(scope.graph.transactions)}
    try:
        inside = [
            edge
            for edge in scope.edges(certain=certain)
            if edge.kind in kinds and knot[edge.source] == knot[edge.target]
        ]
        through = [edge for edge in inside if counts(edge, spec)] if spec.rw_min else inside
        cycle = smallest_cycle(through, web(inside, scope.clock), scope.budget) if through else None
    except BudgetSpent:
        if spec.rw_min:
            raise
        return (Cycle(()),)
    return () if cycle is None else (Cycle(cycle),)


def counts(edge: Edge, spec: CycleSpec) -> bool:
    """Tells whether an edge is one of the anti-dependencies that a specification counts."""
    return edge.kind is Kind.RW and not (spec.items_only and edge.predicate is not None)
