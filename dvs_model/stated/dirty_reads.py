"""What single reads show of a history: dirty and late ones, and from when the snapshots of actions may be."""

from __future__ import annotations

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.stated.arcs import Reads, overwrites
from dvs_model.stated.behind import Behind
from dvs_model.stated.made import NOBODY, Made
from dvs_model.stated.rows import READ, WRITE, Rows

MOST_SHOWN = 1000
"""Dirty and late reads of each sort that are named: reports show the first ones."""


def _ends(reads: Reads, versions: Made, bad: Bools) -> Ints:
    """Returns who read and who wrote, of the first of some bad reads of base versions."""
    some = np.flatnonzero(bad & ~reads.derived)[:MOST_SHOWN]
    return np.concatenate([reads.reader[some], versions.txn[reads.version[some]]])


def dirty(versions: Made, reads: Reads) -> Ints:
    """Returns who read a version of an aborted transaction or an intermediate one, and who wrote it."""
    aborted = ~versions.lives.committed[versions.txn[reads.version]]
    intermediate = ~versions.final[reads.version]
    return np.concatenate([_ends(reads, versions, aborted), _ends(reads, versions, intermediate)])


def late(versions: Made, reads: Reads) -> Ints:
    """Returns transactions with those they depend on that had not committed at their start, or at a read."""
    start, commit = versions.lives.start, versions.lives.end
    writer, ordered = versions.txn[reads.version], versions.ordered[reads.version]
    begun = _ends(reads, versions, ordered & (commit[writer] >= start[reads.reader]))
    read = _ends(reads, versions, ordered & (commit[writer] >= reads.event))
    before, after = overwrites(versions)
    written = np.flatnonzero(commit[before] >= start[after])[:MOST_SHOWN]
    return np.concatenate([begun, read, before[written], after[written]])


def freshest(versions: Made, reads: Reads, behind: Behind | None) -> Ints:
    """Returns for each transaction the latest commit of what it has read, through derivations too."""
    found = np.full(len(versions.lives.end), NOBODY)
    base = ~reads.derived & versions.ordered[reads.version]
    np.maximum.at(found, reads.reader[base], versions.lives.end[versions.txn[reads.version[base]]])
    if behind is not None:
        latest = behind.latest()[behind.place[reads.version[reads.derived]]]
        np.maximum.at(found, reads.reader[reads.derived], latest)
    return found


def points(rows: Rows, versions: Made, fresh: Ints) -> Ints:
    """Returns for each transaction the latest point that a snapshot of one of its actions may be from.

    That is its start, or a later commit of what it has read, but no later than its last read or write (see
    `dvs_model.phenomena.monotonic`, which takes these points for PL-MSR).
    """
    start = versions.lives.start
    acting = np.flatnonzero((rows.kind == READ) | (rows.kind == WRITE))
    last = start.copy()
    last[rows.txn[acting]] = acting
    return np.maximum(start, np.minimum(last, fresh))
