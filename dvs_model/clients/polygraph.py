"""Build the polygraph of a history (Papadimitriou 1979): a graph whose pairs of writers have two
alternatives.

Of two transactions that wrote one key, one wrote first; then whoever read its version comes before the other.
Cobra checks serializability with such a graph, PolySI snapshot isolation. A level holds if one alternative of
each pair can be chosen so that no cycle closes. For serializability a transaction is one vertex. For prefix
consistency and snapshot isolation it is two vertices: the moment of its snapshot and that of its writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from dvs_model.columns.lookup import spread
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.observed.client import Client, Problem
from dvs_model.observed.history import Pair
from dvs_model.observed.recover import INITIAL

MOST_PAIRS = 20_000_000
"""Limit of pairs of writers of one key, summed over keys: a row of 32 bytes each, and several arcs."""


class Why(IntEnum):
    """The reason for an arc.

    SESSION, TIME: an order of transactions that the level keeps. READ: the head read from the tail. BEFORE:
    both wrote a key, the tail first. REPLACED: the tail read a version that the head replaced (an
    anti-dependency). SNAPSHOT: from the snapshot of a transaction to its own writes.
    """

    SESSION = 0
    TIME = 1
    READ = 2
    BEFORE = 3
    REPLACED = 4
    SNAPSHOT = 5


@dataclass(frozen=True, slots=True)
class Labelled:
    """Arcs between vertices: a row (tail, head) each, its reason, and the number of its key (-1: of none)."""

    arcs: Arcs
    why: Ints
    key: Ints

    def kept(self, chosen: Bools | Ints) -> Labelled:
        """Returns some of the arcs. `chosen`: a mask, or places."""
        return Labelled(self.arcs[chosen], self.why[chosen], self.key[chosen])


def together(parts: Sequence[Labelled]) -> Labelled:
    """Returns the arcs of several parts, one part after the other."""
    return Labelled(
        np.concatenate([each.arcs for each in parts]),
        np.concatenate([each.why for each in parts]),
        np.concatenate([each.key for each in parts]),
    )


@dataclass(frozen=True, slots=True)
class Sides:
    """The arcs of alternatives. `of`: one int64 per arc, its alternative: 2p or 2p + 1 for pair p."""

    of: Ints
    arcs: Labelled


@dataclass(frozen=True, slots=True)
class Polygraph:
    """A graph with alternatives.

    `count`: the number of transactions. `names`: the keys by number. `base`: the arcs that every order keeps.
    `pair`: a row (number of the pair, key, first, second) for each key that two transactions wrote; a pair
    that wrote several keys has several rows with one number. `pairs`: how many pairs there are. In
    alternative 2p the first transaction of pair p wrote first, in 2p + 1 the second. `read`: key * count +
    writer of each version that was read, sorted; `readers`: who read it. `between`: (key, earlier, later) of
    two writers that are known to be neighbours in the version order.
    """

    level: Client
    count: int
    names: Sequence[str]
    base: Labelled
    pair: Ints
    pairs: int
    read: Ints
    readers: Ints
    between: Sequence[tuple[int, int, int]]

    @property
    def vertices(self) -> int:
        """How many vertices there are."""
        return self.count if self.level is Client.SERIALIZABLE else 2 * self.count

    def labelled(self, pairs: Ints, why: Why, key: Ints | None = None) -> Labelled:
        """Returns arcs between pairs of transactions, at those of their vertices that the level demands."""
        return Labelled(
            _vertices(pairs, why, self.level, self.count),
            np.full(len(pairs), why, np.int64),
            np.full(len(pairs), -1, np.int64) if key is None else key,
        )

    def order_arcs(self) -> Sides:
        """Returns one arc for each alternative and key: the one that says who wrote first."""
        number, key, a, b = self.pair.T
        forward = self.labelled(np.column_stack((a, b)), Why.BEFORE, key)
        back = self.labelled(np.column_stack((b, a)), Why.BEFORE, key)
        return Sides(np.concatenate((2 * number, 2 * number + 1)), together((forward, back)))

    def sides(self, rows: Ints, back: Bools) -> Sides:
        """Returns all arcs of some alternatives.

        `rows`: places in `pair`. `back`: by row, whether its alternative is that the second one wrote first.
        These are: the first writer comes before the second one; and so does each reader of its version.
        """
        number, key, a, b = self.pair[rows].T
        first, second = np.where(back, b, a), np.where(back, a, b)
        of = 2 * number + back
        # The readers of a version stand in `readers` from the place of its code up to that of the next code.
        code = key * self.count + first
        begin, end = np.searchsorted(self.read, code), np.searchsorted(self.read, code + 1)
        place, which = spread(begin, end)
        reader = self.readers[place]
        other = reader != second[which]
        which, reader = which[other], reader[other]
        parts = [
            self.labelled(np.column_stack((first, second)), Why.BEFORE, key),
            self.labelled(np.column_stack((reader, second[which])), Why.REPLACED, key[which]),
        ]
        numbers = [of, of[which]]
        for number_of, before, after in self.between:
            # Nobody wrote between two neighbours. So who wrote before the later one wrote before the earlier
            # one as well, and who wrote after the earlier one wrote after the later one as well.
            early = np.flatnonzero((key == number_of) & (second == after) & (first != before))
            late = np.flatnonzero((key == number_of) & (first == before) & (second != after))
            for at, tails, heads in (
                (early, first[early], np.full(len(early), before)),
                (late, np.full(len(late), after), second[late]),
            ):
                parts.append(self.labelled(np.column_stack((tails, heads)), Why.BEFORE, key[at]))
                numbers.append(of[at])
        return Sides(np.concatenate(numbers), together(parts))


def _vertices(pairs: Ints, why: Why, level: Client, count: int) -> Arcs:
    """Returns arcs between vertices for pairs of transactions.

    With two vertices for each transaction t, vertex t is its snapshot and t + count are its writes.
    """
    if level is Client.SERIALIZABLE:
        return pairs
    # Mostly the writes of the tail come before the snapshot of the head, which sees them.
    moved = count, 0
    if why in (Why.REPLACED, Why.SNAPSHOT):
        # A snapshot that misses a write was taken before that write.
        moved = 0, count
    elif why is Why.BEFORE and level is Client.PREFIX:
        # Prefix consistency lets two transactions write one key at the same time, so that only their writes
        # are ordered. Snapshot isolation forbids it: one ends before the other one takes its snapshot.
        moved = count, count
    return np.asarray(pairs + np.array(moved), np.int64)


def polygraph(problem: Problem, level: Client) -> Polygraph | None:
    """Returns the polygraph of a problem; None: too many transactions wrote the same keys (MOST_PAIRS)."""
    names = list(problem.writers)
    number = {key: at for at, key in enumerate(names)}
    versions = [
        (number[read.key] * problem.count + read.writer, index)
        for index, reads in problem.reads.items()
        for read in reads
        if read.writer != INITIAL and read.key in number
    ]
    code = _rows(versions, 2)
    code = code[np.argsort(code[:, 0], kind="stable")]
    empty = np.empty(0, np.int64)
    bare = Polygraph(
        level,
        problem.count,
        names,
        Labelled(_rows([], 2), empty, empty),
        empty,
        0,
        code[:, 0],
        code[:, 1],
        (),
    )
    certain, rows = _Certain(problem, number), list[Ints]()
    for key, writers in problem.writers.items():
        if certain.ordered(key, writers):
            continue
        if sum(map(len, rows)) + len(writers) ** 2 // 2 > MOST_PAIRS:
            return None
        # All pairs of writers. Writers are sorted, so two transactions are in the same order for each key.
        a, b = np.triu_indices(len(writers), 1)
        txns = np.array(writers, np.int64)
        rows.append(np.column_stack((np.full(len(a), number[key]), txns[a], txns[b])))
    every = np.concatenate([np.empty((0, 3), np.int64), *rows])
    # One number for each two transactions, whatever the key: the order is of transactions.
    codes, of = np.unique(every[:, 1] * problem.count + every[:, 2], return_inverse=True)
    certain.initial()
    parts = [
        bare.labelled(_rows(problem.so, 2), Why.SESSION),
        bare.labelled(_rows(problem.time, 2), Why.TIME),
        bare.labelled(_rows(dict.fromkeys(problem.wr), 2), Why.READ),
        *(
            bare.labelled(_rows(arcs, 3)[:, :2], why, _rows(arcs, 3)[:, 2])
            for why, arcs in ((Why.BEFORE, certain.before), (Why.REPLACED, certain.replaced))
        ),
    ]
    if level is not Client.SERIALIZABLE:
        each = np.arange(problem.count)
        parts.append(bare.labelled(np.column_stack((each, each)), Why.SNAPSHOT))
    return Polygraph(
        level,
        problem.count,
        names,
        together(parts),
        np.column_stack((of, every)),
        len(codes),
        code[:, 0],
        code[:, 1],
        tuple(certain.between),
    )


class _Certain:
    """What is known of the order of versions: (tail, head, number of the key) of arcs that every order keeps.

    `before`: the tail wrote before the head. `replaced`: the tail read a version that the head replaced.
    `between`: neighbours in a version order that is not known in full. `first`: by key the writers before
    which the readers of the initial version come. `after`: by key and writer the writer of the next version.
    """

    def __init__(self, problem: Problem, number: dict[str, int]) -> None:
        self.made, self.number = problem, number
        self.before: list[tuple[int, int, int]] = []
        self.replaced: list[tuple[int, int, int]] = []
        self.between: list[tuple[int, int, int]] = []
        self.first: dict[str, list[int]] = {}
        self.after: dict[str, dict[int, int]] = {}
        for (key, later), earlier in problem.before.items():
            self.after.setdefault(key, {})[earlier] = later
        self.readers: dict[tuple[str, int], list[int]] = {}
        for index, reads in problem.reads.items():
            for read in reads:
                if read.key in self.after or read.writer == INITIAL:
                    self.readers.setdefault((read.key, read.writer), []).append(index)

    def ordered(self, key: str, writers: Sequence[int]) -> bool:
        """Adds what is known of a key; tells whether that is the order of all its versions."""
        at, after = self.number[key], self.after.get(key, {})
        # Follow the known neighbours from the initial version. The length ends the walk if they form a
        # circle.
        chain, last = [INITIAL], INITIAL
        while last in after and len(chain) <= len(writers):
            last = after[last]
            chain.append(last)
        whole = len(chain) == len(writers) + 1
        self.first[key] = chain[1:2] if whole else list(writers)
        for earlier, later in after.items():
            if earlier == INITIAL:
                # The first version comes before all others. If the whole order is known, neighbours say so.
                self.before += [(later, other, at) for other in writers if not whole and other != later]
                continue
            self.before.append((earlier, later, at))
            readers = self.readers.get((key, earlier), ())
            self.replaced += [(reader, later, at) for reader in readers if reader != later]
            if not whole:
                self.between.append((at, earlier, later))
        return whole

    def initial(self) -> None:
        """Adds arcs from each reader of the initial version of a key to the writers of the key.

        Call it after `ordered`, which tells these writers: the first one if the order is known, else all.
        """
        for (key, writer), readers in self.readers.items():
            if writer == INITIAL:
                pairs = ((r, w) for r in readers for w in self.first.get(key, ()) if r != w)
                self.replaced += [(reader, later, self.number[key]) for reader, later in pairs]


def _rows(pairs: Iterable[Pair | tuple[int, int, int]], width: int) -> Ints:
    """Returns tuples as the rows of an array, which has `width` columns even if there are none."""
    return np.array(list(pairs), np.int64).reshape(-1, width)
