"""Decide prefix consistency, snapshot isolation and serializability by cycles, where version orders are
known.

Cerone and others (2015, 2018) characterise these levels by session order (so), wr, ww and rw edges:

- serializable: no cycle of so, wr, ww and rw;
- snapshot isolation: no cycle of steps, each of them so, wr or ww, followed by at most one rw;
- prefix consistency: no cycle of steps, each of them ww, or so or wr followed by at most one rw.

To find cycles of such steps with an ordinary search, each transaction is two vertices. The first one is
entered by any edge. The second one is entered only by an edge that one rw may follow, and left only by rw
edges; these enter first vertices. So two rw edges never follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dvs_model.columns.versions import NO_ARCS, Arcs, Edges
from dvs_model.graph.cycles import labels_of, short_cycle
from dvs_model.observed.client import WORK, Client, shortened
from dvs_model.observed.seen import Observed


def layered_cycle(observed: Observed, edges: Edges, level: Client, order: Mapping[str, Arcs]) -> str | None:
    """Returns a short cycle in words that violates a level; None: there is none, so the level holds.

    `order`: the pairs of transactions whose order the level keeps, by the words for it, such as "before in
    its session".
    """
    count = len(observed.transactions)
    named = list(_arcs(edges, level, count, order))
    labels = labels_of([arcs for _, arcs in named], 2 * count)
    inside = [(kind, arcs[labels[arcs[:, 0]] == labels[arcs[:, 1]]]) for kind, arcs in named]
    every = np.concatenate([NO_ARCS, *(arcs for _, arcs in inside)])
    if not len(every):
        return None
    # The budget is in edges looked at: the more edges, the fewer starts of the search.
    best = short_cycle(every, max(5, WORK // len(every)))
    kinds = {(tail, head): kind for kind, arcs in inside for tail, head in arcs.tolist()}
    steps = list(zip(best, [*best[1:], best[0]], strict=True))
    numbers = {at: observed.number(at % count) for at in best}
    return shortened([f"T{numbers[a]} {kinds[a, b]} T{numbers[b]}" for a, b in steps])


def _arcs(edges: Edges, level: Client, count: int, order: Mapping[str, Arcs]) -> Iterator[tuple[str, Arcs]]:
    """Yields arcs with their words. Transaction t is vertex t and, if the level has layers, t + count."""
    for kind, arcs in (*order.items(), ("read by", edges.wr), ("overwritten by", edges.ww)):
        yield kind, arcs
        if level is Client.SNAPSHOT or (level is Client.PREFIX and arcs is not edges.ww):
            yield kind, arcs + np.array((0, count))
    at = 0 if level is Client.SERIALIZABLE else count
    yield "read what is replaced by", edges.rw + np.array((at, 0))
