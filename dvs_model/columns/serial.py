"""Test whether the order of the file is itself a serial order that explains all reads.

To find a serial order of a history of registers is NP-complete (Papadimitriou 1979). But files are often
written in the order of commits, and then one pass over the reads proves that every level holds.
"""

from __future__ import annotations

import numpy as np

from dvs_model.columns.lookup import below
from dvs_model.columns.match import Matched
from dvs_model.columns.versions import Versions
from dvs_model.observed.recover import INITIAL


def explained_in_order(matched: Matched, versions: Versions) -> bool:
    """Tells whether each read shows what was written last before its transaction, in the order of the file.

    The order of the file keeps sessions. If it also keeps the known version orders and explains the reads,
    the history is serializable, and every weaker level holds. False only means that this one order fails.
    """
    if versions.told.pairs or versions.told.some:
        # The file states neighbours, so that nothing may stand between them: that is left to the search.
        return False
    same = (versions.key[1:] == versions.key[:-1]) & ~versions.unknown[versions.key[1:]]
    if (versions.txn[1:] < versions.txn[:-1])[same].any():
        # A known version order puts a later transaction of the file before an earlier one.
        return False
    reads, installed, count = matched.reads, matched.installed, matched.columns.count
    # The last version of the key from a transaction before the reader. Codes of (key, transaction) are
    # sorted, so it has the last code below that of the reader, unless that one is of another key.
    codes = installed.key * count + installed.txn
    at = below(codes, reads.key * count + reads.reader) - 1
    if not len(codes):
        return bool((reads.writer == INITIAL).all())
    there = (at >= 0) & (installed.key[at] == reads.key)
    newest = np.where(there, installed.txn[at], INITIAL)
    return bool((newest == reads.writer).all())
