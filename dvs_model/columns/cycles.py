"""The transactions on cycles of dependencies and time, by arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dvs_model.columns.shares import Listed
from dvs_model.columns.table import Bools, Ints, Rows
from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import labels_of
from dvs_model.observed.seen import Transaction
from dvs_model.observed.time import Windows


def windows(transactions: Sequence[Transaction], taken: Bools, *, timed: bool) -> Windows:
    """Returns the windows of the transactions that count as committed; `timed`: by the times of the file."""
    if isinstance(transactions, Rows | Listed):
        given = transactions.timed if timed else transactions.windows
        found = np.full((len(transactions), 2), np.nan) if given is None else given.copy()
    else:
        of = [each.timed if timed else each.window for each in transactions]
        found = np.array([(np.nan, np.nan) if each is None else each for each in of], np.float64)
        found = found.reshape(-1, 2)
    found[~taken] = np.nan
    return found


def on_cycles(count: int, arcs: Sequence[Arcs], time: Windows | None = None) -> Bools:
    """Returns which of `count` transactions lie on a cycle of some arcs.

    `time`: adds "ended before the other one began" between transactions that have a window.
    """
    labels = knots(count, arcs, time)
    sizes = np.bincount(labels, minlength=int(labels.max(initial=-1)) + 1)
    return np.asarray(sizes[labels] > 1, np.bool_)


def knots(count: int, arcs: Sequence[Arcs], time: Windows | None = None) -> Ints:
    """Returns for each of `count` transactions the number of its strongly connected component.

    `time`: as for `on_cycles`.
    """
    all_arcs, vertices = list(arcs), count
    if time is not None:
        more, vertices = _moments(count, time)
        all_arcs.append(more)
    return labels_of(all_arcs, vertices)[:count]


def _moments(count: int, time: Windows) -> tuple[Arcs, int]:
    """Returns a chain of moments as arcs, and how many vertices there are with it.

    An end leads to the next moment, and a moment to the transactions that begin at it. Of two at the same
    time, nobody came first.
    """
    known = np.flatnonzero(~np.isnan(time[:, 0]))
    ended = known[np.isfinite(time[known, 1])]
    at = np.concatenate((time[known, 0], time[ended, 1]))
    is_end = np.concatenate((np.zeros(len(known), np.bool_), np.ones(len(ended), np.bool_)))
    txn = np.concatenate((known, ended))
    order = np.lexsort((is_end, at))
    is_end, txn = is_end[order], txn[order]
    # Ends that no beginning parts share a moment.
    new = is_end.copy()
    new[1:] &= ~is_end[:-1]
    moment = count + np.cumsum(new)
    ends = np.column_stack((txn[is_end], moment[is_end]))
    begins = np.column_stack((moment[~is_end], txn[~is_end]))
    last = int(moment[-1]) if len(moment) else count
    chain = np.arange(count, last)
    return np.concatenate((ends, begins, np.column_stack((chain, chain + 1)))), last + 1
