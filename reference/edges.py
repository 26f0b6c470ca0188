"""Every edge of the direct serialization graph, by the words of docs/notation.md, "Reading rules"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

from dvs_model.histories.history import PredicateRead, Read, Version
from reference.versions import Versions


@dataclass(frozen=True)
class Edge:
    """A dependency. `leaves`, `enters`: the events at its ends, for the graphs that unfold a transaction."""

    kind: str
    source: int
    target: int
    label: str = ""
    predicate: bool = False
    certain: bool = True
    leaves: int = -1
    enters: int = -1


def all_edges(versions: Versions, *, thesis: bool, letter: bool) -> list[Edge]:
    """Returns every edge between two different committed transactions, by a reading (see `Reading`)."""
    edges = [*write_edges(versions, letter)]
    for number, event in enumerate(versions.events):
        if event.txn not in versions.commit:
            continue
        if isinstance(event, Read):
            edges += read_edges(versions, number, event.txn, event.version, predicate=False)
        elif isinstance(event, PredicateRead):
            for version in versions.version_set(event):
                if version.obj in versions.derived_objects:
                    edges += read_edges(versions, number, event.txn, version, predicate=True)
                elif version.txn != event.txn:
                    edges += predicate_edges(versions, number, event, version, thesis)
    return [edge for edge in edges if edge.source != edge.target]


def write_edges(versions: Versions, letter: bool) -> Iterator[Edge]:
    """Yields write dependencies between consecutive versions; of derived ones through what is behind them."""
    at = versions.made
    for obj, order in versions.history.orders.items():
        for one, two in pairwise(order):
            if obj not in versions.derived_objects:
                yield Edge("ww", one.txn, two.txn, obj, leaves=at[one], enters=at[two])
                continue
            first, second = versions.base_behind(one), versions.base_behind(two)
            if not letter:
                first, second = first - second, second - first
            for a, b in product(first, second):
                i, j = versions.installer(a), versions.installer(b)
                if i is None or j is None:
                    continue
                # By rule 7, no edge leads to what had committed before the other one wrote.
                if letter or versions.commit[j] > at[a]:
                    yield Edge("ww", i, j, obj, leaves=at[a], enters=at[b])


def read_edges(
    versions: Versions, number: int, txn: int, version: Version, *, predicate: bool
) -> Iterator[Edge]:
    """Yields read and anti-dependencies of one read, through every base version behind the version read."""
    seen = versions.base_behind(version) if version in versions.behind_derived else {version}
    for base in seen:
        if base.txn == txn or base.obj in versions.derived_objects:
            continue
        writer = versions.installer(base)
        if writer is not None:
            yield Edge("wr", writer, txn, base.obj, predicate, True, versions.made[base], number)
        for following in versions.following(base)[:1]:
            yield Edge("rw", txn, following.txn, base.obj, predicate, True, number, versions.made[following])


def predicate_edges(
    versions: Versions, number: int, event: PredicateRead, version: Version, thesis: bool
) -> Iterator[Edge]:
    """Yields predicate dependencies of one version in a version set."""
    order, txn, obj = versions.order(version.obj), event.txn, version.obj
    if version not in order:
        return
    place = order.index(version)
    write = thesis and event.writes
    for k in range(1, len(order)):
        other, at = order[k], versions.made[order[k]]
        if thesis:
            change = True if k == place else versions.differ(event.predicate, version, other)
        else:
            change = versions.differ(event.predicate, order[k - 1], other)
        if change is False:
            continue
        if k <= place and (not thesis or k == place):
            yield Edge("ww" if write else "wr", other.txn, txn, obj, True, change is True, at, number)
        if k > place:
            yield Edge("ww" if write else "rw", txn, other.txn, obj, True, change is True, number, at)
