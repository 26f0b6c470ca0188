"""Dependencies through derived versions, as arcs, for large histories.

A refresh derives a version from others. Who reads it depends on the writers of the base versions *behind* it,
at any depth (DVS paper, section 4.1). To list these would be quadratic, so each derived version gets two
extra vertices, and paths along them stand for the dependencies. `graph.dsg` builds the same graph with
evidence; here are only arcs, because only strongly connected components are asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.graph.behind import difference
from dvs_model.stated.arcs import Arcs, DependentReads
from dvs_model.stated.made import NOBODY, Made
from dvs_model.stated.rows import EventRows


@dataclass(frozen=True, slots=True)
class Behind:
    """The derived versions of a history, numbered in the order of the events that make them.

    `place`: by version its number among the derived ones; NOBODY if it is written. `sources`: by derived
    version the versions it derives from. `closest`: for each write dependency that `changed` adds, the commit
    of the earlier writer, and the earliest start among the later writers that it leads to (see `late`).
    """

    rows: EventRows
    made: Made
    place: Ints
    sources: list[list[int]]
    closest: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: EventRows, made: Made) -> Behind:
        """Returns the derived versions of a history."""
        place = np.full(len(made.event), NOBODY)
        place[made.derived] = np.arange(len(made.derived))
        flat, starts = made.sources.tolist(), rows.starts.tolist()
        return cls(rows, made, place, [flat[a:b] for a, b in pairwise(starts)])

    def connect(self, arcs: Arcs, reads: DependentReads) -> None:
        """Adds the arcs of reads of derived versions, and of write dependencies through them.

        For each derived version there are two vertices. `behind` is entered from the writers of the versions
        behind it, and leads to its readers: paths through it are wr. `missed` is entered from its readers,
        and leads to the writers of the versions that follow those behind it: paths through it are rw.
        """
        versions, count = self.made, len(self.sources)
        behind = arcs.fresh(2 * count)
        missed = behind + count
        # One entry per source of a derivation: the derived version `above` it, and the source's own number if
        # it is derived, too.
        above = np.repeat(np.arange(count), np.diff(self.rows.starts))
        source = self.place[versions.sources]
        chained = source != NOBODY
        arcs.add(behind + source[chained], behind + above[chained])
        arcs.add(missed + above[chained], missed + source[chained])
        base, above = versions.sources[~chained], above[~chained]
        installed = versions.ordered[base]
        arcs.add(versions.txn[base[installed]], behind + above[installed])
        following = versions.following[base]
        replaced = following != NOBODY
        arcs.add(missed + above[replaced], versions.txn[following[replaced]])
        seen = self.place[reads.version[reads.derived]]
        arcs.add(behind + seen, reads.reader[reads.derived])
        arcs.add(reads.reader[reads.derived], missed + seen)
        for before, after in self.pairs():
            self.changed(arcs, before, after)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yields each derived version in a version order with the next one."""
        before = self.made.derived[self.made.following[self.made.derived] != NOBODY]
        yield from zip(before.tolist(), self.made.following[before].tolist(), strict=True)

    def below(self, version: int) -> list[int] | None:
        """Returns the versions from which a version derives; None: it is written."""
        place = int(self.place[version])
        return None if place == NOBODY else self.sources[place]

    def changed(self, arcs: Arcs, before: int, after: int) -> None:
        """Adds arcs from the writers that only `before` has behind it to the writers that only `after` has.

        These are the write dependencies through two consecutive versions of a derived object. A transaction
        that had committed before the other one wrote gets no arc (docs/notation.md, rule 7). So the later
        writers get a chain of vertices ("doors") in the order of their commits, and an earlier writer gets
        one arc, to the first door that counts: all later writers are reached from there.
        """
        versions = self.made
        left, entered = difference(before, after, lambda version: int(versions.event[version]), self.below)
        heads = sorted(
            (int(versions.lives.end[versions.txn[v]]), int(versions.txn[v]))
            for v in entered
            if versions.ordered[v]
        )
        tails = [v for v in left if versions.ordered[v]]
        if not tails or not heads:
            return
        doors = arcs.fresh(len(heads)) + np.arange(len(heads))
        arcs.add(doors[:-1], doors[1:])
        arcs.add(doors, np.fromiter((head for _, head in heads), np.int64, len(heads)))
        # The first door whose transaction committed after the write. The large second part puts the search
        # behind all heads with the same commit.
        places = [bisect_right(heads, (int(versions.event[v]), len(versions.event))) for v in tails]
        inside = [(int(versions.txn[v]), at) for v, at in zip(tails, places, strict=True) if at < len(heads)]
        if inside:
            # `first[at]`: the earliest start among the writers from door `at` on.
            first = list(accumulate((int(versions.lives.start[head]) for _, head in reversed(heads)), min))[
                ::-1
            ]
            self.closest.extend((int(versions.lives.end[tail]), first[at]) for tail, at in inside)
            ends = np.array(inside, np.int64)
            arcs.add(ends[:, 0], doors[ends[:, 1]])

    def latest(self) -> Ints:
        """Returns for each derived version the latest commit of a writer behind it; NOBODY: there is none."""
        # Sources are made before what derives from them, so one pass in the order of events is enough.
        end, txn, ordered = self.made.lives.end.tolist(), self.made.txn.tolist(), self.made.ordered.tolist()
        place, found = self.place.tolist(), [NOBODY] * len(self.sources)
        for number, sources in enumerate(self.sources):
            for source in sources:
                if place[source] != NOBODY:
                    found[number] = max(found[number], found[place[source]])
                elif ordered[source]:
                    found[number] = max(found[number], end[txn[source]])
        return np.array(found, np.int64)

    def late(self, reads: DependentReads) -> bool:
        """Tells whether a dependency through derivations may be on a commit after the start (G-SIa).

        True may be wrong: then the readable code decides.
        """
        through = self.latest()[self.place[reads.version[reads.derived]]]
        starts = self.made.lives.start[reads.reader[reads.derived]]
        return bool((through >= starts).any()) or any(last >= start for last, start in self.closest)

    def dirty(self) -> Bools:
        """Returns one bool per derived version: whether it, or one behind it, is aborted or intermediate."""
        bad = ~self.made.ordered
        found = bad[self.made.derived].tolist()
        if not bad.any():
            return np.array(found, np.bool_)
        wrong, place = bad.tolist(), self.place.tolist()
        for number, sources in enumerate(self.sources):
            found[number] |= any(
                wrong[source] if place[source] == NOBODY else found[place[source]] for source in sources
            )
        return np.array(found, np.bool_)
