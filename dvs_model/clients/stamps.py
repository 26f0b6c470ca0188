"""What the timestamps of a database tell, where clients recorded them."""

from __future__ import annotations

import numpy as np

from dvs_model.analysis.verdict import ABSENT, Observation, PhenomenonVerdict, Present
from dvs_model.clients.basis import Basis
from dvs_model.observed.time import Windows


def interference(basis: Basis) -> PhenomenonVerdict:
    """Judges G-SIa by timestamps: a dependency on a transaction that commits after the other's start."""
    transactions = basis.observed.transactions
    for tail, head in (*basis.edges.wr.tolist(), *basis.edges.ww.tolist()):
        commit, start = transactions[tail].commit, transactions[head].start
        if commit is not None and start is not None and commit > start:
            a, b = transactions[tail], transactions[head]
            late = f"which committed at {commit}, after T{b.number} started at {start}"
            text = f"T{b.number} depends on T{a.number}, {late}"
            return Present((Observation(text),))
    return ABSENT


def stamps(basis: Basis) -> Windows:
    """Returns the windows by the timestamps of the database; a commit at a start is before it."""
    points = sorted(
        {p for each in basis.observed.transactions for p in (each.start, each.commit) if p is not None}
    )
    place = {point: number for number, point in enumerate(points)}
    found = np.full((len(basis.taken), 2), np.nan)
    for index in np.flatnonzero(basis.taken).tolist():
        each = basis.observed.transactions[index]
        if each.start is not None and each.commit is not None:
            start, commit = place[each.start], place[each.commit]
            found[index] = start + 0.5, max(commit, start + 0.75)
    return found
