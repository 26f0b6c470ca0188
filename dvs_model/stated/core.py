"""Choose a few cycles of a giant component, and tell which phenomena no cycle of it can be.

In most databases ww, wr and session edges lead from an earlier commit to a later one. Then a cycle needs an
anti-dependency (rw) that leads back: its reader committed after the writer whose write it missed. Where few
transactions are wrong there are few of these edges, even if the component has a million transactions. So
cycles are searched through them alone. What the found cycles show, the history has: an edge over a gap in a
version order or a session stands for a path with as many anti-dependencies. What they do not show must be
excluded here for all cycles, or the caller judges the whole component.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Ints
from dvs_model.graph.cycles import component_labels
from dvs_model.stated.arcs import Dependencies, DependentReads, Pairs
from dvs_model.stated.made import NOBODY, Made
from dvs_model.theory.names import Phenomenon

EDGES_TRIED = 300
"""Edges that lead back for which a cycle is searched once one was found: reports show only the first."""

STEPS = 3_000_000
"""Budget of vertices visited by all searches of one history together."""


P = Phenomenon


@dataclass(frozen=True, slots=True)
class Core:
    """`members`: transactions of some cycles. `excluded`: phenomena that no cycle of the history can be."""

    members: Ints
    excluded: frozenset[Phenomenon]


FORWARD = frozenset(
    {P.G0, P.G1A, P.G1B, P.G1C, P.G1C_SESSION, P.G1C_REALTIME, P.G_SIA, P.G_MSRA, P.G1_PREDA, P.G1_PREDB}
)
"""Phenomena that are excluded from the start. Their cycles have no anti-dependency, and edges that all lead
forward close no cycle. Or they are no cycles: `stated.dirty_reads` looks for them, and columns have no
predicates."""

ONE = frozenset({P.G_SINGLE, P.G_CURSOR, P.G_MONOTONIC})
"""Phenomena that need a cycle of dependencies with exactly one anti-dependency."""

ANY = ONE | {P.G2, P.G2_ITEM, P.G_UPDATE}
"""Phenomena that need a cycle of dependencies with any number of anti-dependencies."""


def core(versions: Made, reads: DependentReads, found: Dependencies, session: Pairs) -> Core | None:
    """Returns some cycles of a history without derivations, and what no cycle can be.

    None: some ww, wr or session edge does not lead from an earlier commit to a later one.
    """
    commit, (ww, wr, rw) = versions.lives.end, (found.ww, found.wr, found.rw)
    if any((commit[tails] >= commit[heads]).any() for tails, heads in (ww, wr, session)):
        return None
    back = np.flatnonzero(commit[rw[1]] < commit[rw[0]])
    readers, writers = rw[0][back].tolist(), rw[1][back].tolist()
    search = Search(len(commit), STEPS)
    kept: set[int] = set()
    excluded = set(FORWARD)
    # Once without and once with session order. `one`, `many`: the phenomena that are excluded if no cycle
    # with one anti-dependency is found, or no cycle at all.
    for also, one, many in (
        ([], ONE, ANY),
        ([session], {P.G_SINGLE_SESSION}, {P.G_SINGLE_SESSION, P.G2_SESSION}),
    ):
        forward = search.arcs([ww, wr, *also])
        single = cycles(search, forward, readers, writers, commit)
        kept.update(*single.shown)
        if single.complete and not single.shown:
            excluded |= one
        # An edge inside a component is on some cycle; without such an edge there is none.
        every = [ww, wr, rw, *also]
        labels = component_labels([tails for tails, _ in every], [heads for _, heads in every], len(commit))
        inside = [(r, w) for r, w in zip(readers, writers, strict=True) if labels[r] == labels[w]]
        if not inside:
            excluded |= many
        elif not single.shown:
            arcs = search.arcs(every)
            for reader, writer in inside[:EDGES_TRIED]:
                kept.update(search.way(arcs, writer, reader) or ())
    if not at_cursor(versions, reads):
        excluded.add(P.G_CURSOR)
    # Keep both ends of these edges in any case: if the writer committed before the reader started, real time
    # leads from it to the reader, and the two alone are a cycle with real time.
    kept.update(readers[:EDGES_TRIED], writers[:EDGES_TRIED])
    return Core(np.array(sorted(kept), np.int64), frozenset(excluded))


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles with one anti-dependency, each as its transactions.

    `complete`: whether a cycle was searched for through every edge that leads back, within the budget. Only
    then "none was found" means that there is none.
    """

    shown: list[list[int]]
    complete: bool


