"""The part of a large history on which its verdicts depend.

A cycle of a phenomenon lies in a strongly connected component of all arcs; so do the transactions between
two versions of an object whose writers both lie in it. Without the others, version orders close over the
gaps; an edge over a gap stands for a path through what is left out, which would lie in the component if the
edge closed a cycle. So the part keeps: the transactions of components, those of dirty and of late reads, and
of others the writes that these have read. `tests/laws/test_parts_of_stated_histories.py` compares verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.draft import Chain, Draft, Session
from dvs_model.history import History
from dvs_model.notation.scan import Scanner
from dvs_model.stated.arcs import Arcs, Reads, connect, in_sessions, in_time, overwrites, reads_of
from dvs_model.stated.behind import Behind
from dvs_model.stated.made import NOBODY, Made, made
from dvs_model.stated.rows import ABORT, COMMIT, READ, START, WRITE, Rows
from dvs_model.wellformed import well_formed

MOST_SHOWN = 1000
"""Dirty and late reads of each sort that the part keeps: reports show the first ones."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a history that its verdicts depend on, and how much the whole has: counts by name."""

    history: History
    size: Mapping[str, int]


def part(rows: Rows, name: str) -> Part | None:
    """Returns the part of a history on which its verdicts depend; None: it is not well-formed, or all of it.

    The verdicts are those of the default reading on all phenomena. Histories that this module does not know
    to reduce, such as those with derivations and a cycle, are not reduced.
    """
    versions = made(rows)
    members = None if versions is None else _sessions(rows)
    if versions is None or members is None:
        return None
    reads = reads_of(rows, versions)
    kept = _kept(rows, versions, reads, members)
    if kept is None:
        return None
    return Part(_history(rows, versions, reads, kept, members, name), _size(rows, versions))


def _sessions(rows: Rows) -> list[Ints] | None:
    """Returns the transactions of each session; None: one is unknown, or in two sessions."""
    members: list[Ints] = []
    for numbers in rows.sessions.values():
        given = np.asarray(numbers, np.int64)
        at = np.minimum(np.searchsorted(rows.numbers, given), len(rows.numbers) - 1)
        if not len(given) or (rows.numbers[at] != given).any():
            return None
        members.append(at)
    everyone = np.concatenate([np.empty(0, np.int64), *members])
    return members if len(np.unique(everyone)) == len(everyone) else None


def _timed(rows: Rows, versions: Made) -> bool:
    """Whether the text says when each committed transaction starts."""
    started = versions.lives.start[: len(rows.numbers)] >= 0
    return bool(started.any() and started[versions.lives.committed[: len(rows.numbers)]].all())


def _kept(rows: Rows, versions: Made, reads: Reads, members: list[Ints]) -> Bools | None:
    """Returns the transactions to keep as they are; None: with derivations some would have to be."""
    arcs = Arcs(len(versions.lives.end))
    behind = Behind.of(rows, versions) if len(versions.derived) else None
    if behind is not None:
        behind.connect(arcs, reads)
    connect(versions, reads, arcs)
    kept = np.zeros(len(versions.lives.end), np.bool_)
    kept[_dirty(versions, reads)] = True
    unclear = behind is not None and bool(behind.dirty()[behind.place[reads.version[reads.derived]]].any())
    if _timed(rows, versions):
        fresh = _freshest(versions, reads, behind)
        kept[_late(versions, reads)] = True
        in_time(_points(rows, versions, fresh), versions, arcs)
        unclear |= behind is not None and behind.late(reads)
    in_sessions(members, versions.lives.committed, arcs)
    labels = arcs.labels()[: len(kept)]
    kept |= (np.bincount(labels) > 1)[labels]
    return None if behind is not None and (unclear or kept.any()) else kept


def _ends(reads: Reads, versions: Made, bad: Bools) -> Ints:
    """Returns who read and who wrote, of the first of some bad reads of base versions."""
    some = np.flatnonzero(bad & ~reads.derived)[:MOST_SHOWN]
    return np.concatenate([reads.reader[some], versions.txn[reads.version[some]]])


def _dirty(versions: Made, reads: Reads) -> Ints:
    """Returns who read a version of an aborted transaction or an intermediate one, and who wrote it."""
    aborted = ~versions.lives.committed[versions.txn[reads.version]]
    intermediate = ~versions.final[reads.version]
    return np.concatenate([_ends(reads, versions, aborted), _ends(reads, versions, intermediate)])


