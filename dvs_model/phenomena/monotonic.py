"""Detects G-monotonic(T) and G-MSRb(T): T misses an effect that it has seen, or that was committed in time.

Adya 1999, section 4.2.1 (PL-2L, the unfolded graph USG) and 4.3.2 (PL-MSR, the same with start edges). The
reads and writes of T become nodes in their order; a cycle has exactly one anti-dependency, which leaves a
read of T. So a search goes from that read over the anti-dependency, then along other edges, back to that read
or an earlier one.

For PL-MSR each node of T has a point of its own, from which its snapshot is. Points are not stated in a
history, so the earliest are taken: not before T starts, and not before the commits of what T has read from up
to the node. Later points only add start edges, so a cycle with the earliest ones is there with all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.scope import Scope
from dvs_model.analysis.search import CHEAP, Web, reaches, web
from dvs_model.analysis.verdict import Cycle
from dvs_model.graph.edges import Budget, Edge
from dvs_model.graph.graph import Kind
from dvs_model.histories.clock import Clock
from dvs_model.phenomena.overlaps import LateEdges

SHOWN_OF = 12
"""The most cycles of one transaction that are searched, of which the shortest is shown."""

SHORTEST = 30
"""The transactions, from the first, for which a shortest cycle is searched; for others, any cycle."""


def unfolded_cycles(
    analysis: Analysis, scope: Scope, edges: Sequence[Edge], *, certain: bool
) -> tuple[Cycle, ...]:
    """Returns a cycle with exactly one anti-dependency for each transaction whose unfolded graph has one."""
    clock = analysis.text_clock if scope.clock is not None else None
    others = [edge for edge in edges if edge.kind is not Kind.RW]
    leaving = [edge for edge in edges if edge.kind is Kind.RW]
    candidates = _by_reader(analysis, clock, scope.budget, leaving, others)
    out: dict[int, list[Edge]] = {}
    into: dict[int, list[Edge]] = {}
    for edge in others if candidates else ():
        out.setdefault(edge.source, []).append(edge)
        if edge.target in candidates:
            into.setdefault(edge.target, []).append(edge)
    read_from: dict[int, list[Edge]] = {}
    if clock is not None and candidates:
        # Of each read the latest commit behind it, also of transactions that no cycle passes.
        latest = LateEdges(analysis.graph, clock, (Kind.WR,), lambda txn, note: float("-inf"))
        for edge in latest.edges(certain=certain):
            read_from.setdefault(edge.target, []).append(edge)
    starting = [] if clock is None else sorted(out, key=lambda txn: clock.starts[txn])
    starts = [] if clock is None else [clock.starts[txn] for txn in starting]
    cycles = []
    steps: Steps | None = None
    for number, (reader, anti) in enumerate(candidates.items()):
        points = [] if clock is None else earliest_points(analysis, clock, reader, read_from.get(reader, ()))
        entering = into.get(reader, ())
        unfolded = Unfolded(analysis, clock, scope.budget, reader, out, entering, starting, starts, points)
        best = None
        if number >= SHORTEST and clock is None:
            steps = steps or Steps(others, scope.budget)
            # Short ways are tried first from every read: each step more costs ten times as much.
            ways = (steps.cycle(edge, unfolded, limit) for limit in (1, 2, len(out)) for edge in anti)
            best = next((way for way in ways if way is not None), None)
        if best is None:
            shown = (cycle for edge in anti if (cycle := unfolded.cycle(edge)) is not None)
            best = min(islice(shown, SHOWN_OF if number < SHORTEST else 1), key=len, default=None)
        if best is not None:
            cycles.append(Cycle(best, f"T{reader}"))
    return tuple(sorted(cycles, key=lambda cycle: (len(cycle.edges), cycle.subject)))


def earliest_points(analysis: Analysis, clock: Clock, reader: int, read_from: Sequence[Edge]) -> list[float]:
    """Returns for each read and write of a transaction the earliest point of its snapshot, on the clock."""
    commits = sorted((entry_node(analysis, edge), clock.commits[edge.source]) for edge in read_from)
    points: list[float] = []
    latest, at = clock.starts[reader], 0
    for node in analysis.nodes.get(reader, ()):
        while at < len(commits) and commits[at][0] <= node:
            latest = max(latest, commits[at][1])
            at += 1
        # What was read before its commit is G-MSRa; no point is after the node itself.
        points.append(min(latest, node))
    return points


def _by_reader(
    analysis: Analysis, clock: Clock | None, budget: Budget, leaving: Sequence[Edge], others: Sequence[Edge]
) -> dict[int, list[Edge]]:
    """Returns, by reader, the anti-dependencies that may close a cycle; found for all readers at once.

    Each reader gets a chain of its entries: a way to the entry of a read is one that comes in there or
    earlier. Ways through the reader itself are not unfolded here, so that a few edges too many may be named.
    Where there are few edges, all are named: then a search from each is cheaper.
    """
    by_reader: dict[int, list[Edge]] = {}
    if len(leaving) * len(others) <= CHEAP:
        for edge in leaving:
            by_reader.setdefault(edge.source, []).append(edge)
        return by_reader
    graph = web(others, clock, {txn for edge in (*leaving, *others) for txn in (edge.source, edge.target)})
    entries = Entries(analysis, graph, clock)
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
    pairs = [(graph.number[edge.target], gates[edge.source, edge.event or 0]) for edge in leaving]
    for edge, reached in zip(leaving, reaches(graph, pairs, budget), strict=True):
        if reached:
            by_reader.setdefault(edge.source, []).append(edge)
    return by_reader


@dataclass(slots=True)
class Entries:
    """Adds to a web vertices for the entries of readers and, where time counts, for the moments of events."""

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
            self.made.ways[early].append((late, None, False))
        for txn, vertex in self.made.number.items():
            place = bisect_right(self.moments, self.clock.commits[txn])
            if place < len(self.slots):
                self.made.ways[vertex].append((self.slots[place], None, True))

    def chain(self, reader: int, events: set[int], into: list[Edge]) -> dict[int, int]:
        """Maps each event to a vertex that is reached by whatever enters the reader there or earlier."""
        entered: dict[int, list[Edge]] = {}
        for edge in into:
            entered.setdefault(entry_node(self.analysis, edge), []).append(edge)
        timed = self.analysis.nodes.get(reader, []) if self.clock is not None else []
        vertices: dict[int, int] = {}
        last: int | None = None
        for event in sorted({*events, *entered, *timed}):
            vertex = vertices[event] = self.made.vertex()
            if last is not None:
                self.made.ways[last].append((vertex, None, False))
            last = vertex
            for edge in entered.get(event, ()):
                self.made.ways[self.made.number[edge.source]].append((vertex, None, True))
            if self.clock is not None:
                place = bisect_left(self.moments, event)
                if place < len(self.slots) and self.moments[place] == event:
                    self.made.ways[self.slots[place]].append((vertex, None, False))
        if last is not None:
            # A way that has entered the reader may go on from it.
            self.made.ways[last].append((self.made.number[reader], None, False))
        return vertices


def entry_node(analysis: Analysis, edge: Edge) -> int:
    """Returns the event of its target that an edge enters: the read, or the final write."""
    if edge.event is not None and not edge.event_at_source:
        return edge.event
    return analysis.facts.created[edge.versions[-1]]


_NOBODY: set[int] = set()


class Steps:
    """The edges other than anti-dependencies between transactions, for searches that do not pass T itself.

    `after`: the targets by source. `first`: an edge by its ends.
    """

    def __init__(self, others: Sequence[Edge], budget: Budget) -> None:
        self.budget = budget
        self.after: dict[int, set[int]] = {}
        self.first: dict[tuple[int, int], Edge] = {}
        for edge in others:
            self.after.setdefault(edge.source, set()).add(edge.target)
            self.first.setdefault((edge.source, edge.target), edge)

    def cycle(self, leaving: Edge, unfolded: Unfolded, limit: int) -> tuple[Edge, ...] | None:
        """Returns a cycle as `Unfolded.cycle` does, but one that passes T only once; None: there is none.

        `limit`: the most edges between other transactions.
        """
        assert leaving.event is not None
        closing = unfolded.closing(leaving.event)
        levels = [{leaving.target}]
        reached = {leaving.target, unfolded.reader}
        if leaving.target in closing:
            return leaving, closing[leaving.target]
        goals, ends = set(closing), set[int]()
        while levels[-1] and not ends and len(levels) <= limit:
            following: set[int] = set()
            for txn in levels[-1]:
                after = self.after.get(txn, _NOBODY)
                self.budget.spend()
                if ends := after & goals:
                    break
                following |= after
            levels.append(following - reached)
            reached |= following
        if not ends:
            return None
        way = [min(ends)]
        for level in reversed(levels[:-1]):
            way.append(min(txn for txn in level if way[-1] in self.after.get(txn, ())))
        between = pairwise(reversed(way))
        return (leaving, *(self.first[pair] for pair in between), closing[way[0]])


@dataclass(slots=True)
class Unfolded:
    """The graph with the reads and writes of one transaction T, the `reader`, as nodes.

    `out`: edges other than anti-dependencies by source; `into`: those into T. `starting`: their sources by
    start, at `starts`. `points`: of each node the point of its snapshot, ascending. `entered`: how many of
    `starting`, counted from the first, no start edge of this search has entered yet.
    """

    analysis: Analysis
    clock: Clock | None
    budget: Budget
    reader: int
    out: Mapping[int, list[Edge]]
    into: Sequence[Edge]
    starting: list[int]
    starts: list[float]
    points: list[float]
    entered: int = 0
    _closing: dict[int, dict[int, Edge]] = field(default_factory=dict)

    @property
    def nodes(self) -> list[int]:
        """The reads and writes of T as event numbers, in ascending order."""
        return self.analysis.nodes.get(self.reader, [])

    def closing(self, event: int) -> Mapping[int, Edge]:
        """Returns by source an edge into T at an event of T or before."""
        if event not in self._closing:
            closing = self._closing[event] = dict[int, Edge]()
            for edge in self.into:
                if edge.source not in closing and entry_node(self.analysis, edge) <= event:
                    closing[edge.source] = edge
        return self._closing[event]

    def cycle(self, leaving: Edge) -> tuple[Edge, ...] | None:
        """Returns a shortest cycle that leaves T by an anti-dependency and comes back there or earlier."""
        assert leaving.event is not None
        self.entered = len(self.starts)
        closing = self.closing(leaving.event)
        # A state is another transaction (with -1), or T with the event at which it was entered.
        parent: dict[tuple[int, int], tuple[tuple[int, int], Edge] | None] = {(leaving.target, -1): None}
        if (last := self.back(leaving.target, leaving.event, closing)) is not None:
            return leaving, last
        queue = deque(parent)
        while queue:
            state = queue.popleft()
            for edge, entry in self.steps(state):
                self.budget.spend()
                if edge.target == self.reader and entry <= leaving.event:
                    return (leaving, *self._back(parent, state), edge)
                after = edge.target, entry
                if after not in parent:
                    parent[after] = state, edge
                    # Seen here and not one step later, so that most of the graph is never visited.
                    last = self.back(edge.target, leaving.event, closing)
                    if last is not None:
                        return (leaving, *self._back(parent, after), last)
                    queue.append(after)
        return None

    def back(self, txn: int, event: int, closing: Mapping[int, Edge]) -> Edge | None:
        """Returns an edge from another transaction into T at an event or before; None: there is none."""
        if txn == self.reader:
            return None
        if txn not in closing and self.clock is not None:
            return next((edge for edge, entry in self.into_point(txn, self.clock) if entry <= event), None)
        return closing.get(txn)

    def into_point(self, txn: int, clock: Clock) -> Iterator[tuple[Edge, int]]:
        """Yields the start edge from another transaction to T's first point after its commit, if any."""
        place = bisect_right(self.points, clock.commits[txn])
        if place < len(self.nodes):
            node = self.nodes[place]
            yield Edge(Kind.TIME, txn, self.reader, event=node), node

    def steps(self, state: tuple[int, int]) -> Iterator[tuple[Edge, int]]:
        """Yields the edges out of a state, with the event at which they enter T, or -1."""
        txn, entry = state
        for edge in self.out.get(txn, ()):
            if txn == self.reader and self.exit(edge) < entry:
                continue
            yield edge, entry_node(self.analysis, edge) if edge.target == self.reader else -1
        if self.clock is not None:
            yield from self.in_time(txn, self.clock)

    def in_time(self, txn: int, clock: Clock) -> Iterator[tuple[Edge, int]]:
        """Yields start edges: to T's first point after a commit, between others, and from T at its commit.

        Other transactions are entered once in a search, so those that an earlier step entered are left out.
        """
        commit = clock.commits[txn]
        if txn != self.reader:
            yield from self.into_point(txn, clock)
        place = bisect_right(self.starts, commit)
        for other in self.starting[place : self.entered]:
            if other not in (txn, self.reader):
                yield Edge(Kind.TIME, txn, other), -1
        self.entered = min(self.entered, place)

    def exit(self, edge: Edge) -> int:
        """Returns the event of T that an edge leaves: the read, or the final write of the object."""
        if edge.event is not None and edge.event_at_source:
            return edge.event
        return self.analysis.facts.created[edge.versions[0]]

    def _back(
        self,
        parent: dict[tuple[int, int], tuple[tuple[int, int], Edge] | None],
        state: tuple[int, int],
    ) -> list[Edge]:
        """Returns the edges from the start of the search to a state. `parent`: by state the step to it."""
        edges: list[Edge] = []
        step = parent[state]
        while step is not None:
            edges.append(step[1])
            step = parent[step[0]]
        return edges[::-1]
