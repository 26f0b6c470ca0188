"""G-monotonic(T) and G-MSRb(T): what T has seen does not go back while it reads.

Adya 1999, section 4.2.1 (PL-2L, the unfolded graph USG) and 4.3.2 (PL-MSR, the same with starts). The reads
and writes of T become nodes in their order; a cycle has exactly one anti-dependency, which leaves a read of
T. So: from that read over the anti-dependency, then without any other, back to that read or an earlier one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from dvs_model.analysis import Analysis
from dvs_model.clock import Clock
from dvs_model.edges import BudgetSpent, Edge
from dvs_model.graph import Kind
from dvs_model.phenomena.cycles import SPENT, single_edges, why_possible
from dvs_model.scope import DEPENDENCIES, Scope
from dvs_model.verdict import ABSENT, Cycle, Finding, Present, Unknown

NO_STARTS = "not every committed transaction has a start event"


def monotonic(analysis: Analysis) -> Finding:
    """G-monotonic, one piece of evidence per transaction."""
    return _found(analysis, analysis.plain)


def monotonic_with_starts(analysis: Analysis) -> Finding:
    """G-MSRb; without start events only what is G-monotonic already."""
    if analysis.unfolded is not None:
        return _found(analysis, analysis.unfolded)
    plain = analysis.once(monotonic)
    return plain if isinstance(plain, Present) else Unknown(NO_STARTS)


def _found(analysis: Analysis, scope: Scope) -> Finding:
    if not scope.knots(DEPENDENCIES, certain=False).knots:
        return ABSENT
    try:
        certain = _cycles(analysis, scope, certain=True)
        if certain:
            return Present(certain)
        possible = _cycles(analysis, scope, certain=False) if scope.graph.uncertain else ()
    except BudgetSpent:
        return Unknown(SPENT)
    return Unknown(why_possible(analysis, possible[0].edges), possible) if possible else ABSENT


def _cycles(analysis: Analysis, scope: Scope, *, certain: bool) -> tuple[Cycle, ...]:
    leaving, others, _ = single_edges(scope, certain)
    out: dict[int, list[Edge]] = {}
    for edge in others:
        out.setdefault(edge.source, []).append(edge)
    by_reader: dict[int, list[Edge]] = {}
    for edge in leaving:
        by_reader.setdefault(edge.source, []).append(edge)
    cycles = []
    for reader, edges in by_reader.items():
        unfolded = Unfolded(analysis, scope, reader, out)
        best = min((c for edge in edges if (c := unfolded.cycle(edge)) is not None), key=len, default=None)
        if best is not None:
            cycles.append(Cycle(best, f"T{reader}"))
    return tuple(sorted(cycles, key=lambda cycle: (len(cycle.edges), cycle.subject)))


@dataclass(slots=True)
class Unfolded:
    """The graph with the reads and writes of one transaction as nodes."""

    analysis: Analysis
    scope: Scope
    reader: int
    out: dict[int, list[Edge]]
    nodes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = self.analysis.nodes.get(self.reader, [])

    def cycle(self, leaving: Edge) -> tuple[Edge, ...] | None:
        """A shortest cycle that leaves T by an anti-dependency and comes back no later than there."""
        assert leaving.event is not None
        # A state: another transaction, or T entered at an event. Of T the earliest entry is enough.
        parent: dict[tuple[int, int], tuple[tuple[int, int], Edge] | None] = {(leaving.target, -1): None}
        queue = deque(parent)
        while queue:
            state = queue.popleft()
            for edge, entry in self.steps(state):
                self.scope.budget.spend()
                if edge.target == self.reader and entry <= leaving.event:
                    return (leaving, *self._back(parent, state), edge)
                after = edge.target, entry
                if after not in parent:
                    parent[after] = state, edge
                    queue.append(after)
        return None

    def steps(self, state: tuple[int, int]) -> Iterator[tuple[Edge, int]]:
        """The edges out of a state, with the event at which they enter T (-1: another transaction)."""
        txn, entry = state
        for edge in self.out.get(txn, ()):
            if txn == self.reader and self.exit(edge) < entry:
                continue
            yield edge, self.entry(edge) if edge.target == self.reader else -1
        if self.scope.clock is not None and self.analysis.text_clock is not None:
            yield from self.in_time(txn, self.analysis.text_clock)

    def in_time(self, txn: int, clock: Clock) -> Iterator[tuple[Edge, int]]:
        """Start edges: to T's first read or write after a commit; between others; from T at its end."""
        commit = clock.commits[txn]
        if txn != self.reader:
            entry = next((number for number in self.nodes if number > commit), None)
            if entry is not None:
                yield Edge(Kind.TIME, txn, self.reader), entry
        for other in self.out:
            if other not in (txn, self.reader) and commit < clock.starts[other]:
                yield Edge(Kind.TIME, txn, other), -1

    def exit(self, edge: Edge) -> int:
        """The node of T that an edge leaves: its final write of the object behind it."""
        if edge.event is not None and edge.event_at_source:
            return edge.event
        return self.analysis.facts.created[edge.versions[0]]

    def entry(self, edge: Edge) -> int:
        """The node of T that an edge enters: the read, or the final write."""
        if edge.event is not None and not edge.event_at_source:
            return edge.event
        return self.analysis.facts.created[edge.versions[-1]]

    def _back(
        self,
        parent: dict[tuple[int, int], tuple[tuple[int, int], Edge] | None],
        state: tuple[int, int],
    ) -> list[Edge]:
        edges: list[Edge] = []
        step = parent[state]
        while step is not None:
            edges.append(step[1])
            step = parent[step[0]]
        return edges[::-1]