def cycles(
    search: Search, forward: ArcsByTail, readers: Sequence[int], writers: Sequence[int], commit: Ints
) -> Cycles:
    """Searches a way forward from the writer to the reader of each anti-dependency that leads back.

    The way and the anti-dependency are a cycle. `readers`, `writers`: the ends of these anti-dependencies.
    """
    shown: list[list[int]] = []
    for number, (reader, writer) in enumerate(zip(readers, writers, strict=True)):
        if number >= EDGES_TRIED and shown:
            return Cycles(shown, False)
        way = search.way(forward, writer, reader, commit)
        if way:
            shown.append(way)
        if search.steps <= 0:
            return Cycles(shown, False)
    return Cycles(shown, True)


@dataclass(frozen=True, slots=True)
class ArcsByTail:
    """Arcs by their tails: those out of transaction t lead to `heads[begins[t]:begins[t + 1]]`."""

    begins: list[int]
    heads: list[int]


@dataclass(slots=True)
class Search:
    """Breadth-first searches with one budget. `count`: of transactions. `steps`: how many are left."""

    count: int
    steps: int

    def arcs(self, pairs: Iterable[Pairs]) -> ArcsByTail:
        """Returns arcs of several kinds together, by their tails."""
        tails, heads = (np.concatenate(each) for each in zip(*pairs, strict=True))
        order = np.argsort(tails, kind="stable")
        begins = np.concatenate(([0], np.cumsum(np.bincount(tails, minlength=self.count))))
        return ArcsByTail(begins.tolist(), heads[order].tolist())

    def way(self, arcs: ArcsByTail, start: int, goal: int, commit: Ints | None = None) -> list[int] | None:
        """Returns the transactions of a shortest way, with its ends; None: there is none, or no step is left.

        `commit`: give it if all arcs lead from earlier commits to later ones. Then no transaction that
        committed after the goal needs to be visited, which keeps each search within a short time.
        """
        last = None if commit is None else int(commit[goal])
        # Also marks what was visited.
        parent = {start: start}
        queue = deque([start])
        while queue and self.steps > 0:
            vertex = queue.popleft()
            self.steps -= 1
            for head in arcs.heads[arcs.begins[vertex] : arcs.begins[vertex + 1]]:
                if head in parent or (last is not None and commit is not None and commit[head] > last):
                    continue
                parent[head] = vertex
                if head == goal:
                    return list(_back(parent, goal))
                queue.append(head)
        return None


def _back(parent: dict[int, int], vertex: int) -> Iterator[int]:
    """Yields the way from a vertex back to the start, which is its own parent."""
    yield vertex
    while parent[vertex] != vertex:
        vertex = parent[vertex]
        yield vertex


def at_cursor(versions: Made, reads: DependentReads) -> bool:
    """Tells whether a reader overwrote an object that another transaction had written since (G-cursor).

    That is so if the reader's own version of the object comes, in the version order, after the version that
    follows the one it read.
    """
    base = ~reads.derived
    reader, version = reads.reader[base], reads.version[base]
    following = versions.following[version]
    missed = following != NOBODY
    count = len(versions.lives.end)
    # Look up the version that the reader itself installed of the object, by (object, transaction) as one
    # number.
    wanted = versions.obj[version[missed]] * count + reader[missed]
    installed = versions.obj[versions.line] * count + versions.txn[versions.line]
    order = np.argsort(installed)
    if not len(order):
        return False
    at = np.minimum(np.searchsorted(installed[order], wanted), len(order) - 1)
    there = installed[order][at] == wanted
    # `line` has the orders one after the other, so places in it compare versions of one object. `order[at]`
    # is the place of the reader's own version.
    place = np.full(len(versions.event), NOBODY)
    place[versions.line] = np.arange(len(versions.line))
    return bool((there & (order[at] > place[following[missed]])).any())
