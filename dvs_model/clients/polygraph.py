"""What an order of transactions that explains a history must keep, as a graph with alternatives.

Of two transactions that wrote one key, one wrote first; then whoever read its version comes before the other
one (Papadimitriou 1979: a polygraph). A level holds if one alternative of each pair can be chosen so that
nothing closes a cycle. For serializability a transaction is one vertex; for prefix consistency and snapshot
isolation it is two: the moment of its snapshot, and that of its writes.
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
from dvs_model.observed.graph import Pair
from dvs_model.observed.recover import INITIAL

MOST_PAIRS = 20_000_000
"""Pairs of transactions that wrote one key, up to which an order is looked for."""


class Why(IntEnum):
    """Why an arc is there."""

    SESSION = 0
    TIME = 1
    READ = 2
    BEFORE = 3
    REPLACED = 4
    SNAPSHOT = 5


@dataclass(frozen=True, slots=True)
class Labelled:
    """Arcs between vertices, each with its reason and the number of a key (-1: of none)."""

    arcs: Arcs
    why: Ints
    key: Ints

    def kept(self, chosen: Bools | Ints) -> Labelled:
        """Returns some of them."""
        return Labelled(self.arcs[chosen], self.why[chosen], self.key[chosen])


def together(parts: Sequence[Labelled]) -> Labelled:
    """Returns arcs of several parts."""
    return Labelled(
        np.concatenate([each.arcs for each in parts]),
        np.concatenate([each.why for each in parts]),
        np.concatenate([each.key for each in parts]),
    )


@dataclass(frozen=True, slots=True)
class Sides:
    """The arcs of alternatives. `of`: by arc its alternative, 2p and 2p + 1 of pair p."""

    of: Ints
    arcs: Labelled


@dataclass(frozen=True, slots=True)
class Polygraph:
    """A graph with alternatives. `names`: the keys by number. `base`: the arcs that every order keeps.

    `pair`: a row for each key that two transactions wrote: the number of the pair, the key, both. In
    alternative 2p the first one of pair p wrote first. `read`, `readers`: codes of versions in their order,
    and who read each. `between`: by key two writers between which there is no other one.
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
        """Returns arcs between the vertices of pairs of transactions, as the level wants them."""
        return Labelled(
            _vertices(pairs, why, self.level, self.count),
            np.full(len(pairs), why, np.int64),
            np.full(len(pairs), -1, np.int64) if key is None else key,
        )

    def order_arcs(self) -> Sides:
        """Returns of each alternative, for each key, the arc that says who wrote first."""
        number, key, a, b = self.pair.T
        forward = self.labelled(np.column_stack((a, b)), Why.BEFORE, key)
        back = self.labelled(np.column_stack((b, a)), Why.BEFORE, key)
        return Sides(np.concatenate((2 * number, 2 * number + 1)), together((forward, back)))

    def sides(self, rows: Ints, back: Bools) -> Sides:
        """Returns the arcs of alternatives. `rows`: of `pair`; `back`: whether the second one wrote first."""
        number, key, a, b = self.pair[rows].T
        first, second = np.where(back, b, a), np.where(back, a, b)
        of = 2 * number + back
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
            # Whoever wrote before the later one of two neighbours wrote before both, and likewise after.
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
    if level is Client.SERIALIZABLE:
        return pairs
    moved = count, 0
    if why in (Why.REPLACED, Why.SNAPSHOT):
        moved = 0, count
    elif why is Why.BEFORE and level is Client.PREFIX:
        moved = count, count
    return np.asarray(pairs + np.array(moved), np.int64)


