"""Find lost updates where version orders are not known: of registers, and of appends that no read shows.

Two transactions read the same version of a key and both wrote the key. Whichever wrote first, the other one
overwrote it without having read it. So this is certain in every version order (P4 of Berenson and others
1995), and where orders are unknown it is often the only sure sign.
"""

from __future__ import annotations

import numpy as np

from dvs_model.columns.lookup import below
from dvs_model.columns.match import Matched
from dvs_model.columns.versions import Versions
from dvs_model.observed.recover import Finding


def lost_updates(matched: Matched, versions: Versions) -> list[Finding]:
    """Returns one lost update for each version that several writers of its key read.

    A transaction of the tail (its append is shown by no read) counts by key alone: whichever version it read,
    that version is older than every append of the tail. So two of them are a lost update in any case.
    """
    reads, columns, count = matched.reads, matched.columns, matched.columns.count
    unseen = np.arange(len(versions.key)) - versions.starts[versions.key] >= versions.ordered[versions.key]
    # `unseen`: the version stands behind the ordered part of its key. Of keys without any order that is every
    # version, for `ordered` is 0. So the codes are those of pairs (key, writer) with an unknown place.
    codes = np.sort(versions.key[unseen] * count + versions.txn[unseen])
    if not len(codes):
        return []
    wanted = reads.key * count + reads.reader
    at = np.minimum(below(codes, wanted), len(codes) - 1)
    chosen = np.flatnonzero(codes[at] == wanted)
    open_ = versions.unknown[reads.key[chosen]]
    # One number for the version that was read. In a tail all versions count as one, which gets 0; a writer
    # gets its index + 2, for INITIAL is -1.
    version = reads.key[chosen] * (count + 2) + np.where(open_, reads.writer[chosen] + 2, 0)
    # Reads of one version become neighbours, in the order of the file; `start`: the first read of each group.
    order = np.argsort(version, kind="stable")
    chosen, version = chosen[order], version[order]
    first = np.ones(len(chosen), np.bool_)
    first[1:] = version[1:] != version[:-1]
    start = np.flatnonzero(first)[np.cumsum(first) - 1]
    # Of each group the first read by another transaction than that of its first read: these two are shown.
    other = np.flatnonzero(reads.reader[chosen] != reads.reader[chosen[start]])
    _, kept = np.unique(start[other], return_index=True)
    found = sorted((int(chosen[start[other[at]]]), int(chosen[other[at]])) for at in kept.tolist())
    return [
        _finding(
            columns.keys[int(reads.key[a])],
            int(columns.number[reads.reader[a]]),
            int(columns.number[reads.reader[b]]),
            appended=not versions.unknown[reads.key[a]],
        )
        for a, b in found
    ]


def _finding(key: str, a: int, b: int, *, appended: bool) -> Finding:
    """Returns the lost update of two transactions. `appended`: by appends that no read shows."""
    text = f"T{a} and T{b} read the same version of key {key}, and both overwrote it"
    if appended:
        text = f"T{a} and T{b} read key {key} without what the other one appended, and both appended to it"
    return Finding("lost update", (a, b), text)
