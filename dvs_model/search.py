"""Cycles in a small explicit graph: reachability for many pairs at once, and shortest ways back.

Transactions of one analysis are joined by edges; where time counts, a chain of moments stands for "commits
before .. starts", so that nobody writes all pairs down. Simple cycles are never enumerated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from dvs_model.clock import Clock, moments
from dvs_model.edges import Budget, Edge
from dvs_model.graph import Kind, strong_labels

BLOCK = 2048
"""Sources whose reachability is carried along in one pass, a bit each."""

TRIES = 150
"""Edges from which a shortest cycle is sought; the smallest found is shown."""


@dataclass(slots=True)
class Web:
    """Transactions and moments, and the ways between them. `ways[v]`: (head, edge), None along the chain."""

    ways: list[list[tuple[int, Edge | None]]] = field(default_factory=list)
    number: dict[int, int] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)
    """Per vertex of a transaction the transaction."""

    def vertex(self) -> int:
        """A new vertex."""
        self.ways.append([])
        return len(self.ways) - 1

    def node(self, txn: int) -> int:
        """A transaction's vertex."""
        found = self.number.get(txn)
        if found is None:
            found = self.number[txn] = self.vertex()
            self.owner[found] = txn
        return found


def web(edges: Iterable[Edge], clock: Clock | None = None, also: Iterable[int] = ()) -> Web:
    """A web of edges; with a clock also of "commits before the start of" among their ends and `also`."""
    made = Web()
    for edge in edges:
        made.ways[made.node(edge.source)].append((made.node(edge.target), edge))
    for txn in also:
        made.node(txn)
    if clock is not None:
        add_time(made, clock)
    return made


def add_time(made: Web, clock: Clock) -> None:
    """The chain of moments at which transactions start."""
    txns = list(made.number)
    starts, following = moments(clock, txns)
    slots = [made.vertex() for _ in starts]
    place = dict(zip(starts, slots, strict=True))
    for early, late in pairwise(slots):
        made.ways[early].append((late, None))
    for txn in txns:
        made.ways[place[clock.starts[txn]]].append((made.number[txn], None))
    for txn, after in following.items():
        made.ways[made.number[txn]].append((slots[after], None))


def reaches(made: Web, pairs: Sequence[tuple[int, int]], budget: Budget) -> list[bool]:
    """For every pair of vertices whether the first reaches the second (or is it)."""
    tails = (vertex for vertex, ways in enumerate(made.ways) for _ in ways)
    heads = (head for ways in made.ways for head, _ in ways)
    labels = strong_labels(tails, heads, len(made.ways))
    count = max(labels, default=-1) + 1
    answers = [labels[a] == labels[b] for a, b in pairs]
    open_pairs = [n for n, found in enumerate(answers) if not found]
    if not open_pairs:
        return answers
    below, order = _condensed(made, labels, count)
    sources = list(dict.fromkeys(labels[pairs[n][0]] for n in open_pairs))
    for begin in range(0, len(sources), BLOCK):
        bits = {label: 1 << n for n, label in enumerate(sources[begin : begin + BLOCK])}
        seen = [0] * count
        budget.spend(len(order))
        for label in order:
            mine = seen[label] | bits.get(label, 0)
            seen[label] = mine
            if mine:
                for head in below[label]:
                    seen[head] |= mine
        for n in open_pairs:
            bit = bits.get(labels[pairs[n][0]])
            if bit is not None and seen[labels[pairs[n][1]]] & bit:
                answers[n] = True
    return answers


def _condensed(made: Web, labels: list[int], count: int) -> tuple[list[set[int]], list[int]]:
    """The components as a graph without cycles, and an order in which arcs go forward."""
    below: list[set[int]] = [set() for _ in range(count)]
    for vertex, ways in enumerate(made.ways):
        for head, _ in ways:
            if labels[head] != labels[vertex]:
                below[labels[vertex]].add(labels[head])
    entering = [0] * count
    for heads in below:
        for head in heads:
            entering[head] += 1
    order = [label for label in range(count) if entering[label] == 0]
    for label in order:
        for head in below[label]:
            entering[head] -= 1
            if entering[head] == 0:
                order.append(head)
    return below, order


def shortest(made: Web, start: int, goal: int, budget: Budget) -> tuple[Edge, ...] | None:
    """The edges of a shortest way, the moments on it folded into time edges; None: there is none."""
    parent: dict[int, tuple[int, Edge | None]] = {start: (start, None)}
    queue = deque([start])
    while queue and goal not in parent:
        vertex = queue.popleft()
        budget.spend()
        for head, edge in made.ways[vertex]:
            if head not in parent:
                parent[head] = vertex, edge
                queue.append(head)
    if goal not in parent:
        return None
    steps: list[tuple[int, Edge | None]] = []
    vertex = goal
    while vertex != start:
        before, edge = parent[vertex]
        steps.append((vertex, edge))
        vertex = before
    return tuple(_folded(made, start, reversed(steps)))


def _folded(made: Web, start: int, steps: Iterable[tuple[int, Edge | None]]) -> Iterator[Edge]:
    since = made.owner.get(start)
    for vertex, edge in steps:
        txn = made.owner.get(vertex)
        if edge is not None:
            yield edge
        elif txn is not None and since is not None:
            yield Edge(Kind.TIME, since, txn)
        if txn is not None:
            since = txn


def smallest_cycle(
    through: Iterable[Edge],
    made: Web,
    budget: Budget,
    *,
    tries: int = TRIES,
) -> tuple[Edge, ...] | None:
    """The shortest cycle found that begins with one of some edges and goes back along the web."""
    best: tuple[Edge, ...] | None = None
    for edge in islice(through, tries):
        if best is not None and len(best) == 2:
            break
        start, goal = made.number.get(edge.target), made.number.get(edge.source)
        if start is None or goal is None:
            continue
        back = shortest(made, start, goal, budget)
        if back is not None and (best is None or len(back) + 1 < len(best)):
            best = (edge, *back)
    return best
