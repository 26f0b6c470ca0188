"""Recover version orders as far as a file gives them, and the dependencies that follow: the definitions.

Adya's dependencies ww and rw need the order of the versions of each key, which clients do not see. It follows
from lists that were read (Elle), from commit timestamps, from what the file or the user says; of registers it
is mostly unknown. Only dependencies that are certain are given. `columns.versions` finds the same by arrays,
for lists and registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dvs_model.graph.cycles import short_cycle
from dvs_model.observed.recover import INITIAL, Finding, Recovered
from dvs_model.observed.seen import Assumption
from dvs_model.observed.time import time_pairs

Pair = tuple[int, int]
"""Two transactions by index; the first one comes before the second."""


@dataclass(slots=True)
class Orders:
    """Version orders, as far as they are known. Versions are named by their writers.

    `known`: by key the writers in order. `tails`: by key the writers after these, in an order that nobody
    saw. `unknown`: by key why its order is not known. Of such keys: `pairs`: neighbours in the order, which
    the file states; `later`: pairs of which the second version is later, as the user assumes. `some`:
    neighbours that the file states without their key, each with one of the keys that can be meant. `rules`:
    by key what its order, or the known part of it, was taken from, in words.
    """

    known: dict[str, list[int]] = field(default_factory=dict)
    tails: dict[str, list[int]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    later: dict[str, list[Pair]] = field(default_factory=dict)
    some: dict[Pair, str] = field(default_factory=dict)

    def stated(self, key: str) -> list[Pair]:
        """Returns pairs of versions whose order is known although that of all versions of the key is not."""
        return [*dict.fromkeys((*self.pairs.get(key, ()), *self.later.get(key, ())))]


BY_LISTS = "the lists that were read"
BY_STAMPS = "the commit timestamps"
BY_ONE = "one transaction alone wrote it"
BY_FILE = "the file says which write replaced which"
BY_NOTHING = "what was there before the run comes first, and more is not known"


def orders(found: Recovered) -> Orders:
    """Returns the version orders, of each key by the first of these that applies.

    Lists that contradict each other: none. A single writer: its version alone. Commit timestamps. Lists, or
    appends that no list shows. Else none: a register with several writers.
    """
    made = Orders()
    records = found.observed.records
    for key, writers in found.installed.items():
        shown = found.lists.get(key)
        made.rules[key] = BY_NOTHING
        if key in found.broken:
            made.unknown[key] = found.broken[key]
        elif len(writers) <= 1 and shown is None:
            made.known[key], made.rules[key] = list(writers), BY_ONE
        elif records.stamps:
            made.rules[key] = BY_STAMPS
            _by_stamps(found, key, writers, made)
        elif shown is not None or key in found.appended:
            made.rules[key] = BY_LISTS
            place = {value: at for at, value in enumerate(shown or ())}
            read = sorted((place[v], index) for index, v in writers.items() if v in place)
            made.known[key] = [index for _, index in read]
            made.tails[key] = [index for index, value in writers.items() if value not in place]
            # A single append that no list shows can only be the last one.
            if len(made.tails[key]) == 1:
                made.known[key] += made.tails.pop(key)
        else:
            made.unknown[key] = "the order of its versions is not recorded"
    if found.observed.follows:
        _stated(found, made)
    if records.assumed:
        assume(found, made)
    return made


def _by_stamps(found: Recovered, key: str, writers: Mapping[int, object], made: Orders) -> None:
    """Adds the order of a key by the commit timestamps of its writers."""
    stamps = {index: found.observed.transactions[index].commit for index in writers}
    if len(set(stamps.values())) < len(stamps):
        made.unknown[key] = "two of its writers have the same commit timestamp"
        return
    made.known[key] = sorted(writers, key=lambda index: stamps[index] or (0, 0))
    # A list that was read shows the order a second time. If the two differ, neither is believed.
    place = {value: at for at, value in enumerate(found.lists.get(key, ()))}
    shown = [index for index in made.known[key] if writers[index] in place]
    swapped = next(((a, b) for a, b in pairwise(shown) if place[writers[a]] > place[writers[b]]), None)
    if swapped is not None:
        b, a = (found.observed.transactions[index] for index in swapped)
        text = f"key {key}: lists show what T{a.number} ({a.place}) appended before what T{b.number} appended"
        text += f" ({b.place}), and T{b.number} committed first"
        found.findings.append(Finding("reordered commits", (a.number, b.number), text))
        del made.known[key]
        made.unknown[key] = "its lists show another order than the commit timestamps"


def _stated(found: Recovered, made: Orders) -> None:
    """Adds the neighbours in version orders that a file states without naming the key.

    If both transactions wrote one key of unknown order in common, that key is meant. If several, it is only
    certain that there is a ww edge.
    """
    index = {each.number: at for at, each in enumerate(found.observed.transactions) if at in found.taken}
    written: dict[int, set[str]] = {}
    for key, writers in found.installed.items():
        for at in writers:
            written.setdefault(at, set()).add(key)
    for a, b in found.observed.follows:
        before, after = index.get(a, INITIAL), index.get(b, INITIAL)
        # Keys whose order is known already need no statement.
        common = sorted((written.get(before, set()) & written.get(after, set())) & made.unknown.keys())
        if before == after or not common:
            continue
        made.rules[common[0]] = BY_FILE
        if len(common) == 1:
            made.pairs.setdefault(common[0], []).append((before, after))
        else:
            made.some[before, after] = common[0]


def assume(found: Recovered, made: Orders) -> None:
    """Adds what the user assumes of the versions of keys whose order is not recorded.

    Each assumption gives pairs of versions of which one is earlier, not neighbours. Pairs in a circle are no
    order: the finding "cyclic versions".
    """
    records = found.observed.records
    stated: dict[str, dict[Pair, str]] = {}
    if records.assumes(Assumption.WRITES_FOLLOW_READS):
        # Who read a version and then wrote the key has written a later version.
        for read in found.reads:
            there = read.key in made.unknown and read.reader in found.installed[read.key]
            if there and read.writer in found.installed[read.key]:
                stated.setdefault(read.key, {})[read.writer, read.reader] = "writes follow reads"
    for key in made.unknown:
        pairs = stated.setdefault(key, {})
        if records.assumes(Assumption.SESSIONS) and records.sessions:
            for pair in _in_sessions(found, key):
                pairs.setdefault(pair, "the order of sessions")
        if records.assumes(Assumption.REAL_TIME) and records.real_time:
            for pair in _in_time(found, key):
                pairs.setdefault(pair, "real time")
    for key, pairs in stated.items():
        if pairs:
            made.later[key] = list(pairs)
            rules = ", ".join(sorted(set(pairs.values())))
            made.rules[key] = f"as assumed: {rules}"
            _refuse_circles(found, key, pairs)


def _in_sessions(found: Recovered, key: str) -> Iterator[Pair]:
    """Yields consecutive writers of a key in one session."""
    by_session: dict[str, list[int]] = {}
    for index in sorted(found.installed[key]):
        by_session.setdefault(found.observed.session(index), []).append(index)
    for writers in by_session.values():
        yield from pairwise(writers)


def _in_time(found: Recovered, key: str) -> Iterator[Pair]:
    """Yields writers of a key of which the first one ended before the second one began."""
    writers = sorted(found.installed[key])
    windows = [found.observed.transactions[index].window for index in writers]
    times = np.array([(np.nan, np.nan) if each is None else each for each in windows], np.float64)
    for before, after in time_pairs(times.reshape(-1, 2)):
        yield writers[before], writers[after]


TRIES = 10
"""Pairs of versions from which a shortest circle is searched. It is only shown: any short one will do."""


def _refuse_circles(found: Recovered, key: str, pairs: Mapping[Pair, str]) -> None:
    """Adds the finding "cyclic versions" if assumptions form a circle. `pairs`: each with its rule."""
    arcs = np.array([*pairs], np.int64).reshape(-1, 2)
    circle = short_cycle(arcs, TRIES)
    if not circle:
        return
    number = found.observed.number
    steps = (
        f"T{number(a)}'s version before T{number(b)}'s ({pairs[a, b]})"
        for a, b in zip(circle, [*circle[1:], circle[0]], strict=True)
    )
    txns = tuple(map(number, circle))
    finding = Finding("cyclic versions", txns, f"key {key}: {'; '.join(steps)}")
    if finding not in found.findings:
        found.findings.append(finding)


@dataclass(slots=True)
class Edges:
    """The dependencies of Adya's DSG that are certain, and the neighbours in sessions; pairs of indexes."""

    ww: list[Pair] = field(default_factory=list)
    wr: list[Pair] = field(default_factory=list)
    rw: list[Pair] = field(default_factory=list)
    session: list[Pair] = field(default_factory=list)


