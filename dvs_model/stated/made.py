"""Resolve the names of versions and the version orders of a large history, and check that it is well-formed.

The rules are Adya's (1999, section 3.1.2), in arrays. `graph.wellformed` states them one event at a time and
raises the error that says where one is broken. So here a history that breaks a rule, or has something rare
such as a read of what is written later, just gives None: the caller then runs the readable code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.stated.rows import ABORT, COMMIT, DERIVE, READ, START, WRITE, EventRows

NOBODY = -1
"""In an array of places or numbers: there is none."""


@dataclass(frozen=True, slots=True)
class Lives:
    """When transactions start and end: one entry per transaction, an implicit T0 being the last one.

    `start`: the place of the start event; NOBODY (-1): it has none. `end`: the place of its commit or abort.
    `committed`: whether it committed. An implicit T0 has -2 and -1, so that it ends before the first event.
    """

    start: Ints
    end: Ints
    committed: Bools


@dataclass(frozen=True, slots=True)
class Made:
    """The versions of a history, numbered in the order of the events that make them, then those of T0.

    One entry per version: `event`: the place of the event that makes it; -1 for an implicit T0. `obj`: its
    object. `txn`: its transaction. `final`: whether its transaction makes no later version of the object.
    `is_derived`: whether a derivation makes it. `ordered`: whether it is in the version order of its object
    (final, and committed). `following`: the next version in that order; NOBODY: none.

    `line`: the versions of all orders, one order after the other. `meaning`: one entry per name of a version,
    the version. `reads`: the places of read events; `seen`: their versions. `derived`: the derived versions;
    `sources`: what they derive from, with bounds in `EventRows.starts`. `implicit`: whether there is an
    implicit T0.
    """

    lives: Lives
    event: Ints
    obj: Ints
    txn: Ints
    final: Bools
    is_derived: Bools
    ordered: Bools
    following: Ints
    line: Ints
    meaning: Ints
    reads: Ints
    seen: Ints
    derived: Ints
    sources: Ints
    implicit: bool


def made(rows: EventRows) -> Made | None:
    """Returns the versions of a history; None: it is not well-formed, or has something rare."""
    # A T0 that is named and has no event is implicit: it wrote what was there before.
    implicit = bool((rows.names.txn == 0).any()) and not bool((rows.numbers == 0).any())
    lives = _lives(rows, implicit)
    creations = np.flatnonzero((rows.kind == WRITE) | (rows.kind == DERIVE))
    groups = None if lives is None else _groups(rows, creations)
    if lives is None or groups is None:
        return None
    meaning, initial = _meaning(rows, groups, len(creations), implicit=implicit)
    if (meaning < 0).any() or (implicit and not len(initial)):
        return None
    event = np.concatenate([creations, np.full(len(initial), -1)])
    obj = np.concatenate([rows.names.obj[rows.name[creations]], initial])
    txn = np.concatenate([rows.txn[creations], np.full(len(initial), len(rows.numbers))])
    final = np.concatenate([groups.final, np.ones(len(initial), np.bool_)])
    is_derived = np.zeros(len(event), np.bool_)
    is_derived[: len(creations)] = rows.kind[creations] == DERIVE
    if not _one_kind(obj, is_derived):
        return None
    ordered = final & lives.committed[txn]
    line = _line(rows, meaning, obj, ordered, lives.end[txn])
    reads = np.flatnonzero(rows.kind == READ)
    if line is None or not _seen_in_time(rows, groups, event, txn, meaning, reads):
        return None
    following = np.full(len(event), NOBODY)
    same = obj[line[1:]] == obj[line[:-1]]
    following[line[:-1][same]] = line[1:][same]
    derived = np.flatnonzero(is_derived)
    sources = meaning[rows.sources]
    if (event[sources] >= np.repeat(event[derived], np.diff(rows.starts))).any():
        # A derivation names a source that is made after it.
        return None
    return Made(
        lives,
        event,
        obj,
        txn,
        final,
        is_derived,
        ordered,
        following,
        line,
        meaning,
        reads,
        meaning[rows.name[reads]],
        derived,
        sources,
        implicit,
    )


def _lives(rows: EventRows, implicit: bool) -> Lives | None:
    """Returns when transactions start and end.

    None: a transaction has no end or two, or an event after its end or before its start.
    """
    count = len(rows.numbers)
    place = np.arange(len(rows.kind))
    # An assignment with repeated indexes keeps the last value. So events in reverse leave the first place of
    # each transaction, and events as they are its last place.
    first, last = np.empty(count, np.int64), np.empty(count, np.int64)
    first[rows.txn[::-1]] = place[::-1]
    last[rows.txn] = place
    ends = np.flatnonzero((rows.kind == COMMIT) | (rows.kind == ABORT))
    starts = np.flatnonzero(rows.kind == START)
    if len(ends) != count or (np.bincount(rows.txn[ends], minlength=count) != 1).any():
        return None
    if (last[rows.txn[ends]] != ends).any() or (first[rows.txn[starts]] != starts).any():
        return None
    start = np.full(count + implicit, NOBODY)
    end = np.full(count + implicit, -1)
    committed = np.ones(count + implicit, np.bool_)
    start[rows.txn[starts]] = starts
    end[rows.txn[ends]] = ends
    committed[rows.txn[ends]] = rows.kind[ends] == COMMIT
    if implicit:
        start[-1] = -2
    return Lives(start, end, committed)


@dataclass(frozen=True, slots=True)
class Groups:
    """The versions in groups. A group are the versions that one transaction makes of one object.

    `order`: the versions, sorted by group and then by event. `keys`: one int64 per group, obj * span + txn,
    in ascending order, so that a group can be found by binary search. `begins`: where the groups begin in
    `order`, with one more entry at the end. `final`: one bool per version, whether it is the last of its
    group. `span`: one more than there are transactions.
    """

    order: Ints
    keys: Ints
    begins: Ints
    final: Bools
    span: int

    def find(self, obj: Ints, txn: Ints) -> Ints:
        """Returns the group of each pair of an object and a transaction; NOBODY: there is none.

        `txn` may be NOBODY, for a transaction that the history does not have.
        """
        if not len(self.keys):
            return np.full(len(obj), NOBODY)
        wanted = obj * self.span + txn
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where((self.keys[at] == wanted) & (txn >= 0), at, NOBODY)


def _groups(rows: EventRows, creations: Ints) -> Groups | None:
    """Returns the versions in groups. `creations`: the places of the events that make versions.

    None: an event names a version of another transaction, or gives a version a wrong number.
    """
    name, txn = rows.name[creations], rows.txn[creations]
    if (rows.names.txn[name] != rows.numbers[txn]).any():
        return None
    span = len(rows.numbers) + 1
    key = rows.names.obj[name] * span + txn
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    # A group begins where the key changes. The slice is for a history without versions.
    begin = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]])[: len(order)])
    begins = np.append(begin, len(order))
    size = np.diff(begins)
    rank = np.arange(len(order)) - np.repeat(begin, size) + 1
    last = rank == np.repeat(size, size)
    # x1.2 must be the second version that T1 makes of x; plain x1 (number 0) must be the last one.
    given = rows.names.number[name[order]]
    if not np.where(given == 0, last, given == rank).all():
        return None
    final = np.empty(len(order), np.bool_)
    final[order] = last
    return Groups(order, ascending[begin], begins, final, span)


def _meaning(rows: EventRows, groups: Groups, versions: int, *, implicit: bool) -> tuple[Ints, Ints]:
    """Returns for each name its version, or NOBODY; and the objects of which an implicit T0 has a version.

    `versions`: the number of versions that events make; those of T0 are numbered after these.
    """
    names = rows.names
    at = np.minimum(np.searchsorted(rows.numbers, names.txn), max(len(rows.numbers) - 1, 0))
    txn = np.where(rows.numbers[at] == names.txn, at, NOBODY)
    group = groups.find(names.obj, txn)
    # Without a group the index is -1, and what it gives means nothing: `exists` masks it.
    size = groups.begins[group + 1] - groups.begins[group]
    number = np.where(names.number == 0, size, names.number)
    exists = (group >= 0) & (number <= size)
    place = np.where(exists, groups.begins[group] + number - 1, 0)
    meaning = np.where(exists, groups.order[place] if len(groups.order) else NOBODY, NOBODY)
    if not implicit:
        return meaning, np.empty(0, np.int64)
    first = (names.txn == 0) & (names.number <= 1)
    initial = np.unique(names.obj[first])
    meaning[first] = versions + np.searchsorted(initial, names.obj[first])
    return meaning, initial


def _one_kind(obj: Ints, is_derived: Bools) -> bool:
    """Tells whether each object is either written or derived."""
    count = int(obj.max(initial=-1)) + 1
    written = np.bincount(obj[~is_derived], minlength=count) > 0
    return not (written & (np.bincount(obj[is_derived], minlength=count) > 0)).any()


def _line(rows: EventRows, meaning: Ints, obj: Ints, ordered: Bools, commit: Ints) -> Ints | None:
    """Returns the version orders of all objects, one after the other, as versions.

    An order that the history does not state is that of the commits. `commit`: by version the place of its
    commit. None: a stated order lacks a version of its object, or has another one too many.
    """
    when = commit
    if rows.chains:
        stated = stated_orders(rows.chains, meaning, obj, ordered)
        if stated is None:
            return None
        # Of an object all versions are stated or none, so places in the stated order and places of commits
        # are never compared.
        when = commit.copy()
        when[stated] = np.arange(len(stated))
    line = np.flatnonzero(ordered)
    return line[np.lexsort((when[line], obj[line]))]


def stated_orders(chains: Sequence[Sequence[int]], meaning: Ints, obj: Ints, ordered: Bools) -> Ints | None:
    """Returns the versions of the stated orders, one after the other.

    None: one of them is empty, mixes objects, repeats or lacks a version, holds one that is not committed and
    final, or is the second one of its object.
    """
    lengths = np.fromiter(map(len, chains), np.int64, len(chains))
    if (lengths == 0).any():
        return None
    versions = meaning[np.concatenate([np.asarray(chain, np.int64) for chain in chains])]
    of = obj[versions]
    heads = np.cumsum(lengths) - lengths
    one_object = (of == np.repeat(of[heads], lengths)).all()
    every_once = len(np.unique(of[heads])) == len(heads) and len(np.unique(versions)) == len(versions)
    if not (one_object and every_once and ordered[versions].all()):
        return None
    # No version is repeated and all are in an order, so an order is complete if its length is right.
    due = np.bincount(obj[ordered], minlength=int(obj.max()) + 1)
    return versions if (due[of[heads]] == lengths).all() else None


def _seen_in_time(
    rows: EventRows, groups: Groups, event: Ints, txn: Ints, meaning: Ints, reads: Ints
) -> bool:
    """Tells whether each read names a version made before it, and of the reader's own ones the latest."""
    seen, reader = meaning[rows.name[reads]], rows.txn[reads]
    if (event[seen] >= reads).any():
        return False
    group = groups.find(rows.names.obj[rows.name[reads]], reader)
    own = np.flatnonzero(group >= 0)
    begin, end = groups.begins[group[own]], groups.begins[group[own] + 1]
    # How many versions of its own group does each read come after? Encode (group, event) as one number:
    # groups ascend, and within a group events ascend, so the codes are sorted and one search answers for all
    # reads.
    span = len(rows.kind) + 1
    places = event[groups.order] + np.repeat(np.arange(len(groups.keys)), np.diff(groups.begins)) * span
    before = np.searchsorted(places, group[own] * span + reads[own])
    some = before > begin
    latest = groups.order[np.maximum(before, 1) - 1]
    assert (before <= end).all()
    return not (latest[some] != seen[own][some]).any()
