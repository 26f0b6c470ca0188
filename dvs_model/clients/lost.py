"""Lost updates of keys whose version order is not known, or not that of the appends that no read shows.

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
    """Returns two writers of a key that read one version of it, or neither one's append."""
    readers: dict[tuple[str, int | None], list[int]] = {}
    tails = {key: set(tail) for key, tail in orders.tails.items()}
    for read in found.reads:
        if read.key in orders.unknown and read.reader in found.installed[read.key]:
            readers.setdefault((read.key, read.writer), []).append(read.reader)
        elif read.reader in tails.get(read.key, ()):
            # Whichever version it was, it is older than what no read shows.
            readers.setdefault((read.key, None), []).append(read.reader)
    return [
        _finding(key, found.number(both[0]), found.number(both[1]), appended=version is None)
        for (key, version), indexes in readers.items()
        if len(both := list(dict.fromkeys(indexes))) > 1
    ]


def lost_updates_of(matched: Matched, versions: Versions) -> list[Finding]:
    """Returns the same by arrays."""
    reads, columns, count = matched.reads, matched.columns, matched.columns.count
    unseen = np.arange(len(versions.key)) - versions.starts[versions.key] >= versions.ordered[versions.key]
    # Of unknown keys every version is so.
    codes = np.sort(versions.key[unseen] * count + versions.txn[unseen])
    if not len(codes):
        return []
    wanted = reads.key * count + reads.reader
    at = np.minimum(below(codes, wanted), len(codes) - 1)
    chosen = np.flatnonzero(codes[at] == wanted)
    open_ = versions.unknown[reads.key[chosen]]
    version = reads.key[chosen] * (count + 2) + np.where(open_, reads.writer[chosen] + 2, 0)
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
            appended=not versions.unknown[reads.key[a]],
        )
        for a, b in found
    ]


def _finding(key: str, a: int, b: int, *, appended: bool) -> Finding:
    text = f"T{a} and T{b} read the same version of key {key}, and both overwrote it"
    if appended:
        text = f"T{a} and T{b} read key {key} without what the other one appended, and both appended to it"
    return Finding("lost update", (a, b), text)
