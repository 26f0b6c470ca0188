"""Whether an order of transactions explains a history: by edges that are forced, then by a solver.

An alternative of a polygraph is excluded if one of its arcs leads back along a way that every order keeps;
then the other one is kept. That goes on as long as it finds something, and decides nearly everything. What is
left open is a formula with one variable for each pair. A solver proposes choices; each cycle that they close
becomes a clause, until a proposal closes none, or there is no further one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

from dvs_model.clients.polygraph import Polygraph, Sides, Why, together
from dvs_model.columns.lookup import below
from dvs_model.columns.reachable import order_of, reachable
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import Ways, labels_of
from dvs_model.observed.client import shortened
from dvs_model.observed.seen import Observed

TOLD = 12
"""Orders of two writes that are explained, of those that a refutation needs."""

AT_ONCE = 400
"""Arcs of a proposal through which cycles are looked for before the next proposal."""

DENSE = 5_000
"""Open arcs up to which all pairs of them that close a cycle become clauses at once."""


NOT_FOUND = "no order was found in {steps:,} steps, and none was excluded"
UNEXPLAINED = "no order of the transactions explains what was read"


@dataclass(frozen=True, slots=True)
class Found:
    """Whether an order exists; None: it is left open. `because`: in words; `txns`: by index, who shows it."""

    exists: bool | None
    because: str = ""
    txns: tuple[int, ...] = ()


def ordering(graph: Polygraph, observed: Observed, steps: int) -> Found:
    """Returns whether the alternatives of a graph can be chosen so that nothing closes a cycle.

    `steps`: conflicts that the solver may meet. Without the solver what forced edges do not decide is open.
    """
    deciding = _Deciding(graph, observed)
    return deciding.forced() or (deciding.solved(steps) if solver() else Found(None))


def solver() -> bool:
    """Tells whether the solver is installed: the extra `solver`."""
    return find_spec("pysat") is not None


WORDS = {
    Why.SESSION: "{a} comes before {b} in their session",
    Why.TIME: "{a} ended before {b} began",
    Why.READ: "{b} reads from {a}",
    Why.BEFORE: "{a} wrote key {key} before {b}",
    Why.REPLACED: "{a} read key {key} as it was before {b} wrote it",
}


class _Deciding:
    """A graph that is being decided.

    `kept`: the arcs that every order keeps, found so far; `round`, `side`: by arc when it was found, and the
    alternative that it is of (-1: none). `out`: by alternative the arc that excludes it, and the round.
    `open`: the arcs of the pairs that are open.
    """

    def __init__(self, graph: Polygraph, observed: Observed) -> None:
        self.graph, self.observed = graph, observed
        self.kept = graph.base.kept(_first(graph.vertices, graph.base.arcs))
        self.round = np.zeros(len(self.kept.why), np.int64)
        self.side = np.full(len(self.kept.why), -1, np.int64)
        self.out = np.full((2 * graph.pairs, 3), -1, np.int64)
        self.open = Sides(np.empty(0, np.int64), graph.base.kept(np.empty(0, np.int64)))
        self.rounds = 0

    # Forced edges

    def forced(self) -> Found | None:
        """Adds what is forced until nothing more is; returns the verdict if that decides it."""
        count = self.graph.vertices
        order = order_of(count, self.kept.arcs)
        if order is not None and self.graph.pairs:
            self.begin(order)
            order = order_of(count, self.kept.arcs)
        while order is not None and self.refuted() is None and len(self.open.of):
            self.rounds += 1
            kept = self.exclude(order, self.open)
            if not len(kept):
                return None
            chosen = np.zeros(len(self.out), np.bool_)
            chosen[kept] = True
            self.keep(self.open, chosen[self.open.of])
            closed = chosen | chosen[np.arange(len(chosen)) ^ 1]
            still = ~closed[self.open.of]
            self.open = Sides(self.open.of[still], self.open.arcs.kept(still))
            order = order_of(count, self.kept.arcs)
        pair = self.refuted()
        if pair is not None:
            return self.refutation([], (2 * pair, 2 * pair + 1))
        return self.refutation(self.circle(), ()) if order is None else Found(True)

    def refuted(self) -> int | None:
        """Returns a pair of which both alternatives are excluded; None: there is none."""
        both = np.flatnonzero((self.out[0::2, 2] >= 0) & (self.out[1::2, 2] >= 0))
        return int(both[0]) if len(both) else None

    def exclude(self, order: Ints, sides: Sides) -> Ints:
        """Excludes alternatives with an arc that leads back; returns those that are kept because of it."""
        arcs = sides.arcs.arcs
        back = np.flatnonzero(reachable(order, self.kept.arcs, arcs[:, ::-1]))
        excluded, first = np.unique(sides.of[back], return_index=True)
        self.out[excluded, :2], self.out[excluded, 2] = arcs[back[first]], self.rounds
        return np.asarray(excluded ^ 1)

    def keep(self, sides: Sides, chosen: Bools) -> None:
        """Adds arcs of alternatives."""
        every = together((self.kept, sides.arcs.kept(chosen)))
        added = int(chosen.sum())
        rounds = np.concatenate((self.round, np.full(added, self.rounds + 1)))
        side = np.concatenate((self.side, sides.of[chosen]))
        first = _first(self.graph.vertices, every.arcs)
        self.kept, self.round, self.side = every.kept(first), rounds[first], side[first]

    def begin(self, order: Ints) -> None:
        """Decides pairs by the order of their writes alone, and makes the arcs of what is left open.

        Keys that many have written are ordered by then, mostly: of these only neighbours need arcs.
        """
        graph = self.graph
        self.exclude(order, graph.order_arcs())
        number = graph.pair[:, 0]
        second_first = self.out[2 * number, 2] >= 0
        known = second_first | (self.out[2 * number + 1, 2] >= 0)
        rows = np.flatnonzero(known)
        needed = rows[_neighbours(graph, rows, second_first[rows], order)]
        sides = graph.sides(needed, second_first[needed])
        self.keep(sides, np.ones(len(sides.of), np.bool_))
        rows = np.flatnonzero(~known)
        of_both = [graph.sides(rows, np.full(len(rows), back)) for back in (False, True)]
        self.open = Sides(
            np.concatenate([each.of for each in of_both]), together([each.arcs for each in of_both])
        )

    # The solver

    def solved(self, steps: int) -> Found:
        """Decides what forced edges leave open."""
        from pysat.solvers import Glucose4

        order = order_of(self.graph.vertices, self.kept.arcs)
        assert order is not None
        arcs, of = self.open.arcs.arcs, self.open.of
        needed = ~reachable(order, self.kept.arcs, arcs)
        arcs, of = arcs[needed], of[needed]
        pairs, which = np.unique(of // 2, return_inverse=True)
        literal = (which + 1) * np.where(of % 2, -1, 1)
        with Glucose4() as formula:
            # Without a clause a variable has no value.
            formula.append_formula([[at, -at] for at in range(1, len(pairs) + 1)])
            formula.append_formula(_exclusive(order, self.kept.arcs, arcs, literal))
            while True:
                formula.conf_budget(max(1, steps - int(formula.accum_stats()["conflicts"])))
                possible = formula.solve_limited()
                if possible is None:
                    return Found(None, NOT_FOUND.format(steps=steps))
                if not possible:
                    return Found(False, UNEXPLAINED)
                values = np.array([0, *formula.get_model()])[np.abs(literal)]
                on = np.flatnonzero((values > 0) == (literal > 0))
                clauses = self.cycles(arcs[on], literal[on])
                if not clauses:
                    return Found(True)
                formula.append_formula(clauses)

    def cycles(self, chosen: Arcs, literal: Ints) -> list[list[int]]:
        """Returns clauses that exclude cycles of a proposal; none: it closes no cycle."""
        arcs = np.concatenate((self.kept.arcs, chosen))
        literals = np.concatenate((np.zeros(len(self.kept.arcs), np.int64), literal))
        labels = labels_of([arcs], self.graph.vertices)
        inside = np.flatnonzero(labels[arcs[:, 0]] == labels[arcs[:, 1]])
        ways: dict[int, list[tuple[int, int]]] = {}
        for (tail, head), of in zip(arcs[inside].tolist(), literals[inside].tolist(), strict=True):
            ways.setdefault(tail, []).append((head, of))
        open_ = inside[literals[inside] != 0]
        # Spread over all of them: neighbours lie on the same cycles.
        taken = open_[:: max(1, len(open_) // AT_ONCE)]
        found = {
            _clause(ways, tail, head, of)
            for (tail, head), of in zip(arcs[taken].tolist(), literals[taken].tolist(), strict=True)
        }
        return [list(clause) for clause in sorted(found)]

    # Words

    def circle(self) -> list[int]:
        """Returns the arcs of a cycle of what every order keeps."""
        arcs = self.kept.arcs
        labels = labels_of([arcs], self.graph.vertices)
        inside = np.flatnonzero(labels[arcs[:, 0]] == labels[arcs[:, 1]])
        # One that was found early needs the least explanation.
        first = int(inside[np.argmin(self.round[inside])])
        tail, head = arcs[first].tolist()
        return [first, *self.way(head, tail, int(self.round.max()))]

    def way(self, start: int, goal: int, last: int) -> list[int]:
        """Returns the arcs of a shortest way among those that were found up to a round."""
        known = np.flatnonzero(self.round <= last)
        arcs = self.kept.arcs[known]
        steps = list(pairwise(Ways(arcs).shortest(start, goal)))
        among = np.isin(arcs[:, 0], [tail for tail, _ in steps])
        number = dict(zip(map(tuple, arcs[among].tolist()), known[among].tolist(), strict=True))
        return [number[step] for step in steps]

    def refutation(self, circle: Sequence[int], excluded: Sequence[int]) -> Found:
        """Returns why no order is left: arcs of a cycle, or both alternatives of a pair that are excluded."""
        txns, told, done = dict[int, None](), list[str](), set(excluded)
        waiting = deque(excluded)
        if circle:
            told.append(self.said(circle, txns, waiting, done))
        while waiting:
            side = waiting.popleft()
            tail, head, last = self.out[side].tolist()
            row = self.graph.pair[np.flatnonzero(self.graph.pair[:, 0] == side // 2)[0]]
            first, second = self.named(int(row[2 + side % 2])), self.named(int(row[3 - side % 2]))
            way = self.said(self.way(head, tail, last), txns, waiting, done)
            txns |= dict.fromkeys(
                (int(row[2]), int(row[3]), tail % self.graph.count, head % self.graph.count)
            )
            if len(told) < TOLD:
                what = f"{first} did not write key {self.graph.names[row[1]]} before {second}"
                last_step = f"then {self.named(tail)} would come before {self.named(head)}"
                told.append(f"{what}: {last_step}, but {way}")
        return Found(False, ". ".join(told), tuple(txns))

    def said(self, arcs: Sequence[int], txns: dict[int, None], waiting: deque[int], done: set[int]) -> str:
        """Returns arcs in words, and notes the alternatives whose exclusion they depend on."""
        words = []
        for at in arcs:
            tail, head = (end % self.graph.count for end in self.kept.arcs[at].tolist())
            txns |= dict.fromkeys((tail, head))
            other = int(self.side[at]) ^ 1
            if self.side[at] >= 0 and other not in done:
                done.add(other)
                waiting.append(other)
            why, key = Why(self.kept.why[at]), self.graph.names[self.kept.key[at]]
            if why is not Why.SNAPSHOT:
                words.append(WORDS[why].format(a=self.named(tail), b=self.named(head), key=key))
        return shortened(words)

    def named(self, vertex: int) -> str:
        """Returns the name of the transaction of a vertex."""
        return f"T{self.observed.number(vertex % self.graph.count)}"


def _first(count: int, arcs: Arcs) -> Ints:
    """Returns which arcs are the first ones between their vertices."""
    _, first = np.unique(arcs[:, 0] * count + arcs[:, 1], return_index=True)
    return np.asarray(first, np.int64)


def _neighbours(graph: Polygraph, rows: Ints, second_first: Bools, order: Ints) -> Ints:
    """Returns the rows, by place, of decided pairs that no third writer of the key lies between.

    Only the first one that is later than a writer is asked whether it lies between.
    """
    place = np.empty(graph.vertices, np.int64)
    place[order] = np.arange(len(order))
    _, key, a, b = graph.pair[rows].T
    first, second = np.where(second_first, b, a), np.where(second_first, a, b)
    written = place[second + graph.vertices - graph.count]
    code = key * graph.count + first
    by = np.lexsort((written, code))
    begins = np.ones(len(by), np.bool_)
    begins[1:] = code[by][1:] != code[by][:-1]
    nearest = np.empty(len(by), np.int64)
    nearest[by] = second[by][np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    known = np.sort(code * graph.count + second)
    wanted = (key * graph.count + nearest) * graph.count + second
    at = np.minimum(below(known, wanted), len(known) - 1)
    between = (known[at] == wanted) & (nearest != second)
    return np.flatnonzero(~between)


def _exclusive(order: Ints, kept: Arcs, arcs: Arcs, literal: Ints) -> list[list[int]]:
    """Returns clauses: of two open arcs that close a cycle together, one does not hold."""
    if len(arcs) > DENSE:
        return []
    clauses = set[tuple[int, int]]()
    for begin in range(0, len(arcs), AT_ONCE):
        some = np.arange(begin, min(begin + AT_ONCE, len(arcs)))
        i, j = (each.ravel() for each in np.meshgrid(some, np.arange(len(arcs)), indexing="ij"))
        there = reachable(order, kept, np.column_stack((arcs[i, 1], arcs[j, 0])))
        i, j = i[there], j[there]
        back = reachable(order, kept, np.column_stack((arcs[j, 1], arcs[i, 0])))
        clauses |= set(zip((-literal[i[back]]).tolist(), (-literal[j[back]]).tolist(), strict=True))
    return [list(clause) for clause in sorted(clauses) if clause[0] < clause[1]]


def _clause(ways: Mapping[int, Sequence[tuple[int, int]]], tail: int, head: int, of: int) -> tuple[int, ...]:
    """Returns a clause that excludes a cycle through an arc with few choices in it."""
    cost, before = {head: 0}, dict[int, tuple[int, int]]()
    queue, done = deque([head]), set[int]()
    while tail not in done:
        vertex = queue.popleft()
        if vertex in done:
            continue
        done.add(vertex)
        for other, choice in ways[vertex]:
            more = cost[vertex] + (choice != 0)
            if more < cost.get(other, more + 1):
                cost[other], before[other] = more, (vertex, choice)
                if choice:
                    queue.append(other)
                else:
                    queue.appendleft(other)
    clause, at = {-of}, tail
    while at != head:
        at, choice = before[at]
        clause |= {-choice} if choice else set()
    return tuple(sorted(clause))
