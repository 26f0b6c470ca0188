"""G0, G1c, G2-item, G2, G-single, and the same with session or real-time edges.

Adya 1999, definitions 1 (G0), 4 (G1c), 5 (G2), section 4.1 (G-single), 3.3 (G2-item).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from dvs_model.analysis import Analysis
from dvs_model.edges import BudgetSpent, Edge
from dvs_model.graph import Kind
from dvs_model.scope import DEPENDENCIES, Scope
from dvs_model.search import Web, reaches, smallest_cycle, web
from dvs_model.verdict import ABSENT, Cycle, Finding, Present, Unknown

Search = Callable[[Scope, bool], tuple[Edge, ...] | None]
"""The smallest cycle of a sort found, over certain edges or all; () where none can be shown."""

SPENT = "the step budget is used up, or a knot of the graph has too many edges"


def write_cycle(scope: Scope, certain: bool) -> tuple[Edge, ...] | None:
    """Write dependencies only."""
    return _knot(scope, (Kind.WW,), certain)


def information_cycle(scope: Scope, certain: bool) -> tuple[Edge, ...] | None:
    """Write and read dependencies only."""
    return _knot(scope, (Kind.WW, Kind.WR), certain)


def _knot(scope: Scope, kinds: tuple[Kind, ...], certain: bool) -> tuple[Edge, ...] | None:
    found = scope.knots(kinds, certain=certain)
    if not found.knots:
        return None
    knots = set(found.knots)
    place = {txn: found.labels[vertex] for vertex, txn in enumerate(scope.graph.transactions)}
    try:
        edges = [
            edge
            for edge in usable(scope, certain)
            if edge.kind in (*kinds, *scope.added)
            and place[edge.source] == place[edge.target]
            and place[edge.source] in knots
        ]
        return smallest_cycle(edges, web(edges, scope.clock), scope.budget) or ()
    except BudgetSpent:
        return ()


def usable(scope: Scope, certain: bool) -> Iterator[Edge]:
    """The edges in knots of a scope: the certain ones, or all."""
    return (edge for edge in scope.edges() if edge.certain or not certain)


def anti_dependency_cycle(scope: Scope, certain: bool) -> tuple[Edge, ...] | None:
    """At least one anti-dependency."""
    return _with_anti_dependency(scope, certain, lambda edge: True)


def item_anti_dependency_cycle(scope: Scope, certain: bool) -> tuple[Edge, ...] | None:
    """At least one item anti-dependency."""
    return _with_anti_dependency(scope, certain, lambda edge: edge.predicate is None)


def _with_anti_dependency(
    scope: Scope, certain: bool, wanted: Callable[[Edge], bool]
) -> tuple[Edge, ...] | None:
    edges = list(usable(scope, certain))
    found = scope.knots(DEPENDENCIES, certain=certain)
    place = {txn: found.labels[vertex] for vertex, txn in enumerate(scope.graph.transactions)}
    # Both ends in one knot: there is a way back.
    inside = [
        edge
        for edge in edges
        if edge.kind is Kind.RW and wanted(edge) and place[edge.source] == place[edge.target]
    ]
    if not inside:
        return None
    return smallest_cycle(inside, web(edges, scope.clock), scope.budget) or ()


def single_cycle(scope: Scope, certain: bool) -> tuple[Edge, ...] | None:
    """Exactly one anti-dependency."""
    closing, _, made = single_edges(scope, certain)
    return (smallest_cycle(closing, made, scope.budget) or ()) if closing else None


def single_edges(scope: Scope, certain: bool) -> tuple[list[Edge], list[Edge], Web]:
    """The anti-dependencies that a way back without others closes; all edges that are none; the ways."""
    edges = list(usable(scope, certain))
    others = [edge for edge in edges if edge.kind is not Kind.RW]
    # Where time counts, a way back may consist of moments alone.
    made = web(others, scope.clock, {txn for edge in edges for txn in (edge.source, edge.target)})
    candidates = [edge for edge in edges if edge.kind is Kind.RW]
    pairs = [(made.number[edge.target], made.number[edge.source]) for edge in candidates]
    answers = reaches(made, pairs, scope.budget) if pairs else []
    return [edge for edge, found in zip(candidates, answers, strict=True) if found], others, made


def found_in(analysis: Analysis, scope: Scope, search: Search) -> Finding:
    """The finding of a search: certain edges first, then those that are only possible."""
    if not scope.knots(DEPENDENCIES, certain=False).knots:
        return ABSENT
    try:
        cycle = search(scope, True)
        if cycle is not None:
            return Present((Cycle(cycle),))
        if not scope.graph.uncertain:
            return ABSENT
        possible = search(scope, False)
    except BudgetSpent:
        return Unknown(SPENT)
    if possible is None:
        return ABSENT
    return Unknown(why_possible(analysis, possible), (Cycle(possible),))


def found_each(analysis: Analysis, scope: Scope, search: Callable[[bool], tuple[Cycle, ...]]) -> Finding:
    """The finding of a search that gives a cycle per subject: over certain edges first, then over all."""
    if not scope.knots(DEPENDENCIES, certain=False).knots:
        return ABSENT
    try:
        if certain := search(True):
            return Present(certain)
        possible = search(False) if scope.graph.uncertain else ()
    except BudgetSpent:
        return Unknown(SPENT)
    return Unknown(why_possible(analysis, possible[0].edges), possible) if possible else ABSENT


def why_possible(analysis: Analysis, edges: Iterable[Edge]) -> str:
    """What is not said about a possible cycle."""
    doubtful = next((edge for edge in edges if not edge.certain), None)
    return "it is not said what matches" if doubtful is None else analysis.missing_match(doubtful)


Detect = Callable[[Analysis], Finding]


def in_plain(search: Search) -> Detect:
    """A detector over dependencies alone."""
    return lambda analysis: found_in(analysis, analysis.plain, search)


WRITE_CYCLE = in_plain(write_cycle)
INFORMATION_CYCLE = in_plain(information_cycle)
SINGLE_CYCLE = in_plain(single_cycle)
ITEM_ANTI_DEPENDENCY_CYCLE = in_plain(item_anti_dependency_cycle)
ANTI_DEPENDENCY_CYCLE = in_plain(anti_dependency_cycle)


def in_realtime(search: Search, plain: Detect) -> Detect:
    """A detector with the real-time order added; without one, what is there in any case."""
    missing = "not every committed transaction has a start event"
    return lambda analysis: _in(analysis, analysis.realtime, search, plain, missing)


def in_sessions(search: Search, plain: Detect) -> Detect:
    """A detector with session order added; without one, what is there in any case."""
    return lambda analysis: _in(analysis, analysis.sessions, search, plain, "no session is named")


def _in(analysis: Analysis, scope: Scope | None, search: Search, plain: Detect, missing: str) -> Finding:
    if scope is not None:
        return found_in(analysis, scope, search)
    finding = analysis.once(plain)
    return finding if isinstance(finding, Present) else Unknown(missing)