def edges(found: Recovered, made: Orders) -> Edges:
    """Returns the dependencies that exist whatever the file leaves open."""
    # By key and version the writers that come next: one if the order is known, several if one of them does.
    result = Edges()
    following: dict[tuple[str, int], list[int]] = {}
    for key, order in made.known.items():
        tail = made.tails.get(key, [])
        first = order[:1] or tail
        following[key, INITIAL] = first
        for before, after in pairwise(order):
            result.ww.append((before, after))
            following[key, before] = [after]
        if order and tail:
            # Each append of the tail is later than the last version in order, whichever of them is next. So
            # each pair is an edge, or a path of edges.
            result.ww += [(order[-1], after) for after in tail]
            following[key, order[-1]] = tail
    for key in made.unknown:
        # Only this is known: every version comes after what was there before the run.
        following[key, INITIAL] = list(found.installed[key])
        for before, after in made.stated(key):
            result.ww.append((before, after))
            following.setdefault((key, before), []).append(after)
    result.ww += made.some
    for read in found.reads:
        if read.writer != INITIAL and read.writer in found.taken:
            result.wr.append((read.writer, read.reader))
        for after in following.get((read.key, read.writer), ()):
            if after != read.reader:
                result.rw.append((read.reader, after))
    if found.observed.records.sessions:
        result.session = sessions(found)
    return result


def sessions(found: Recovered) -> list[Pair]:
    """Returns the pairs of consecutive transactions of one session, of those that count as committed."""
    last: dict[str, int] = {}
    pairs = []
    for index, transaction in enumerate(found.observed.transactions):
        if index in found.taken:
            if transaction.session in last:
                pairs.append((last[transaction.session], index))
            last[transaction.session] = index
    return pairs
