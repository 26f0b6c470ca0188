"""Find the transactions on cycles of dependencies, session order and real time, with NumPy and SciPy.

Every phenomenon of Adya's that is a cycle lies in a strongly connected component of the DSG. So all other
transactions need not be looked at. Mostly no component has two transactions, and nothing is left to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dvs_model.columns.table import Bools, Ints, Rows, windows_of
from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import labels_of
from dvs_model.observed.seen import Transaction
from dvs_model.observed.time import Windows


def windows(transactions: Sequence[Transaction], taken: Bools, *, timed: bool) -> Windows:
    """Returns when transactions began and ended: a row (begin, end) each, NaN where that is not known.

    `taken`: only these transactions count as committed; others get NaN. `timed`: by the times of the file,
    else by the order of its lines.
    """
    if isinstance(transactions, Rows):
        given = transactions.timed if timed else transactions.windows
        found = np.full((len(transactions), 2), np.nan) if given is None else given.copy()
    else:
        found = windows_of([each.timed if timed else each.window for each in transactions])
    found[~taken] = np.nan
    return found


def on_cycles(count: int, arcs: Sequence[Arcs], time: Windows | None = None) -> Bools:
    """Returns one bool per transaction, of `count`: whether it lies on a cycle of some arcs.

    `time`: adds the arcs "ended before the other one began" between transactions that have a window.
    """
    labels = knots(count, arcs, time)
    sizes = np.bincount(labels, minlength=int(labels.max(initial=-1)) + 1)
    return np.asarray(sizes[labels] > 1, np.bool_)


def knots(count: int, arcs: Sequence[Arcs], time: Windows | None = None) -> Ints:
    """Returns one int64 per transaction, of `count`: the number of its strongly connected component.

    `time`: as for `on_cycles`.
    """
    all_arcs, vertices = list(arcs), count
    if time is not None:
        more, vertices = moments(time, count)
        all_arcs.append(more)
    return labels_of(all_arcs, vertices)[:count]


def moments(time: Windows, count: int) -> tuple[Arcs, int]:
    """Returns arcs along which "ended before the other one began" is reachability, and how many vertices.

    `count`: how many vertices there are already; the first of them are the transactions.

    All pairs in real time would be quadratically many. Instead moments become vertices on a chain: the end of
    a transaction leads to a moment, the moment to the next one and to the transactions that begin after it.
    That is at most three arcs per transaction. A transaction that begins exactly when another one ends does
    not come after it.
    """
    timed = np.flatnonzero(~np.isnan(time[:, 0]))
    ended = timed[np.isfinite(time[timed, 1])]
    at = np.concatenate((time[timed, 0], time[ended, 1]))
    is_end = np.concatenate((np.zeros(len(timed), np.bool_), np.ones(len(ended), np.bool_)))
    txn = np.concatenate((timed, ended))
    # At equal times beginnings (False) are sorted before ends (True): a beginning then belongs to an earlier
    # moment than the end, so that no way leads from the end to it.
    order = np.lexsort((is_end, at))
    is_end, txn = is_end[order], txn[order]
    # Consecutive ends share one moment, because no transaction begins between them.
    new = is_end.copy()
    new[1:] &= ~is_end[:-1]
    # Moments are numbered after the other vertices. Vertex `count` is the one before the first end.
    moment = count + np.cumsum(new)
    ends = np.column_stack((txn[is_end], moment[is_end]))
    begins = np.column_stack((moment[~is_end], txn[~is_end]))
    last = int(moment[-1]) if len(moment) else count
    chain = np.arange(count, last)
    return np.concatenate((ends, begins, np.column_stack((chain, chain + 1)))), last + 1
