"""G-SIa, G-SIb, G-MSRa: dependencies on transactions that had not committed in time.

Adya 1999, section 4.3. Whether some path of a read or write dependency comes from a late committer is found
by carrying, along auxiliary vertices, the two latest committers: two, for one of them may be the reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dvs_model.analysis import Analysis
from dvs_model.clock import Clock
from dvs_model.edges import Edge, edge
from dvs_model.graph import Graph, Kind, Note
from dvs_model.phenomena.cycles import SINGLE_CYCLE, found_in, single_cycle, why_possible
from dvs_model.phenomena.monotonic import NO_STARTS
from dvs_model.verdict import ABSENT, Finding, Overlap, Present, Unknown

NO_ORDER = "the history has neither start events nor time-precedes items"


def interference(analysis: Analysis) -> Finding:
    """G-SIa: a read or write dependency on a transaction that did not commit before the other's start."""
    clock = analysis.clock
    if clock is None:
        return Unknown(NO_ORDER)

    def late(found: Edge) -> bool:
        return not clock.precedes(found.source, found.target)

    limit = {txn: clock.starts[txn] for txn in analysis.graph.transactions}
    return _overlaps(analysis, clock, (Kind.WW, Kind.WR), lambda head, note: limit[head], late)


def missed_effects(analysis: Analysis) -> Finding:
    """G-SIb: a cycle of dependencies and start edges with exactly one anti-dependency."""
    if analysis.starts is not None:
        return found_in(analysis, analysis.starts, single_cycle)
    plain = analysis.once(SINGLE_CYCLE)
    return plain if isinstance(plain, Present) else Unknown(NO_ORDER)


def read_before_commit(analysis: Analysis) -> Finding:
    """G-MSRa: a read dependency on a transaction that commits after the read."""
    clock = analysis.text_clock
    if clock is None:
        return Unknown(NO_STARTS)

    def at(head: int, note: Note) -> float:
        return float(note.event or 0)

    def late(found: Edge) -> bool:
        return clock.commits[found.source] > float(found.event or 0)

    return _overlaps(analysis, clock, (Kind.WR,), at, late, lambda found: f"T{found.target}", "read")


@dataclass(frozen=True, slots=True)
class Committer:
    """A transaction that enters an auxiliary vertex, when it commits, and the notes on the way."""

    commit: float
    txn: int
    notes: tuple[Note, ...]


def _overlaps(
    analysis: Analysis,
    clock: Clock,
    kinds: tuple[Kind, ...],
    limit: Callable[[int, Note], float],
    late: Callable[[Edge], bool],
    subject: Callable[[Edge], str] = lambda found: "",
    moment: str = "started",
) -> Finding:
    certain = [e for e in _late_edges(analysis.graph, clock, kinds, limit, certain=True) if late(e)]
    if certain:
        return Present(
            tuple({subject(e): Overlap(e, subject(e), moment) for e in reversed(certain)}.values())
        )
    if analysis.graph.uncertain:
        possible = [e for e in _late_edges(analysis.graph, clock, kinds, limit, certain=False) if late(e)]
        if possible:
            return Unknown(
                why_possible(analysis, possible), (Overlap(possible[0], subject(possible[0]), moment),)
            )
    return ABSENT


def _late_edges(
    graph: Graph,
    clock: Clock,
    kinds: tuple[Kind, ...],
    limit: Callable[[int, Note], float],
    *,
    certain: bool,
) -> list[Edge]:
    """Edges of some kinds whose source commits at or after a limit."""
    count = len(graph.transactions)
    marked = {Kind.WW, Kind.WR}
    entering: dict[int, list[int]] = {}
    leaving: dict[int, list[int]] = {}
    for number, kind in enumerate(graph.kinds):
        if (kind is Kind.PART or kind in marked) and not (certain and not graph.notes[number].certain):
            head = graph.heads[number]
            if head >= count:
                entering.setdefault(head, []).append(number)
                leaving.setdefault(graph.tails[number], []).append(number)
    latest: dict[int, dict[Kind, list[Committer]]] = {}
    found: list[Edge] = []
    for vertex in _in_order(graph, count, entering, leaving):
        latest[vertex] = _latest(graph, clock, count, entering.get(vertex, ()), latest)
    for number, kind in enumerate(graph.kinds):
        head = graph.heads[number]
        if head >= count or kind not in (Kind.PART, *marked) or (certain and not graph.notes[number].certain):
            continue
        note, tail = graph.notes[number], graph.tails[number]
        for sort, committers in _at(graph, clock, count, tail, latest).items():
            whole = kind if sort is Kind.PART else sort
            if whole not in kinds:
                continue
            for committer in committers:
                source, target = committer.txn, graph.transactions[head]
                if source != target and committer.commit >= limit(target, note):
                    found.append(edge(whole, source, target, (*committer.notes, note)))
                    break
    return found


def _at(
    graph: Graph, clock: Clock, count: int, vertex: int, latest: dict[int, dict[Kind, list[Committer]]]
) -> dict[Kind, list[Committer]]:
    """Who enters a vertex, by the kind of the way so far."""
    if vertex < count:
        txn = graph.transactions[vertex]
        return {Kind.PART: [Committer(clock.commits[txn], txn, ())]}
    return latest[vertex]


def _latest(
    graph: Graph,
    clock: Clock,
    count: int,
    arcs: list[int] | tuple[int, ...],
    latest: dict[int, dict[Kind, list[Committer]]],
) -> dict[Kind, list[Committer]]:
    """The two latest committers that enter a vertex, per kind of the way."""
    best: dict[Kind, list[Committer]] = {}
    for number in arcs:
        kind, note = graph.kinds[number], graph.notes[number]
        for sort, committers in _at(graph, clock, count, graph.tails[number], latest).items():
            into = best.setdefault(kind if sort is Kind.PART else sort, [])
            for committer in committers:
                kept = note.versions or note.event is not None
                notes = (*committer.notes, note) if kept else committer.notes
                _keep(into, Committer(committer.commit, committer.txn, notes))
    return best


def _keep(best: list[Committer], new: Committer) -> None:
    if all(old.txn != new.txn for old in best):
        best.append(new)
        best.sort(key=lambda committer: -committer.commit)
        del best[2:]


def _in_order(
    graph: Graph, count: int, entering: dict[int, list[int]], leaving: dict[int, list[int]]
) -> list[int]:
    """The auxiliary vertices, each after those with arcs into it."""
    waiting = {
        vertex: sum(graph.tails[number] >= count for number in entering.get(vertex, ()))
        for vertex in range(count, graph.vertices)
    }
    order = [vertex for vertex, arcs in waiting.items() if arcs == 0]
    for vertex in order:
        for number in leaving.get(vertex, ()):
            head = graph.heads[number]
            waiting[head] -= 1
            if waiting[head] == 0:
                order.append(head)
    return order