def _late(versions: Made, reads: Reads) -> Ints:
    """Returns who depends on a transaction that had not committed when he started, or read; and that one."""
    start, commit = versions.lives.start, versions.lives.end
    writer, ordered = versions.txn[reads.version], versions.ordered[reads.version]
    begun = _ends(reads, versions, ordered & (commit[writer] >= start[reads.reader]))
    read = _ends(reads, versions, ordered & (commit[writer] >= reads.event))
    before, after = overwrites(versions)
    written = np.flatnonzero(commit[before] >= start[after])[:MOST_SHOWN]
    return np.concatenate([begun, read, before[written], after[written]])


def _freshest(versions: Made, reads: Reads, behind: Behind | None) -> Ints:
    """Returns for each transaction the latest commit of what it has read, through derivations too."""
    found = np.full(len(versions.lives.end), NOBODY)
    base = ~reads.derived & versions.ordered[reads.version]
    np.maximum.at(found, reads.reader[base], versions.lives.end[versions.txn[reads.version[base]]])
    if behind is not None:
        latest = behind.latest()[behind.place[reads.version[reads.derived]]]
        np.maximum.at(found, reads.reader[reads.derived], latest)
    return found


def _points(rows: Rows, versions: Made, fresh: Ints) -> Ints:
    """Returns for each transaction the latest point that a snapshot of one of its actions may be from.

    That is its start, or a later commit of what it has read, but no later than its last read or write (see
    `dvs_model.phenomena.monotonic`, which takes these points for PL-MSR).
    """
    start = versions.lives.start
    acting = np.flatnonzero((rows.kind == READ) | (rows.kind == WRITE))
    last = start.copy()
    last[rows.txn[acting]] = acting
    return np.maximum(start, np.minimum(last, fresh))


def _history(
    rows: Rows, versions: Made, reads: Reads, kept: Bools, members: list[Ints], name: str
) -> History:
    """Returns the history of the kept transactions, and of others the writes that these have read.

    A committed transaction, a start and a session are there if the history has any, because verdicts depend
    on that. Without a start for all, starts tell nothing and are left out.
    """
    kept = kept[: len(rows.numbers)]
    inside = kept[rows.txn]
    read = versions.seen[inside[versions.reads]]
    read = read[versions.event[read] >= 0]
    span = len(versions.lives.end)
    wanted = np.unique(versions.obj[read] * span + versions.txn[read])
    creations = np.flatnonzero(versions.event >= 0)
    group = versions.obj[creations] * span + versions.txn[creations]
    there = inside.copy()
    there[versions.event[creations[np.isin(group, wanted)]]] = True
    named = np.zeros(len(rows.numbers), np.bool_)
    named[rows.txn[there]] = True
    _witnesses(named, versions, members)
    ends = (rows.kind == COMMIT) | (rows.kind == ABORT) | (rows.kind == START)
    there |= ends & named[rows.txn]
    if not _timed(rows, versions):
        there &= rows.kind != START
    draft = Draft(name, rows.drafts(np.flatnonzero(there)))
    draft.chains = list(_chains(rows, versions, there))
    for session, txns in zip(rows.sessions, members, strict=True):
        if numbers := rows.numbers[txns[named[txns]]].tolist():
            draft.sessions.append(Session(session, tuple(numbers)))
    return well_formed(draft)


def _witnesses(named: Bools, versions: Made, members: list[Ints]) -> None:
    """Adds a committed transaction, one with a start, and one of a session, where there is one."""
    lives, sessions = versions.lives, [txns for txns in members if len(txns)]
    wanted = [np.flatnonzero(lives.committed[: len(named)]), np.flatnonzero(lives.start[: len(named)] >= 0)]
    for some in [*wanted, *([np.concatenate(sessions)] if sessions else [])]:
        if len(some) and not named[some].any():
            named[some[0]] = True


def _chains(rows: Rows, versions: Made, there: Bools) -> Iterator[Chain]:
    """Yields the stated version orders of what is kept."""
    names = Scanner("", "")
    for chain in rows.chains:
        places = np.asarray(chain, np.int64)
        event = versions.event[versions.meaning[places]]
        # A version of an implicit T0 is there as long as something of its object is.
        texts = [rows.names.texts[place] for place in places[(event < 0) | there[event]].tolist()]
        if (there[event] & (event >= 0)).any():
            yield Chain(tuple(names.version(text, -1) for text in texts))


def _size(rows: Rows, versions: Made) -> Mapping[str, int]:
    """Returns how much a history has, as reports count it."""
    initial = int((versions.event < 0).sum())
    return {
        "transactions": len(versions.lives.end),
        "committed": int(versions.lives.committed.sum()),
        "events": len(rows.kind) + initial + versions.implicit,
        "objects": len(np.unique(versions.obj)),
        "derivations": len(versions.derived),
    }
