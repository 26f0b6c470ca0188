"""Prefix consistency, snapshot isolation and serializability where version orders are known, by cycles.

Cerone and others 2015, 2018: serializable if so, wr, ww and rw close no cycle; snapshot isolation if (so, wr
or ww, then at most one rw) does not; prefix consistency if (so or wr, then at most one rw) or ww does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from dvs_model.graph import strong_labels
from dvs_model.observed.client import WORK, Client, shortened
from dvs_model.observed.graph import Edges, Pair
from dvs_model.observed.recover import Recovered


def layered_cycle(
    found: Recovered, edges: Edges, level: Client, order: Mapping[str, Sequence[Pair]]
) -> str | None:
    """Returns a cycle in words that violates a level; None: there is none, so the level holds.

    `order`: the pairs of transactions whose order is kept, with words that stand between two of them.
    """
    count = len(found.observed.transactions)
    arcs = list(_arcs(edges, level, count, order))
    labels = strong_labels((a for a, _, _ in arcs), (b for _, b, _ in arcs), 2 * count)
    inside = [(a, b, kind) for a, b, kind in arcs if labels[a] == labels[b]]
    if not inside:
        return None
    graph = nx.DiGraph()
    for tail, head, kind in inside:
        graph.add_edge(tail, head, kind=kind)
    best: list[int] = []
    for tail, head, _ in inside[: max(5, WORK // len(inside))]:
        way: list[int] = nx.shortest_path(graph, head, tail)
        if not best or len(way) < len(best):
            best = way
    steps = list(zip(best, [*best[1:], best[0]], strict=True))
    return shortened(
        [
            f"T{found.number(a % count)} {graph.edges[a, b]['kind']} T{found.number(b % count)}"
            for a, b in steps
        ]
    )


def _arcs(
    edges: Edges, level: Client, count: int, order: Mapping[str, Sequence[Pair]]
) -> Iterator[tuple[int, int, str]]:
    """Yields arcs; a transaction's second vertex is entered by what one anti-dependency may follow."""
    named: list[tuple[str, Sequence[Pair]]] = [
        *order.items(),
        ("read by", edges.wr),
        ("overwritten by", edges.ww),
    ]
    for kind, pairs in named:
        for tail, head in pairs:
            yield tail, head, kind
            if level is Client.SNAPSHOT or (level is Client.PREFIX and pairs is not edges.ww):
                yield tail, head + count, kind
    for tail, head in edges.rw:
        at = tail if level is Client.SERIALIZABLE else tail + count
        yield at, head, "read what is replaced by"