def polygraph(made: Problem, level: Client) -> Polygraph | None:
    """Returns the graph of a problem; None: too many transactions wrote the same keys."""
    names = list(made.writers)
    number = {key: at for at, key in enumerate(names)}
    versions = [
        (number[read.key] * made.count + read.writer, index)
        for index, reads in made.reads.items()
        for read in reads
        if read.writer != INITIAL and read.key in number
    ]
    code = _rows(versions, 2)
    code = code[np.argsort(code[:, 0], kind="stable")]
    empty = np.empty(0, np.int64)
    bare = Polygraph(
        level, made.count, names, Labelled(_rows([], 2), empty, empty), empty, 0, code[:, 0], code[:, 1], ()
    )
    certain, rows = _Certain(made, number), list[Ints]()
    for key, writers in made.writers.items():
        if certain.ordered(key, writers):
            continue
        if sum(map(len, rows)) + len(writers) ** 2 // 2 > MOST_PAIRS:
            return None
        a, b = np.triu_indices(len(writers), 1)
        txns = np.array(writers, np.int64)
        rows.append(np.column_stack((np.full(len(a), number[key]), txns[a], txns[b])))
    every = np.concatenate([np.empty((0, 3), np.int64), *rows])
    codes, of = np.unique(every[:, 1] * made.count + every[:, 2], return_inverse=True)
    certain.initial()
    parts = [
        bare.labelled(_rows(made.so, 2), Why.SESSION),
        bare.labelled(_rows(made.time, 2), Why.TIME),
        bare.labelled(_rows(dict.fromkeys(made.wr), 2), Why.READ),
        *(
            bare.labelled(_rows(arcs, 3)[:, :2], why, _rows(arcs, 3)[:, 2])
            for why, arcs in ((Why.BEFORE, certain.before), (Why.REPLACED, certain.replaced))
        ),
    ]
    if level is not Client.SERIALIZABLE:
        each = np.arange(made.count)
        parts.append(bare.labelled(np.column_stack((each, each)), Why.SNAPSHOT))
    return Polygraph(
        level,
        made.count,
        names,
        together(parts),
        np.column_stack((of, every)),
        len(codes),
        code[:, 0],
        code[:, 1],
        tuple(certain.between),
    )


class _Certain:
    """What is known of the order of versions: pairs of transactions, each with the number of a key."""

    def __init__(self, made: Problem, number: dict[str, int]) -> None:
        self.made, self.number = made, number
        self.before: list[tuple[int, int, int]] = []
        self.replaced: list[tuple[int, int, int]] = []
        self.between: list[tuple[int, int, int]] = []
        self.first: dict[str, list[int]] = {}
        self.after: dict[str, dict[int, int]] = {}
        for (key, later), earlier in made.before.items():
            self.after.setdefault(key, {})[earlier] = later
        self.readers: dict[tuple[str, int], list[int]] = {}
        for index, reads in made.reads.items():
            for read in reads:
                if read.key in self.after or read.writer == INITIAL:
                    self.readers.setdefault((read.key, read.writer), []).append(index)

    def ordered(self, key: str, writers: Sequence[int]) -> bool:
        """Adds what is known of a key; tells whether that is the order of all its versions."""
        at, after = self.number[key], self.after.get(key, {})
        chain, last = [INITIAL], INITIAL
        while last in after and len(chain) <= len(writers):
            last = after[last]
            chain.append(last)
        whole = len(chain) == len(writers) + 1
        self.first[key] = chain[1:2] if whole else list(writers)
        for earlier, later in after.items():
            if earlier == INITIAL:
                self.before += [(later, other, at) for other in writers if not whole and other != later]
                continue
            self.before.append((earlier, later, at))
            readers = self.readers.get((key, earlier), ())
            self.replaced += [(reader, later, at) for reader in readers if reader != later]
            if not whole:
                self.between.append((at, earlier, later))
        return whole

    def initial(self) -> None:
        """Adds that who read what was there before the run comes before all that wrote the key."""
        for (key, writer), readers in self.readers.items():
            if writer == INITIAL:
                pairs = ((r, w) for r in readers for w in self.first.get(key, ()) if r != w)
                self.replaced += [(reader, later, self.number[key]) for reader, later in pairs]


def _rows(pairs: Iterable[Pair | tuple[int, int, int]], width: int) -> Ints:
    return np.array(list(pairs), np.int64).reshape(-1, width)
