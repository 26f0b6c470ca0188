"""Which transactions wait for which, by the partition locks of the model, and deadlocks among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import networkx as nx


def lock_owners(holders: Mapping[int, int], mine: int, partitions: Set[int]) -> Sequence[int]:
    """Returns the other transactions that hold a lock on one of some partitions.

    `holders`: by partition the transaction that holds its lock. `mine`: the one that asks.
    """
    return sorted({holders[each] for each in partitions if holders.get(each, mine) != mine})


def deadlock(holders: Mapping[int, int], needs: Mapping[int, Set[int]], number: int) -> Sequence[int]:
    """Returns the transactions of a cycle of waits that one transaction closes; none if there is no cycle.

    `holders`: as in `lock_owners`. `needs`: by waiting transaction the partitions that its statement needs.
    """
    graph = nx.DiGraph()
    graph.add_node(number)
    for waiter, partitions in needs.items():
        graph.add_edges_from((waiter, owner) for owner in lock_owners(holders, waiter, partitions))
    try:
        return [waiter for waiter, _ in nx.find_cycle(graph, number)]
    except nx.NetworkXNoCycle:
        return []
