"""What lies behind derived versions: dependencies through them, as `dvs_model.graph.dsg` defines these."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.stated.arcs import Arcs, Reads
from dvs_model.stated.made import NOBODY, Made
from dvs_model.stated.rows import Rows


@dataclass(frozen=True, slots=True)
class Behind:
    """The derived versions of a history, by place in the order of their events.

    `place`: by version; NOBODY for one that is written. `sources`: of each the versions it derives from.
    `closest`: for each writer that only the first of two neighbours in a version order has behind it, its
    commit, and the first start of those that depend on it because only the second has them.
    """

    rows: Rows
    made: Made
    place: Ints
    sources: list[list[int]]
    closest: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Rows, made: Made) -> Behind:
        """Returns the derived versions of a history."""
        place = np.full(len(made.event), NOBODY)
        place[made.derived] = np.arange(len(made.derived))
        flat, starts = made.sources.tolist(), rows.starts.tolist()
        return cls(rows, made, place, [flat[a:b] for a, b in pairwise(starts)])

    def connect(self, arcs: Arcs, reads: Reads) -> None:
        """Adds the arcs of reads of derived versions, and of write dependencies through them."""
        made, count = self.made, len(self.sources)
        behind = arcs.fresh(2 * count)
        missed = behind + count
        above = np.repeat(np.arange(count), np.diff(self.rows.starts))
        source = self.place[made.sources]
        chained = source != NOBODY
        arcs.add(behind + source[chained], behind + above[chained])
        arcs.add(missed + above[chained], missed + source[chained])
        base, above = made.sources[~chained], above[~chained]
        installed = made.ordered[base]
        arcs.add(made.txn[base[installed]], behind + above[installed])
        following = made.following[base]
        replaced = following != NOBODY
        arcs.add(missed + above[replaced], made.txn[following[replaced]])
        seen = self.place[reads.version[reads.derived]]
        arcs.add(behind + seen, reads.reader[reads.derived])
        arcs.add(reads.reader[reads.derived], missed + seen)
        for before, after in self.pairs():
            self.changed(arcs, before, after)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yields each derived version in a version order with the next one."""
        before = self.made.derived[self.made.following[self.made.derived] != NOBODY]
        yield from zip(before.tolist(), self.made.following[before].tolist(), strict=True)

    def changed(self, arcs: Arcs, before: int, after: int) -> None:
        """Adds arcs from the writers that only `before` has behind it to those that only `after` has.

        None goes to a transaction that had committed before the other wrote. So each version that entered has
        a vertex on a chain in the order of commits, and a writer has an arc to the first that counts.
        """
        left, entered = self.difference(before, after)
        made = self.made
        heads = sorted(
            (int(made.lives.end[made.txn[v]]), int(made.txn[v])) for v in entered if made.ordered[v]
        )
        tails = [v for v in left if made.ordered[v]]
        if not tails or not heads:
            return
        doors = arcs.fresh(len(heads)) + np.arange(len(heads))
        arcs.add(doors[:-1], doors[1:])
        arcs.add(doors, np.fromiter((head for _, head in heads), np.int64, len(heads)))
        places = [bisect_right(heads, (int(made.event[v]), len(made.event))) for v in tails]
        inside = [(int(made.txn[v]), at) for v, at in zip(tails, places, strict=True) if at < len(heads)]
        if inside:
            first = list(accumulate((int(made.lives.start[head]) for _, head in reversed(heads)), min))[::-1]
            self.closest.extend((int(made.lives.end[tail]), first[at]) for tail, at in inside)
            ends = np.array(inside, np.int64)
            arcs.add(ends[:, 0], doors[ends[:, 1]])

    def difference(self, first: int, second: int) -> tuple[list[int], list[int]]:
        """Returns the base versions behind only the first of two derived versions, and only the second.

        Walks from new versions to old ones, and stops when all pending ones are behind both.
        """
        event, place, sources = self.made.event, self.place, self.sources
        flags = {first: 1, second: 2}
        heap = [(-int(event[version]), version) for version in flags]
        heapq.heapify(heap)
        single = 2
        sides: tuple[list[int], list[int]] = ([], [])
        while single:
            _, version = heapq.heappop(heap)
            flag = flags[version]
            single -= flag != 3
            if place[version] == NOBODY:
                if flag != 3:
                    sides[flag - 1].append(version)
                continue
            for source in sources[place[version]]:
                old = flags.get(source, 0)
                new = old | flag
                if old == 0:
                    heapq.heappush(heap, (-int(event[source]), source))
                    single += new != 3
                elif old != 3 and new == 3:
                    single -= 1
                flags[source] = new
        return sides

    def latest(self) -> Ints:
        """Returns of each derived version the latest commit of what is behind it; NOBODY: nothing is."""
        end, txn, ordered = self.made.lives.end.tolist(), self.made.txn.tolist(), self.made.ordered.tolist()
        place, found = self.place.tolist(), [NOBODY] * len(self.sources)
        for number, sources in enumerate(self.sources):
            for source in sources:
                if place[source] != NOBODY:
                    found[number] = max(found[number], found[place[source]])
                elif ordered[source]:
                    found[number] = max(found[number], end[txn[source]])
        return np.array(found, np.int64)

    def late(self, reads: Reads) -> bool:
        """Whether there may be a dependency through derivations on what had not committed at a start."""
        through = self.latest()[self.place[reads.version[reads.derived]]]
        starts = self.made.lives.start[reads.reader[reads.derived]]
        return bool((through >= starts).any()) or any(last >= start for last, start in self.closest)

    def dirty(self) -> Bools:
        """Returns of each derived version whether it, or one behind it, is aborted or intermediate."""
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
