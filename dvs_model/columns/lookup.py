"""Searches in arrays: where a pair of numbers stands among others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Ints

LARGEST = 2**62
"""The largest code of a pair."""


@dataclass(slots=True)
class Pairs:
    """Pairs (a, b) that can be looked up, `a` from 0. `codes`: one number for each, sorted; `places`: of it.

    `least`, `span`: the least b, and how many there can be. `dense`: all b in order, where they lie too far
    apart for a code.
    """

    codes: Ints
    places: Ints
    least: int
    span: int
    dense: Ints | None = None

    def find(self, a: Ints, b: Ints) -> Ints:
        """Returns for each pair its place; -1: it is not there."""
        if not len(self.codes):
            return np.full(len(a), -1, np.int64)
        wanted, there = self.coded(a, b)
        found = _found(self.codes, wanted)
        return np.where(there & (found >= 0), self.places[found], -1)

    def twice(self) -> bool:
        """Tells whether a pair is there twice."""
        return bool((self.codes[1:] == self.codes[:-1]).any())

    def coded(self, a: Ints, b: Ints) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """Returns the code of each pair, and whether it has one."""
        if self.dense is not None:
            at = np.minimum(np.searchsorted(self.dense, b), len(self.dense) - 1)
            return a * self.span + at, self.dense[at] == b
        inside = (b >= self.least) & (b < self.least + self.span)
        return a * self.span + np.where(inside, b - self.least, 0), inside


def pairs(a: Ints, b: Ints) -> Pairs:
    """Returns pairs to be looked up."""
    if not len(a):
        return Pairs(a, a, 0, 1)
    least, most = int(b.min()), int(b.max())
    made = Pairs(a, a, least, most - least + 1)
    if (int(a.max()) + 1) * made.span >= LARGEST:
        made.dense = np.unique(b)
        made.span = len(made.dense)
    codes, _ = made.coded(a, b)
    made.places = np.argsort(codes, kind="stable")
    made.codes = codes[made.places]
    return made


def _found(codes: Ints, wanted: Ints) -> Ints:
    """Returns where each of some numbers first stands among sorted ones; -1: nowhere."""
    # Looked for in their order: neighbours are found in memory that was just read.
    order = np.argsort(wanted)
    ordered = wanted[order]
    at = np.searchsorted(codes, ordered)
    at[at == len(codes)] = 0
    found = np.empty(len(wanted), np.int64)
    found[order] = np.where(codes[at] == ordered, at, -1)
    return found


def below(codes: Ints, wanted: Ints) -> Ints:
    """Returns how many of some sorted numbers are less than each of others."""
    order = np.argsort(wanted)
    found = np.empty(len(wanted), np.int64)
    found[order] = np.searchsorted(codes, wanted[order])
    return found


def spread(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Returns for ranges of places each place in one of them, and which range it is of."""
    counts = ends - starts
    of = np.repeat(np.arange(len(counts)), counts)
    begun = np.cumsum(counts) - counts
    return np.arange(len(of)) - begun[of] + starts[of], of


def numbered(txn: Ints) -> tuple[Ints, Ints, Ints]:
    """Returns different numbers in the order of their first places, these, and of each place its number."""
    change = np.ones(len(txn), np.bool_)
    change[1:] = txn[1:] != txn[:-1]
    heads = np.flatnonzero(change)
    different, first, inverse = np.unique(txn[heads], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return different[order], heads[first[order]], rank[inverse][np.cumsum(change) - 1]


def coded(numbers: Ints) -> tuple[Ints, Ints]:
    """Returns the places of numbers from 0 up among the different ones, and these."""
    most = int(numbers.max(initial=0))
    if most > 4 * len(numbers) + 1000:
        different, code = np.unique(numbers, return_inverse=True)
        return code, different
    there = np.zeros(most + 1, np.bool_)
    there[numbers] = True
    return (np.cumsum(there) - 1)[numbers], np.flatnonzero(there)
