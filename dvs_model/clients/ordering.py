"""Decide whether the alternatives of a polygraph can be chosen so that no cycle closes, as Cobra and PolySI
do.

First by forced edges: if an arc of one alternative would close a cycle with arcs that every order keeps, that
alternative is excluded and the other one is kept. This is repeated until it finds nothing more; it decides
nearly everything, and it gives a reason in words. What is left open becomes a formula for a SAT solver, with
one variable per pair of writers. The solver proposes choices, each cycle that they close is added as a
clause, and so on, until a proposal closes no cycle or none is left (lazy clause generation).
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
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import Ways, cheapest_way, labels_of, order_of, reachable
from dvs_model.observed.client import shortened
from dvs_model.observed.seen import Observed

ALTERNATIVES_TOLD = 12
"""Excluded alternatives that are explained in words. A refutation may need hundreds, which nobody reads."""

AT_ONCE = 400
"""Chosen arcs of one proposal through each of which a cycle is looked for before the next proposal.

More cycles for each proposal mean fewer proposals, and one search each. Also the block size in `_exclusive`.
"""

DENSE = 5_000
"""Open arcs up to which all pairs of them are tested in advance; the pairs are quadratically many."""

NOT_FOUND = "no order was found in {steps:,} steps, and none was excluded"
UNEXPLAINED = "no order of the transactions explains what was read"


@dataclass(frozen=True, slots=True)
class Found:
    """The answer: whether an order exists; None: it is left open.

    `because`: why no order exists, in words. `txns`: the indexes of the transactions that these words name.
    """

    exists: bool | None
    because: str = ""
    txns: tuple[int, ...] = ()


def ordering(graph: Polygraph, observed: Observed, steps: int) -> Found:
    """Returns whether the alternatives of a graph can be chosen so that no cycle closes.

    `steps`: conflicts that the solver may meet (a count, not a time, so that verdicts are repeatable). If the
    solver is not installed, what forced edges do not decide stays open.
    """
    deciding = _Deciding(graph, observed)
    return deciding.forced() or (deciding.solved(steps) if solver() else Found(None))


def solver() -> bool:
    """Tells whether the solver is installed, which is the optional dependency `solver` (python-sat)."""
    return find_spec("pysat") is not None


WORDS = {
    Why.SESSION: "{a} comes before {b} in their session",
    Why.TIME: "{a} ended before {b} began",
    Why.READ: "{b} reads from {a}",
    Why.BEFORE: "{a} wrote key {key} before {b}",
    Why.REPLACED: "{a} read key {key} as it was before {b} wrote it",
}


class _Deciding:
    """A graph while it is being decided.

    Alternatives are numbered: 2p and 2p + 1 are those of pair p, so `side ^ 1` is the other one of `side`.
    `kept`: the arcs found so far that every order keeps. `round`, `side`: one int64 per kept arc, the round
    in which it was found, and the alternative that it belongs to (-1: none). `out`: a row (tail, head, round)
    per alternative, the arc that excludes it and the round in which it did; -1: not excluded. `open`: the
    arcs of pairs of which neither alternative is excluded. Rounds keep explanations well-founded: what
    excludes an alternative in round r uses only arcs of rounds up to r.
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
        """Adds forced edges until there are no more; returns the verdict if they decide it, else None."""
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
            # A pair is closed if either of its alternatives was chosen: `^ 1` swaps the two.
            closed = chosen | chosen[np.arange(len(chosen)) ^ 1]
            still = ~closed[self.open.of]
            self.open = Sides(self.open.of[still], self.open.arcs.kept(still))
            order = order_of(count, self.kept.arcs)
        pair = self.refuted()
        if pair is not None:
            return self.refutation([], (2 * pair, 2 * pair + 1))
        return self.refutation(self.circle(), ()) if order is None else Found(True)

    def refuted(self) -> int | None:
        """Returns a pair with both alternatives excluded, so that no order exists; None: there is none."""
        both = np.flatnonzero((self.out[0::2, 2] >= 0) & (self.out[1::2, 2] >= 0))
        return int(both[0]) if len(both) else None

    def exclude(self, order: Ints, sides: Sides) -> Ints:
        """Excludes each alternative with an arc that would close a cycle; returns those kept instead.

        An arc closes a cycle if its head reaches its tail along kept arcs. `order`: the vertices, so that
        every kept arc leads forward.
        """
        arcs = sides.arcs.arcs
        back = np.flatnonzero(reachable(order, self.kept.arcs, arcs[:, ::-1]))
        excluded, first = np.unique(sides.of[back], return_index=True)
        self.out[excluded, :2], self.out[excluded, 2] = arcs[back[first]], self.rounds
        return np.asarray(excluded ^ 1)

    def keep(self, sides: Sides, chosen: Bools) -> None:
        """Adds arcs of alternatives to those that every order keeps. `chosen`: which arcs of `sides`.

        Of several arcs between the same two vertices the first one stays: it was found earliest, and needs
        the shortest explanation.
        """
        every = together((self.kept, sides.arcs.kept(chosen)))
        added = int(chosen.sum())
        rounds = np.concatenate((self.round, np.full(added, self.rounds + 1)))
        side = np.concatenate((self.side, sides.of[chosen]))
        first = _first(self.graph.vertices, every.arcs)
        self.kept, self.round, self.side = every.kept(first), rounds[first], side[first]

    def begin(self, order: Ints) -> None:
        """Decides pairs by the order of their writes alone, and makes the arcs of the pairs left open.

        A pair has one arc for the order of its writes, and one for each reader of either version. To make
        all of them for a key with thousands of writers would be too much. But most pairs are decided by the
        first arc already, and of decided pairs only neighbours in the version order need their other arcs.
        """
        graph = self.graph
        self.exclude(order, graph.order_arcs())
        # A pair has a row for each key that both wrote; rows share the fate of their pair.
        number = graph.pair[:, 0]
        second_first = self.out[2 * number, 2] >= 0
        decided = second_first | (self.out[2 * number + 1, 2] >= 0)
        rows = np.flatnonzero(decided)
        needed = rows[_neighbours(graph, rows, second_first[rows], order)]
        sides = graph.sides(needed, second_first[needed])
        self.keep(sides, np.ones(len(sides.of), np.bool_))
        rows = np.flatnonzero(~decided)
        of_both = [graph.sides(rows, np.full(len(rows), back)) for back in (False, True)]
        self.open = Sides(
            np.concatenate([each.of for each in of_both]), together([each.arcs for each in of_both])
        )

    # The solver

    def solved(self, steps: int) -> Found:
        """Decides with a SAT solver what forced edges leave open. `steps`: the conflicts that it may meet."""
        # Imported here because the solver is optional.
        from pysat.solvers import Glucose4

        order = order_of(self.graph.vertices, self.kept.arcs)
        assert order is not None
        arcs, of = self.open.arcs.arcs, self.open.of
        # An arc along a way that is kept anyway adds nothing.
        needed = ~reachable(order, self.kept.arcs, arcs)
        arcs, of = arcs[needed], of[needed]
        pairs, which = np.unique(of // 2, return_inverse=True)
        # One variable per pair, from 1: true is its alternative 2p, false is 2p + 1. The literal of an arc is
        # true if its alternative is chosen.
        literal = (which + 1) * np.where(of % 2, -1, 1)
        with Glucose4() as formula:
            # Each variable needs a clause, or the model gives it no value: "a or not a" always holds.
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
        """Returns clauses that exclude cycles of a proposal; empty: the proposal closes no cycle.

        `chosen`, `literal`: the arcs of the chosen alternatives, and the literal of each.
        """
        arcs = np.concatenate((self.kept.arcs, chosen))
        # 0 marks an arc that every order keeps: it is no choice, so it is in no clause.
        literals = np.concatenate((np.zeros(len(self.kept.arcs), np.int64), literal))
        labels = labels_of([arcs], self.graph.vertices)
        inside = np.flatnonzero(labels[arcs[:, 0]] == labels[arcs[:, 1]])
        ways: dict[int, list[tuple[int, int, bool]]] = {}
        for (tail, head), of in zip(arcs[inside].tolist(), literals[inside].tolist(), strict=True):
            ways.setdefault(tail, []).append((head, of, of != 0))
        open_ = inside[literals[inside] != 0]
        # Take arcs at equal distances: neighbours in the array mostly lie on the same cycles.
        sample = open_[:: max(1, len(open_) // AT_ONCE)]
        found = {
            _clause(ways, tail, head, of)
            for (tail, head), of in zip(arcs[sample].tolist(), literals[sample].tolist(), strict=True)
        }
        return [list(clause) for clause in sorted(found)]

    # Words

    def circle(self) -> list[int]:
        """Returns a cycle of kept arcs, as places in `kept`. There is one: call it only then."""
        arcs = self.kept.arcs
        labels = labels_of([arcs], self.graph.vertices)
        inside = np.flatnonzero(labels[arcs[:, 0]] == labels[arcs[:, 1]])
        # An arc of an early round depends on few others, so it needs the shortest explanation.
        first = int(inside[np.argmin(self.round[inside])])
        tail, head = arcs[first].tolist()
        return [first, *self.way(head, tail, int(self.round.max()))]

    def way(self, start: int, goal: int, last: int) -> list[int]:
        """Returns a shortest way along the arcs found up to round `last`, as places in `kept`.

        Later arcs are left out: they may follow from the very thing that the way is to explain.
        """
        rows = np.flatnonzero(self.round <= last)
        arcs = self.kept.arcs[rows]
        steps = list(pairwise(Ways(arcs).shortest(start, goal)))
        among = np.isin(arcs[:, 0], [tail for tail, _ in steps])
        number = dict(zip(map(tuple, arcs[among].tolist()), rows[among].tolist(), strict=True))
        return [number[step] for step in steps]

    def refutation(self, circle: Sequence[int], excluded: Sequence[int]) -> Found:
        """Returns why no order is left, in words.

        `circle`: the arcs of a cycle, or `excluded`: both alternatives of one pair. An explanation may depend
        on alternatives that were excluded earlier; these wait in a queue and are explained after it.
        """
        txns, texts, done = dict[int, None](), list[str](), set(excluded)
        waiting = deque(excluded)
        if circle:
            texts.append(self.said(circle, txns, waiting, done))
        while waiting:
            side = waiting.popleft()
            tail, head, last = self.out[side].tolist()
            # Any row of the pair will do: it names a key that both wrote.
            row = self.graph.pair[np.flatnonzero(self.graph.pair[:, 0] == side // 2)[0]]
            first, second = self.named(int(row[2 + side % 2])), self.named(int(row[3 - side % 2]))
            way = self.said(self.way(head, tail, last), txns, waiting, done)
            # A vertex modulo `count` is its transaction: with two layers the second one is shifted by
            # `count`.
            txns |= dict.fromkeys(
                (int(row[2]), int(row[3]), tail % self.graph.count, head % self.graph.count)
            )
            if len(texts) < ALTERNATIVES_TOLD:
                what = f"{first} did not write key {self.graph.names[row[1]]} before {second}"
                last_step = f"then {self.named(tail)} would come before {self.named(head)}"
                texts.append(f"{what}: {last_step}, but {way}")
        return Found(False, ". ".join(texts), tuple(txns))

    def said(self, arcs: Sequence[int], txns: dict[int, None], waiting: deque[int], done: set[int]) -> str:
        """Returns arcs in words, and queues the excluded alternatives that they depend on.

        An arc of an alternative is kept because the other alternative, `^ 1`, was excluded.
        """
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
    """Returns the places of arcs without repetition: the first arc between each two vertices."""
    _, first = np.unique(arcs[:, 0] * count + arcs[:, 1], return_index=True)
    return np.asarray(first, np.int64)


def _neighbours(graph: Polygraph, rows: Ints, second_first: Bools, order: Ints) -> Ints:
    """Returns places in `rows` of the decided pairs that are neighbours in the version order of their key.

    If a third writer lies between two, their arcs follow from those of the two closer pairs. Only one writer
    is tested, the earliest that is known to be later than the first of the pair. If it does not lie between,
    the pair counts as neighbours: an arc too many does no harm.

    `rows`: places in `pair` of the graph. `second_first`: by row, whether the second transaction wrote first.
    """
    place = np.empty(graph.vertices, np.int64)
    place[order] = np.arange(len(order))
    _, key, a, b = graph.pair[rows].T
    first, second = np.where(second_first, b, a), np.where(second_first, a, b)
    # The vertex of a transaction's writes is its second one, if it has two.
    written = place[second + graph.vertices - graph.count]
    # Sorted by (key, first) and then by when the other wrote: the first of each group is the nearest writer.
    code = key * graph.count + first
    by = np.lexsort((written, code))
    begins = np.ones(len(by), np.bool_)
    begins[1:] = code[by][1:] != code[by][:-1]
    nearest = np.empty(len(by), np.int64)
    nearest[by] = second[by][np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    # The nearest writer lies between if "nearest before second" is a decided pair of the same key.
    decided = np.sort(code * graph.count + second)
    wanted = (key * graph.count + nearest) * graph.count + second
    at = np.minimum(below(decided, wanted), len(decided) - 1)
    between = (decided[at] == wanted) & (nearest != second)
    return np.flatnonzero(~between)


def _exclusive(order: Ints, kept: Arcs, arcs: Arcs, literal: Ints) -> list[list[int]]:
    """Returns a clause for each two open arcs that close a cycle together: one of them does not hold.

    They only spare the solver proposals that must fail. A cycle that is not excluded here is found by
    `_Deciding.cycles` later.
    """
    if len(arcs) > DENSE:
        return []
    clauses = set[tuple[int, int]]()
    for begin in range(0, len(arcs), AT_ONCE):
        some = np.arange(begin, min(begin + AT_ONCE, len(arcs)))
        i, j = (each.ravel() for each in np.meshgrid(some, np.arange(len(arcs)), indexing="ij"))
        # A cycle: the head of i reaches the tail of j, and the head of j reaches the tail of i.
        there = reachable(order, kept, np.column_stack((arcs[i, 1], arcs[j, 0])))
        i, j = i[there], j[there]
        back = reachable(order, kept, np.column_stack((arcs[j, 1], arcs[i, 0])))
        clauses |= set(zip((-literal[i[back]]).tolist(), (-literal[j[back]]).tolist(), strict=True))
    return [list(clause) for clause in sorted(clauses) if clause[0] < clause[1]]


def _clause(
    ways: Mapping[int, Sequence[tuple[int, int, bool]]], tail: int, head: int, of: int
) -> tuple[int, ...]:
    """Returns a clause that excludes a cycle through an arc, with as few choices as possible.

    A short clause excludes more proposals. So a kept arc costs nothing and a chosen one costs 1.

    `ways`: by tail the (head, literal, cost) of its arcs; literal 0: a kept arc. `of`: that of the arc.
    """
    way = cheapest_way(ways, head, tail)
    assert way is not None
    return tuple(sorted({-of, *(-choice for _, choice in way if choice)}))
