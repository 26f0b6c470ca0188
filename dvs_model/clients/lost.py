"""Lost updates of keys whose version order is not known.

Whichever wrote first, the other overwrote what it had not read.
"""

from __future__ import annotations

import numpy as np

from dvs_model.columns.lookup import below
from dvs_model.columns.match import Matched
from dvs_model.columns.versions import Versions
from dvs_model.observed.graph import Orders
from dvs_model.observed.recover import Finding, Recovered


def lost_updates(found: Recovered, orders: Orders) -> list[Finding]:
    """Returns two writers of a key that read one version of it, where no version order is known."""
    readers: dict[tuple[str, int], list[int]] = {}
    for read in found.reads:
        if read.key in orders.unknown and read.reader in found.installed[read.key]:
            readers.setdefault((read.key, read.writer), []).append(read.reader)
    return [
        _finding(key, found.number(both[0]), found.number(both[1]))
        for (key, _), indexes in readers.items()
        if len(both := list(dict.fromkeys(indexes))) > 1
    ]


def lost_updates_of(matched: Matched, versions: Versions) -> list[Finding]:
    """Returns the same by arrays."""
    reads, columns, count = matched.reads, matched.columns, matched.columns.count
    open_ = np.flatnonzero(versions.unknown[reads.key])
    codes = matched.installed.key * count + matched.installed.txn
    if not len(open_) or not len(codes):
        return []
    wanted = reads.key[open_] * count + reads.reader[open_]
    at = np.minimum(below(codes, wanted), len(codes) - 1)
    chosen = open_[codes[at] == wanted]
    version = reads.key[chosen] * (count + 1) + reads.writer[chosen] + 1
    order = np.argsort(version, kind="stable")
    chosen, version = chosen[order], version[order]
    first = np.ones(len(chosen), np.bool_)
    first[1:] = version[1:] != version[:-1]
    start = np.flatnonzero(first)[np.cumsum(first) - 1]
    # The first one that is another transaction than the first of all.
    other = np.flatnonzero(reads.reader[chosen] != reads.reader[chosen[start]])
    _, kept = np.unique(start[other], return_index=True)
    found = sorted((int(chosen[start[other[at]]]), int(chosen[other[at]])) for at in kept.tolist())
    return [
        _finding(
            columns.keys[int(reads.key[a])],
            int(columns.number[reads.reader[a]]),
            int(columns.number[reads.reader[b]]),
        )
        for a, b in found
    ]


def _finding(key: str, a: int, b: int) -> Finding:
    text = f"T{a} and T{b} read the same version of key {key}, and both overwrote it"
    return Finding("lost update", (a, b), text)
