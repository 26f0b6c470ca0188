"""The part of a history in columns that is about some transactions, as the readable definitions take it."""

from __future__ import annotations

import numpy as np

from dvs_model.columns.match import Matched, observations
from dvs_model.columns.table import APPEND, Bools, Ints
from dvs_model.observed.graph import Orders, orders
from dvs_model.observed.recover import INITIAL, Recovered


def part(matched: Matched, members: Bools) -> tuple[Recovered, Orders]:
    """Returns what some transactions read, and all versions of the keys that they read or wrote."""
    reads, installed = matched.reads, matched.installed
    chosen = members[reads.reader]
    keys = np.zeros(len(matched.columns.keys), np.bool_)
    keys[reads.key[chosen]] = True
    keys[installed.key[members[installed.txn]]] = True
    made = Recovered(matched.observed)
    made.reads = observations(matched, chosen)
    writers = reads.writer[chosen]
    taken = members.copy()
    taken[writers[writers != INITIAL]] = True
    return _filled(matched, made, keys, taken & matched.taken)


def whole(matched: Matched) -> tuple[Recovered, Orders]:
    """Returns a history as `recover` does."""
    made = Recovered(matched.observed)
    made.reads = observations(matched, np.arange(len(matched.reads.reader)))
    return _filled(matched, made, np.ones(len(matched.columns.keys), np.bool_), matched.taken)


def _filled(matched: Matched, made: Recovered, keys: Bools, taken: Bools) -> tuple[Recovered, Orders]:
    columns, installed = matched.columns, matched.installed
    made.taken = set(np.flatnonzero(taken).tolist())
    made.findings, made.missing = matched.noted.findings, matched.noted.missing
    made.broken, made.bad = matched.noted.broken, matched.noted.bad
    wanted: Ints = np.flatnonzero(keys)
    appended = np.bincount(columns.key[columns.kind == APPEND], minlength=len(keys)) > 0
    for code in wanted.tolist():
        name = columns.keys[code]
        if appended[code]:
            made.appended.add(name)
        place = slice(int(installed.starts[code]), int(installed.starts[code + 1]))
        if place.start < place.stop:
            values = columns.value[installed.op[place]].tolist()
            txns = installed.txn[place].tolist()
            made.installed[name] = dict(zip(txns, map(columns.values.value, values), strict=True))
            places = installed.op[place] - columns.first[installed.txn[place]]
            made.placed[name] = dict(zip(txns, places.tolist(), strict=True))
        if matched.longest[code] >= 0:
            made.lists[name] = columns.shown(int(matched.longest[code]))
    return made, orders(made)
