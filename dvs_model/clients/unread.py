"""Judge appends that no read shows by trying every order in which they may stand.

Such appends come after the longest list that was read, in an order that nobody saw. Where their transactions
lie on no cycle with each other, one order that closes no cycle is assumed: a level that forbids all cycles
then holds, and so do weaker levels. Inside one knot (a strongly connected component of the dependencies) each
order is judged: a phenomenon is present if all orders show it, and unknown if some do. Knots share no cycle,
so each is judged apart, and the numbers of orders add up instead of being multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from dvs_model.analysis.verdict import ABSENT, PhenomenonVerdict, Present, Unknown
from dvs_model.columns.table import Ints
from dvs_model.observed.history import Chosen, Orders, Part
from dvs_model.observed.recover import Recovered, VersionRead
from dvs_model.theory.names import Phenomenon

P = Phenomenon

BY_ORDER = (P.G0, P.G1C, P.G_SINGLE, P.G_CURSOR, P.G_MONOTONIC, P.G_UPDATE)
"""The phenomena that may be present in some or all orders although the certain dependencies show none.

All others are cycles without a limit of their anti-dependencies, and in a knot there is such a cycle already.
"""

BY_ORDER_IN_SESSIONS = (P.G1C_SESSION, P.G_SINGLE_SESSION)
BY_ORDER_IN_TIME = (P.G1C_REALTIME, P.G_SINGLE_REALTIME)
"""The same with session order and real time."""

MOST_ORDERS = 24
"""Limit of orders for one knot: 4!, four appends to one key. Each order costs an analysis of the knot."""

MOST_JUDGED = 200
"""Limit of orders for all knots together."""

EVERY = "in whatever order appends stand that no read shows, they close a cycle that is forbidden"
OPEN = "it depends on the order of appends that no read shows"
MANY = "the appends that no read shows may stand in too many orders"


@dataclass(frozen=True, slots=True)
class Knot:
    """A strongly connected component of dependencies that has several unread appends to one key.

    `members`: its transactions. `tails`: by key the members with an append that no read shows. `found`,
    `known`: what the members read, and the versions of the keys that they read or wrote.
    """

    members: Sequence[int]
    tails: Mapping[str, Sequence[int]]
    found: Recovered
    known: Orders

    def part(self, chosen: Chosen) -> Part:
        """Returns the part of the history that is about the members, with chosen orders of unread appends."""
        return Part(self.found, self.known, set(self.members), chosen=chosen)

    @property
    def count(self) -> int:
        """How many orders its unread appends may have, over all keys."""
        return prod(factorial(len(tail)) for tail in self.tails.values())

    def orders(self) -> Iterator[Chosen]:
        """Yields every combination of orders of its unread appends."""
        for each in product(*map(permutations, self.tails.values())):
            yield dict(zip(self.tails, ([order] for order in each), strict=True))


def knots_of(found: Recovered, known: Orders, labels: Ints) -> list[Knot]:
    """Returns the knots with several unread appends to one key.

    `labels`: one int64 per transaction, its strongly connected component.
    """
    tails: dict[int, dict[str, list[int]]] = {}
    for key, tail in known.tails.items():
        if len(tail) > 1:
            of = labels[np.array(tail)]
            names, counts = np.unique(of, return_counts=True)
            for label in names[counts > 1].tolist():
                tails.setdefault(label, {})[key] = sorted(np.array(tail)[of == label].tolist())
    inside = np.isin(labels, list(tails))
    at: dict[int, int] = {index: int(labels[index]) for index in np.flatnonzero(inside).tolist()}
    # One pass over reads and versions for all knots: there may be thousands of knots.
    members: dict[int, list[int]] = {label: [] for label in tails}
    for index, label in at.items():
        members[label].append(index)
    reads: dict[int, list[VersionRead]] = {label: [] for label in tails}
    keys: dict[int, set[str]] = {label: set() for label in tails}
    for read in found.reads:
        if (reader := at.get(read.reader)) is not None:
            reads[reader].append(read)
            keys[reader].add(read.key)
    for key, writers in found.installed.items():
        for writer in writers:
            if (knot := at.get(writer)) is not None:
                keys[knot].add(key)
    return [
        Knot(members[label], tails[label], *_part(found, known, reads[label], keys[label])) for label in tails
    ]


def _part(
    found: Recovered, known: Orders, reads: list[VersionRead], keys: set[str]
) -> tuple[Recovered, Orders]:
    """Returns the history of some reads, with all versions of some keys."""
    result = Recovered(found.observed, taken=found.taken, reads=reads)
    result.installed = {key: found.installed[key] for key in keys if key in found.installed}
    result.placed = {key: found.placed[key] for key in keys if key in found.placed}
    orders = Orders(some=known.some)
    for part in ("known", "tails", "unknown", "pairs", "rules", "later"):
        given = getattr(known, part)
        setattr(orders, part, {key: given[key] for key in keys if key in given})
    return result, orders


@dataclass(slots=True)
class Decided:
    """What the orders of unread appends decide.

    `present`: phenomena that every order of some knot shows, each with the first order and its verdict.
    `forced`: phenomena of which every order of some knot shows either the phenomenon or a cycle without
    anti-dependencies: no level that forbids both can hold. `open`: phenomena that some orders show, or that
    were not judged in all, with the reason.
    """

    present: dict[Phenomenon, tuple[Chosen, PhenomenonVerdict]] = field(default_factory=dict)
    forced: set[Phenomenon] = field(default_factory=set)
    open: dict[Phenomenon, str] = field(default_factory=dict)

    def verdict(self, phenomenon: Phenomenon, plain: PhenomenonVerdict) -> PhenomenonVerdict:
        """Returns the verdict on a phenomenon. `plain`: the verdict by certain dependencies alone."""
        if isinstance(plain, Present):
            return plain
        if phenomenon in self.present:
            return self.present[phenomenon][1]
        return Unknown(self.open[phenomenon]) if phenomenon in self.open else plain


def decided(
    knots: Sequence[Knot],
    phenomena: Sequence[Phenomenon],
    cycle: Phenomenon,
    judged: Callable[[Knot, Chosen], Mapping[Phenomenon, PhenomenonVerdict]],
) -> Decided:
    """Returns what the orders of unread appends decide of some phenomena.

    `cycle`: the phenomenon of cycles without anti-dependencies. `judged`: from a knot and an order to the
    verdicts on the phenomena and on `cycle`.
    """
    result, left = Decided(), MOST_JUDGED
    # Knots with few orders first, so that the budget serves as many knots as possible.
    for knot in sorted(knots, key=lambda each: each.count):
        wanted = [phenomenon for phenomenon in phenomena if phenomenon not in result.present]
        left -= knot.count
        if not wanted:
            break
        if knot.count > MOST_ORDERS or left < 0:
            result.open.update(dict.fromkeys(wanted, MANY))
            continue
        verdicts = [(chosen, judged(knot, chosen)) for chosen in knot.orders()]
        for phenomenon in wanted:
            found = [each[phenomenon] for _, each in verdicts]
            if all(
                isinstance(each[phenomenon], Present) or isinstance(each[cycle], Present)
                for _, each in verdicts
            ):
                result.forced.add(phenomenon)
            if all(isinstance(each, Present) for each in found):
                result.present[phenomenon] = verdicts[0][0], found[0]
            elif any(each != ABSENT for each in found):
                result.open.setdefault(phenomenon, OPEN)
    return result


def joined(chosen: Iterable[Chosen]) -> Chosen:
    """Joins the orders of several knots into one choice; of two orders of one append the first stays."""
    found: dict[str, list[Sequence[int]]] = {}
    for each in chosen:
        for key, orders in each.items():
            mine = found.setdefault(key, [])
            mine += [order for order in orders if not any(set(order) & set(other) for other in mine)]
    return found
