"""Whether the order of the file itself explains what was read, so that no other one must be searched for."""

from __future__ import annotations

import numpy as np

from dvs_model.columns.lookup import below
from dvs_model.columns.match import Matched
from dvs_model.columns.versions import Versions
from dvs_model.observed.recover import INITIAL


def explained_in_order(matched: Matched, versions: Versions) -> bool:
    """Tells whether each read shows what was written last before its transaction, in the order of the file.

    That order keeps sessions, and it must keep the version orders that are known. If it explains the reads,
    the history is serializable, and every weaker level holds.
    """
    same = (versions.key[1:] == versions.key[:-1]) & ~versions.unknown[versions.key[1:]]
    if (versions.txn[1:] < versions.txn[:-1])[same].any():
        # Another order of versions is known.
        return False
    reads, installed, count = matched.reads, matched.installed, matched.columns.count
    codes = installed.key * count + installed.txn
    at = below(codes, reads.key * count + reads.reader) - 1
    if not len(codes):
        return bool((reads.writer == INITIAL).all())
    there = (at >= 0) & (installed.key[at] == reads.key)
    newest = np.where(there, installed.txn[at], INITIAL)
    return bool((newest == reads.writer).all())
