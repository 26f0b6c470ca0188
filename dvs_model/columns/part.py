"""Turn a part of a history in columns back into objects, for the detectors of phenomena.

Arrays find the few transactions that lie on cycles. What these read, and the versions of their keys, is then
judged by the detectors of phenomena.
"""

from __future__ import annotations

import numpy as np

from dvs_model.columns.match import Matched, observations
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Versions, orders
from dvs_model.observed.history import Orders
from dvs_model.observed.recover import INITIAL, Recovered


def part(matched: Matched, known: Versions, members: Bools) -> tuple[Recovered, Orders]:
    """Returns what some transactions read, and all versions of the keys that they read or wrote.

    `members`: one bool per transaction.
    """
    reads, installed = matched.reads, matched.installed
    chosen = members[reads.reader]
    keys = np.zeros(len(matched.columns.keys), np.bool_)
    keys[reads.key[chosen]] = True
    keys[installed.key[members[installed.txn]]] = True
    result = Recovered(matched.observed)
    result.reads = observations(matched, chosen)
    # The writers of what the members read count as committed in the part as well, if they do in the history:
    # otherwise these reads would give no dependency.
    writers = reads.writer[chosen]
    committed = members.copy()
    committed[writers[writers != INITIAL]] = True
    return _filled(matched, known, result, keys, committed & matched.taken)


def whole(matched: Matched, known: Versions) -> tuple[Recovered, Orders]:
    """Returns all reads and versions."""
    result = Recovered(matched.observed)
    result.reads = observations(matched, np.arange(len(matched.reads.reader)))
    return _filled(matched, known, result, np.ones(len(matched.columns.keys), np.bool_), matched.taken)


def _filled(
    matched: Matched, known: Versions, result: Recovered, keys: Bools, committed: Bools
) -> tuple[Recovered, Orders]:
    """Adds the versions of some keys, with their places, to `result`, and returns it with their orders.

    `keys`: one bool per key. `committed`: one bool per transaction.
    """
    columns, installed = matched.columns, matched.installed
    result.taken = set(np.flatnonzero(committed).tolist())
    wanted: Ints = np.flatnonzero(keys)
    for code in wanted.tolist():
        name = columns.keys[code]
        place = slice(int(installed.starts[code]), int(installed.starts[code + 1]))
        if place.start < place.stop:
            values = columns.value[installed.op[place]].tolist()
            txns = installed.txn[place].tolist()
            result.installed[name] = dict(zip(txns, map(columns.values.value, values), strict=True))
            places = installed.op[place] - columns.first[installed.txn[place]]
            result.placed[name] = dict(zip(txns, places.tolist(), strict=True))
    return result, orders(matched, known, wanted.tolist())
