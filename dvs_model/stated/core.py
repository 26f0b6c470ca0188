"""A few cycles of a large component, and which phenomena none of its cycles can be.

Where every dependency but anti-dependencies leads from an earlier commit to a later one, as it does in most
databases, each cycle has an anti-dependency that leads back: its reader committed after the writer that the
reader missed. These are few where few transactions are wrong. So the transactions of some such cycles show
what there is; what they do not show must be excluded here, or the whole component is judged.

What a few transactions show is there in all: an edge over a gap in a version order or in a session stands for
a path with as many anti-dependencies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Ints
from dvs_model.graph.cycles import component_labels
from dvs_model.stated.arcs import Dependencies, Pairs, Reads
from dvs_model.stated.made import NOBODY, Made
from dvs_model.theory.names import Phenomenon

TRIED = 300
"""Anti-dependencies that lead back, of which a cycle is searched for that reports can show."""

STEPS = 3_000_000
"""Steps of all searches in one component."""


P = Phenomenon


@dataclass(frozen=True, slots=True)
class Core:
    """Some transactions of cycles, and the phenomena that no cycle of the history is."""

    members: Ints
    excluded: frozenset[Phenomenon]


FORWARD = frozenset(
    {P.G0, P.G1A, P.G1B, P.G1C, P.G1C_SESSION, P.G1C_REALTIME, P.G_SIA, P.G_MSRA, P.G1_PREDA, P.G1_PREDB}
)
"""What needs no anti-dependency: a cycle that leads forward alone, or what is looked for in each read."""

ONE = frozenset({P.G_SINGLE, P.G_CURSOR, P.G_MONOTONIC})
"""What needs a cycle of dependencies with one anti-dependency."""

ANY = ONE | {P.G2, P.G2_ITEM, P.G_UPDATE}
"""What needs a cycle of dependencies."""


def core(made: Made, reads: Reads, found: Dependencies, session: Pairs) -> Core | None:
    """Returns some cycles of a history without derivations; None: its dependencies lead back and forth."""
    commit, (ww, wr, rw) = made.lives.end, (found.ww, found.wr, found.rw)
    if any((commit[tails] >= commit[heads]).any() for tails, heads in (ww, wr, session)):
        return None
    back = np.flatnonzero(commit[rw[1]] < commit[rw[0]])
    readers, writers = rw[0][back].tolist(), rw[1][back].tolist()
    search = Search(len(commit), STEPS)
    kept: set[int] = set()
    excluded = set(FORWARD)
    for also, one, many in (
        ([], ONE, ANY),
        ([session], {P.G_SINGLE_SESSION}, {P.G_SINGLE_SESSION, P.G2_SESSION}),
    ):
        forward = search.arcs([ww, wr, *also])
        single = cycles(search, forward, readers, writers, commit)
        kept.update(*single.shown)
        if single.complete and not single.shown:
            excluded |= one
        knots = in_knots([ww, wr, rw, *also], len(commit))
        inside = [(r, w) for r, w in zip(readers, writers, strict=True) if knots[r] and knots[r] == knots[w]]
        if not inside:
            excluded |= many
        elif not single.shown:
            every = search.arcs([ww, wr, rw, *also])
            for reader, writer in inside[:TRIED]:
                kept.update(search.way(every, writer, reader) or ())
    if not at_cursor(made, reads):
        excluded.add(P.G_CURSOR)
    # The pairs themselves: where real time leads from the writer to the reader they are cycles.
    kept.update(readers[:TRIED], writers[:TRIED])
    return Core(np.array(sorted(kept), np.int64), frozenset(excluded))


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles with one anti-dependency. `complete`: each that leads back was tried to its end."""

    shown: list[list[int]]
    complete: bool


def cycles(
    search: Search, forward: Arcs, readers: Sequence[int], writers: Sequence[int], commit: Ints
) -> Cycles:
    """Returns the transactions of cycles that an anti-dependency closes with a way that leads forward."""
    shown: list[list[int]] = []
    for number, (reader, writer) in enumerate(zip(readers, writers, strict=True)):
        if number >= TRIED and shown:
            return Cycles(shown, False)
        way = search.way(forward, writer, reader, commit)
        if way:
            shown.append(way)
        if search.steps <= 0:
            return Cycles(shown, False)
    return Cycles(shown, True)


@dataclass(frozen=True, slots=True)
class Arcs:
    """The heads of the arcs out of each transaction: from `begins` on, up to that of the next one."""

    begins: list[int]
    heads: list[int]


@dataclass(slots=True)
class Search:
    """Searches for ways between transactions. `steps`: how many are left."""

    count: int
    steps: int

    def arcs(self, pairs: Iterable[Pairs]) -> Arcs:
        """Returns arcs by their tails."""
        tails, heads = (np.concatenate(each) for each in zip(*pairs, strict=True))
        order = np.argsort(tails, kind="stable")
        begins = np.concatenate(([0], np.cumsum(np.bincount(tails, minlength=self.count))))
        return Arcs(begins.tolist(), heads[order].tolist())

    def way(self, arcs: Arcs, start: int, goal: int, commit: Ints | None = None) -> list[int] | None:
        """Returns the transactions of a shortest way, with its ends; None: there is none, or no step is left.

        `commit`: arcs lead from earlier to later ones, so that nothing behind the goal needs to be visited.
        """
        last = None if commit is None else int(commit[goal])
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
    yield vertex
    while parent[vertex] != vertex:
        vertex = parent[vertex]
        yield vertex


def in_knots(pairs: Iterable[Pairs], count: int) -> Ints:
    """Returns the component of each transaction, from 1; 0: it is alone in it."""
    tails, heads = (np.concatenate(each) for each in zip(*pairs, strict=True))
    labels = component_labels(tails, heads, count)
    found: Ints = np.where(np.bincount(labels)[labels] > 1, labels + 1, 0)
    return found


def at_cursor(made: Made, reads: Reads) -> bool:
    """Whether a reader has overwritten what another one wrote since: that is G-cursor.

    Its own version of the object comes after the one that follows what it has read.
    """
    base = ~reads.derived
    reader, version = reads.reader[base], reads.version[base]
    following = made.following[version]
    missed = following != NOBODY
    count = len(made.lives.end)
    wanted = made.obj[version[missed]] * count + reader[missed]
    installed = made.obj[made.line] * count + made.txn[made.line]
    order = np.argsort(installed)
    if not len(order):
        return False
    at = np.minimum(np.searchsorted(installed[order], wanted), len(order) - 1)
    there = installed[order][at] == wanted
    # Places in the line of all version orders.
    place = np.full(len(made.event), NOBODY)
    place[made.line] = np.arange(len(made.line))
    return bool((there & (order[at] > place[following[missed]])).any())
