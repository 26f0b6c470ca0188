"""Judge what needs the database's own start and commit timestamps, where clients recorded them.

Adya's definition of snapshot isolation (PL-SI) is about starts and commits: G-SIa, and cycles with start
order.
"""

from __future__ import annotations

import numpy as np

from dvs_model.analysis.verdict import ABSENT, Observation, PhenomenonVerdict, Present
from dvs_model.clients.basis import Basis
from dvs_model.observed.time import Windows


def interference(basis: Basis) -> PhenomenonVerdict:
    """Judges G-SIa by timestamps: a dependency on a transaction that commits after the other's start."""
    for tail, head in (*basis.edges.wr.tolist(), *basis.edges.ww.tolist()):
        a, b = basis.observed.bare(tail), basis.observed.bare(head)
        commit, start = a.commit, b.start
        if commit is not None and start is not None and commit > start:
            late = f"which committed at {commit}, after T{b.number} started at {start}"
            text = f"T{b.number} depends on T{a.number}, {late}"
            return Present((Observation(text),))
    return ABSENT


def stamps(basis: Basis) -> Windows:
    """Returns a row (begin, end) per transaction by the timestamps of the database; NaN: it has none.

    A commit with the same timestamp as a start comes before the start: that snapshot sees it.
    """
    every = list(map(basis.observed.bare, range(len(basis.taken))))
    points = sorted({p for each in every for p in (each.start, each.commit) if p is not None})
    place = {point: number for number, point in enumerate(points)}
    found = np.full((len(basis.taken), 2), np.nan)
    for index in np.flatnonzero(basis.taken).tolist():
        each = every[index]
        if each.start is not None and each.commit is not None:
            # Timestamps are numbered in their order. Half a step puts a start after a commit of the same
            # number. A transaction whose commit is not after its start (one that only read) still ends after
            # it began.
            start, commit = place[each.start], place[each.commit]
            found[index] = start + 0.5, max(commit, start + 0.75)
    return found
