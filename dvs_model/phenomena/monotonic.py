"""G-monotonic(T) and G-MSRb(T): what T has seen does not go back while it reads.

Adya 1999, section 4.2.1 (PL-2L, the unfolded graph USG) and 4.3.2 (PL-MSR, the same with starts). The reads
and writes of T become nodes in their order; a cycle has exactly one anti-dependency, which leaves a read of
T. So: from that read over the anti-dependency, then without any other, back to that read or an earlier one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

from dvs_model.analysis import Analysis
from dvs_model.clock import Clock
from dvs_model.edges import Edge
from dvs_model.graph import Kind
from dvs_model.phenomena.cycles import found_each, single_edges
from dvs_model.scope import Scope
from dvs_model.search import Web, reaches, web
from dvs_model.verdict import Cycle, Finding, Present, Unknown

SHOWN_OF = 12
"""Cycles of one transaction of which the shortest is shown."""

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
    return found_each(analysis, scope, lambda certain: _cycles(analysis, scope, certain=certain))


def _cycles(analysis: Analysis, scope: Scope, *, certain: bool) -> tuple[Cycle, ...]:
    leaving, others, _ = single_edges(scope, certain)
    candidates = _promising(analysis, scope, leaving, others)
    out: dict[int, list[Edge]] = {}
    for edge in others if candidates else ():
        out.setdefault(edge.source, []).append(edge)
    clock = analysis.text_clock if scope.clock is not None else None
    starting = [] if clock is None else sorted(out, key=lambda txn: clock.starts[txn])
    starts = [] if clock is None else [clock.starts[txn] for txn in starting]
    cycles = []
    for reader, edges in candidates.items():
        unfolded = Unfolded(analysis, scope, reader, out, starting, starts)
        found = (cycle for edge in edges if (cycle := unfolded.cycle(edge)) is not None)
        best = min(islice(found, SHOWN_OF), key=len, default=None)
        if best is not None:
            cycles.append(Cycle(best, f"T{reader}"))
    return tuple(sorted(cycles, key=lambda cycle: (len(cycle.edges), cycle.subject)))


def _promising(
    analysis: Analysis, scope: Scope, leaving: list[Edge], others: list[Edge]
) -> dict[int, list[Edge]]:
    """The anti-dependencies, by reader, that may close a cycle: all at once, and with T's nodes merged.

    Beside each reader stands a chain of its entries: a way to the entry of a read is one that comes in there
    or earlier. Ways through T itself are not unfolded here, so a few too many may be found.
    """
    clock = analysis.text_clock if scope.clock is not None else None
    txns = {txn for edge in (*leaving, *others) for txn in (edge.source, edge.target)}
    made = web(others, clock, txns)
    entries = Entries(analysis, made, clock)
    wanted: dict[int, set[int]] = {}
    for edge in leaving:
        assert edge.event is not None
        wanted.setdefault(edge.source, set()).add(edge.event)
    into: dict[int, list[Edge]] = {}
    for edge in others:
        if edge.target in wanted:
            into.setdefault(edge.target, []).append(edge)
    gates = {
        (reader, event): vertex
        for reader, events in wanted.items()
        for event, vertex in entries.chain(reader, events, into.get(reader, [])).items()
    }
    pairs = [(made.number[edge.target], gates[edge.source, edge.event or 0]) for edge in leaving]
    answers = reaches(made, pairs, scope.budget) if pairs else []
    found: dict[int, list[Edge]] = {}
    for edge, promising in zip(leaving, answers, strict=True):
        if promising:
            found.setdefault(edge.source, []).append(edge)
    return found


@dataclass(slots=True)
class Entries:
    """Vertices for the entries of readers, in a web; and for the moments of events, where time counts."""

    analysis: Analysis
    made: Web
    clock: Clock | None
    moments: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.clock is None:
            return
        nodes = self.analysis.nodes
        self.moments = sorted(n for txn in self.made.number for n in nodes.get(txn, ()))
        self.slots = [self.made.vertex() for _ in self.moments]
        for early, late in pairwise(self.slots):
            self.made.ways[early].append((late, None))
        for txn, vertex in self.made.number.items():
            place = bisect_right(self.moments, self.clock.commits[txn])
            if place < len(self.slots):
                self.made.ways[vertex].append((self.slots[place], None))

    def chain(self, reader: int, events: set[int], into: list[Edge]) -> dict[int, int]:
        """A vertex per read: reached by whatever enters the reader there or earlier."""
        entered: dict[int, list[Edge]] = {}
        for edge in into:
            entered.setdefault(entry_node(self.analysis, edge), []).append(edge)
        timed = self.analysis.nodes.get(reader, []) if self.clock is not None else []
        vertices: dict[int, int] = {}
        last: int | None = None
        for event in sorted({*events, *entered, *timed}):
            vertex = vertices[event] = self.made.vertex()
            if last is not None:
                self.made.ways[last].append((vertex, None))
            last = vertex
            for edge in entered.get(event, ()):
                self.made.ways[self.made.number[edge.source]].append((vertex, None))
            if self.clock is not None:
                place = bisect_left(self.moments, event)
                if place < len(self.slots) and self.moments[place] == event:
                    self.made.ways[self.slots[place]].append((vertex, None))
        if last is not None:
            # Whatever has come in may go on from there.
            self.made.ways[last].append((self.made.number[reader], None))
        return vertices


def entry_node(analysis: Analysis, edge: Edge) -> int:
    """The node of its target that an edge enters: the read, or the final write."""
    if edge.event is not None and not edge.event_at_source:
        return edge.event
    return analysis.facts.created[edge.versions[-1]]


@dataclass(slots=True)
class Unfolded:
    """The graph with the reads and writes of one transaction as nodes."""

    analysis: Analysis
    scope: Scope
    reader: int
    out: dict[int, list[Edge]]
    starting: list[int]
    starts: list[float]
    led: int = 0

    @property
    def nodes(self) -> list[int]:
        """The reads and writes of T."""
        return self.analysis.nodes.get(self.reader, [])

    def cycle(self, leaving: Edge) -> tuple[Edge, ...] | None:
        """A shortest cycle that leaves T by an anti-dependency and comes back no later than there."""
        assert leaving.event is not None
        self.led = len(self.starts)
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
            yield edge, entry_node(self.analysis, edge) if edge.target == self.reader else -1
        if self.scope.clock is not None and self.analysis.text_clock is not None:
            yield from self.in_time(txn, self.analysis.text_clock)

    def in_time(self, txn: int, clock: Clock) -> Iterator[tuple[Edge, int]]:
        """Start edges: to T's first read or write after a commit; between others; from T at its end.

        Of others only those that no earlier commit led to: each is entered once in a search.
        """
        commit = clock.commits[txn]
        if txn != self.reader:
            place = bisect_right(self.nodes, commit)
            if place < len(self.nodes):
                node = self.nodes[place]
                yield Edge(Kind.TIME, txn, self.reader, event=node), node
        place = bisect_right(self.starts, commit)
        for other in self.starting[place : self.led]:
            if other not in (txn, self.reader):
                yield Edge(Kind.TIME, txn, other), -1
        self.led = min(self.led, place)

    def exit(self, edge: Edge) -> int:
        """The node of T that an edge leaves: its final write of the object behind it."""
        if edge.event is not None and edge.event_at_source:
            return edge.event
        return self.analysis.facts.created[edge.versions[0]]

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
