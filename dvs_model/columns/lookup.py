"""Search in arrays without loops: find pairs of numbers, count smaller ones, write out ranges.

NumPy searches arrays of single numbers. So a pair (a, b) is encoded as one int64, a * span + b, which keeps
the order of pairs; a binary search in the sorted codes then finds millions of pairs in one call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Ints

LARGEST = 2**62
"""Codes of pairs stay below this. It is half of what an int64 holds, so that sums of codes are safe, too."""


@dataclass(slots=True)
class PairIndex:
    """Pairs (a, b) of integers that can be looked up; `a` is never negative.

    `codes`: one int64 per pair, sorted. `places`: the place of the pair in the arrays that were given.
    `least`, `span`: the smallest b, and the number of values that b may have from there on. `dense`: the
    different b in ascending order, if these lie so far apart that codes of a and b - least do not fit into an
    int64; the rank of b in `dense` takes its place in the code then.
    """

    codes: Ints
    places: Ints
    least: int
    span: int
    dense: Ints | None = None

    def find(self, a: Ints, b: Ints) -> Ints:
        """Returns for each pair its place in the arrays that were given; -1: it is not among them."""
        if not len(self.codes):
            return np.full(len(a), -1, np.int64)
        wanted, there = self.coded(a, b)
        found = _found(self.codes, wanted)
        return np.where(there & (found >= 0), self.places[found], -1)

    def twice(self) -> bool:
        """Tells whether some pair was given twice."""
        return bool((self.codes[1:] == self.codes[:-1]).any())

    def coded(self, a: Ints, b: Ints) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """Returns the code of each pair, and whether it has one.

        A pair whose b was never given has none: its number means nothing, so the caller must mask it.
        """
        if self.dense is not None:
            at = np.minimum(np.searchsorted(self.dense, b), len(self.dense) - 1)
            return a * self.span + at, self.dense[at] == b
        inside = (b >= self.least) & (b < self.least + self.span)
        return a * self.span + np.where(inside, b - self.least, 0), inside


def pairs(a: Ints, b: Ints) -> PairIndex:
    """Returns the pairs (a[i], b[i]) in a form in which they can be looked up."""
    if not len(a):
        return PairIndex(a, a, 0, 1)
    least, most = int(b.min()), int(b.max())
    index = PairIndex(a, a, least, most - least + 1)
    if (int(a.max()) + 1) * index.span >= LARGEST:
        index.dense = np.unique(b)
        index.span = len(index.dense)
    codes, _ = index.coded(a, b)
    index.places = np.argsort(codes, kind="stable")
    index.codes = codes[index.places]
    return index


def _found(codes: Ints, wanted: Ints) -> Ints:
    """Returns where each wanted number first stands in `codes`, which are sorted; -1: it is not there."""
    # Binary searches for sorted numbers touch memory in ascending order, so the processor's cache serves most
    # of them. That saves more time than sorting costs.
    order = np.argsort(wanted)
    ordered = wanted[order]
    at = np.searchsorted(codes, ordered)
    # A number above all codes would be found behind the end. Any valid place will do: the test of equality
    # below rejects it.
    at[at == len(codes)] = 0
    found = np.empty(len(wanted), np.int64)
    found[order] = np.where(codes[at] == ordered, at, -1)
    return found


def below(codes: Ints, wanted: Ints) -> Ints:
    """Returns for each wanted number how many of `codes`, which are sorted, are less than it.

    That is `np.searchsorted(codes, wanted)`; the wanted numbers are sorted first, as in `_found`.
    """
    order = np.argsort(wanted)
    found = np.empty(len(wanted), np.int64)
    found[order] = np.searchsorted(codes, wanted[order])
    return found


def spread(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Writes out ranges: returns each place in each range, and the number of its range.

    It is a loop over ranges of different lengths, without a loop.

    >>> place, of = spread(np.array([5, 9]), np.array([8, 10]))
    >>> place.tolist(), of.tolist()
    ([5, 6, 7, 9], [0, 0, 0, 1])
    """
    counts = ends - starts
    of = np.repeat(np.arange(len(counts)), counts)
    begun = np.cumsum(counts) - counts
    return np.arange(len(of)) - begun[of] + starts[of], of


def numbered(txn: Ints) -> tuple[Ints, Ints, Ints]:
    """Numbers the different values of an array from 0, in the order in which they first appear.

    Returns the different values, the place where each first appears, and for each place its number.
    """
    # Equal values mostly stand together (the operations of a transaction do), so only the first of each run
    # is sorted; the running sum of `change` leads back from places to runs.
    change = np.ones(len(txn), np.bool_)
    change[1:] = txn[1:] != txn[:-1]
    heads = np.flatnonzero(change)
    different, first, inverse = np.unique(txn[heads], return_index=True, return_inverse=True)
    # np.unique numbers by value; `rank` translates that to the order of appearance.
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return different[order], heads[first[order]], rank[inverse][np.cumsum(change) - 1]


def coded(numbers: Ints) -> tuple[Ints, Ints]:
    """Returns for each number its rank among the different ones, and these in ascending order.

    `numbers`: none is negative.
    """
    most = int(numbers.max(initial=0))
    # A table with one entry for each number up to the largest needs no sorting, and is as small as the array
    # where numbers are dense, as those of transactions are. Only where they are sparse they are sorted.
    if most > 4 * len(numbers) + 1000:
        different, code = np.unique(numbers, return_inverse=True)
        return code, different
    there = np.zeros(most + 1, np.bool_)
    there[numbers] = True
    return (np.cumsum(there) - 1)[numbers], np.flatnonzero(there)
