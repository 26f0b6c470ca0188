"""Prefix consistency, snapshot isolation and serializability where version orders are known, by cycles.

Cerone and others 2015, 2018: serializable if so, wr, ww and rw close no cycle; snapshot isolation if (so, wr
or ww, then at most one rw) does not; prefix consistency if (so or wr, then at most one rw) or ww does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dvs_model.columns.versions import NO_ARCS, Arcs, Edges
from dvs_model.graph.cycles import labels_of, short_cycle
from dvs_model.observed.client import WORK, Client, shortened
from dvs_model.observed.seen import Observed


def layered_cycle(observed: Observed, edges: Edges, level: Client, order: Mapping[str, Arcs]) -> str | None:
    """Returns a cycle in words that violates a level; None: there is none, so the level holds.

    `order`: the pairs of transactions whose order is kept, with words that stand between two of them.
    """
    count = len(observed.transactions)
    named = list(_arcs(edges, level, count, order))
    labels = labels_of([arcs for _, arcs in named], 2 * count)
    inside = [(kind, arcs[labels[arcs[:, 0]] == labels[arcs[:, 1]]]) for kind, arcs in named]
    every = np.concatenate([NO_ARCS, *(arcs for _, arcs in inside)])
    if not len(every):
        return None
    best = short_cycle(every, max(5, WORK // len(every)))
    kinds = {(tail, head): kind for kind, arcs in inside for tail, head in arcs.tolist()}
    steps = list(zip(best, [*best[1:], best[0]], strict=True))
    numbers = {at: observed.number(at % count) for at in best}
    return shortened([f"T{numbers[a]} {kinds[a, b]} T{numbers[b]}" for a, b in steps])


def _arcs(edges: Edges, level: Client, count: int, order: Mapping[str, Arcs]) -> Iterator[tuple[str, Arcs]]:
    """Yields arcs; a transaction's second vertex is entered by what one anti-dependency may follow."""
    for kind, arcs in (*order.items(), ("read by", edges.wr), ("overwritten by", edges.ww)):
        yield kind, arcs
        if level is Client.SNAPSHOT or (level is Client.PREFIX and arcs is not edges.ww):
            yield kind, arcs + np.array((0, count))
    at = 0 if level is Client.SERIALIZABLE else count
    yield "read what is replaced by", edges.rw + np.array((at, 0))
