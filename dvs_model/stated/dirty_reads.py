"""Find phenomena of single reads in a large history: dirty reads (G1a, G1b) and late ones (G-SIa, G-MSRa).

Also the latest points from which the snapshots of actions may be, which PL-MSR needs.
"""

from __future__ import annotations

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.stated.arcs import DependentReads, overwrites
from dvs_model.stated.behind import Behind
from dvs_model.stated.made import NOBODY, Made
from dvs_model.stated.rows import READ, WRITE, EventRows

MOST_SHOWN = 1000
"""Dirty and late reads of each sort whose transactions are kept: reports show only the first ones."""


def _ends(reads: DependentReads, versions: Made, bad: Bools) -> Ints:
    """Returns the readers and the writers of bad reads of base versions, of the first MOST_SHOWN of them."""
    some = np.flatnonzero(bad & ~reads.derived)[:MOST_SHOWN]
    return np.concatenate([reads.reader[some], versions.txn[reads.version[some]]])


def dirty(versions: Made, reads: DependentReads) -> Ints:
    """Returns the readers and writers of aborted reads (G1a) and of intermediate reads (G1b)."""
    aborted = ~versions.lives.committed[versions.txn[reads.version]]
    intermediate = ~versions.final[reads.version]
    return np.concatenate([_ends(reads, versions, aborted), _ends(reads, versions, intermediate)])


def late(versions: Made, reads: DependentReads) -> Ints:
    """Returns transactions, with those on which they depend that committed too late.

    Too late is after the start of the dependent one (G-SIa, for wr and ww), or after the read itself
    (G-MSRa).
    """
    start, commit = versions.lives.start, versions.lives.end
    writer, ordered = versions.txn[reads.version], versions.ordered[reads.version]
    begun = _ends(reads, versions, ordered & (commit[writer] >= start[reads.reader]))
    read = _ends(reads, versions, ordered & (commit[writer] >= reads.event))
    before, after = overwrites(versions)
    written = np.flatnonzero(commit[before] >= start[after])[:MOST_SHOWN]
    return np.concatenate([begun, read, before[written], after[written]])


def freshest(versions: Made, reads: DependentReads, behind: Behind | None) -> Ints:
    """Returns for each transaction the latest commit of those it read from, also through derivations."""
    found = np.full(len(versions.lives.end), NOBODY)
    base = ~reads.derived & versions.ordered[reads.version]
    # `maximum.at`, because a reader occurs many times: a plain assignment would keep its last read only.
    np.maximum.at(found, reads.reader[base], versions.lives.end[versions.txn[reads.version[base]]])
    if behind is not None:
        latest = behind.latest()[behind.place[reads.version[reads.derived]]]
        np.maximum.at(found, reads.reader[reads.derived], latest)
    return found


def points(rows: EventRows, versions: Made, fresh: Ints) -> Ints:
    """Returns for each transaction the latest point from which a snapshot of one of its actions may be.

    That is its start, or a later commit of a transaction that it read from, but not later than its last read
    or write (`dvs_model.phenomena.monotonic` takes these points for PL-MSR). `fresh`: from `freshest`.
    """
    start = versions.lives.start
    acting = np.flatnonzero((rows.kind == READ) | (rows.kind == WRITE))
    last = start.copy()
    last[rows.txn[acting]] = acting
    return np.maximum(start, np.minimum(last, fresh))
