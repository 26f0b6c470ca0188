"""Verdicts on small histories straight from the definitions: every edge listed, every cycle enumerated.

Slow, and meant to be read beside docs/histories.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import combinations, pairwise

import networkx as nx

from dvs_model.histories.history import History, PredicateRead, Read, Write
from reference.edges import Edge, all_edges
from reference.versions import UNBORN, Versions

Steps = list[list[Edge]]
"""A cycle: for each of its steps the edges to choose from."""

Pairs = set[tuple[int, int]]
"""An order of transactions, as pairs (earlier, later)."""


class Reference:
    """The verdicts on a history under one reading. `ignore`, `thesis`, `letter`: the choices of `Reading`."""

    def __init__(
        self, history: History, *, ignore: bool = False, thesis: bool = False, letter: bool = False
    ) -> None:
        self.history = history
        self.versions = Versions(history, ignore=ignore)
        self.commit = self.versions.commit
        self.edges = all_edges(self.versions, thesis=thesis, letter=letter)

    def verdicts(self) -> dict[str, bool | None]:
        """Returns whether each phenomenon occurs, by its name; None: the history does not say."""
        before, text = self.precedes(), self.text_precedes()
        plain: dict[str, bool | None] = {
            "G0": self.decided(some(lambda c: only(c, "ww"))),
            "G1a": bool(self.aborted_readers()),
            "G1b": bool(self.intermediate_readers()),
            "G1c": self.decided(some(without_rw)),
            "G-single": self.decided(some(with_one_rw)),
            "G2-item": self.decided(some(with_item_rw)),
            "G2": self.decided(some(with_rw)),
            "G-cursor": self.decided(lambda edges: bool(self.cursor(edges))),
            "G-monotonic": self.decided(lambda edges: bool(self.monotonic(edges, None))),
            "G-update": self.decided(lambda edges: bool(self.update(edges))),
            "G1-predA": bool(self.mixed(generated=True)),
            "G1-predB": bool(self.mixed(generated=False)),
        }
        verdicts = {
            **plain,
            "G-SIa": None,
            "G-SIb": self.ordered(with_one_rw, before, plain["G-single"]),
            "G-MSRa": None,
            "G-MSRb": plain["G-monotonic"] or None,
        }
        if before is not None:
            verdicts["G-SIa"] = self.decided(
                lambda es: any(e.kind in ("ww", "wr") and (e.source, e.target) not in before for e in es)
            )
        if text is not None:
            verdicts["G-MSRa"] = self.decided(
                lambda es: any(e.kind == "wr" and self.commit[e.source] > e.enters for e in es)
            )
            verdicts["G-MSRb"] = self.decided(lambda edges: bool(self.monotonic(edges, text)))
        for name, pairs in (("realtime", text), ("session", self.session_pairs())):
            for phenomenon, wanted in (("G1c", without_rw), ("G-single", with_one_rw), ("G2", with_rw)):
                verdicts[f"{phenomenon}-{name}"] = self.ordered(wanted, pairs, plain[phenomenon])
        return verdicts

    def decided(self, occurs: Callable[[list[Edge]], bool], more: Iterable[Edge] = ()) -> bool | None:
        """Tells whether something occurs with the certain edges; None: only with possible edges."""
        edges = [*self.edges, *more]
        certain = [edge for edge in edges if edge.certain]
        if occurs(certain):
            return True
        return None if len(certain) < len(edges) and occurs(edges) else False

    def ordered(
        self, wanted: Callable[[Steps], bool], pairs: Pairs | None, plain: bool | None
    ) -> bool | None:
        """Tells whether a cycle occurs with the edges of an order; without one, what `plain` implies."""
        if pairs is None:
            return plain or None
        committed = ((i, j) for i, j in pairs if i in self.commit and j in self.commit)
        return self.decided(some(wanted), [Edge("order", i, j) for i, j in committed])

    # --- orders of transactions

    def precedes(self) -> Pairs | None:
        """Returns the pairs (i, j) where T_i commits before T_j starts; None: the history does not say."""
        if not self.history.precedes:
            return self.text_precedes()
        pairs = set(self.history.precedes)
        if self.history.implicit_initial:
            pairs |= {(0, j) for j in self.commit if j != 0}
        return set(nx.transitive_closure(nx.DiGraph(pairs)).edges)

    def text_precedes(self) -> Pairs | None:
        """Returns the pairs of `precedes` by the text; None: a committed transaction has no start there."""
        starts = dict(self.versions.start)
        if not starts:
            return None
        if self.history.implicit_initial:
            starts[0] = -1
        if any(txn not in starts for txn in self.commit):
            return None
        return {(i, j) for i in self.commit for j in self.commit if self.commit[i] < starts[j]}

    def session_pairs(self) -> Pairs | None:
        """Returns the pairs of one session in its order; None: no session is named."""
        sessions = self.history.sessions.values()
        return {pair for txns in sessions for pair in combinations(txns, 2)} if sessions else None

    # --- phenomena by subject

    def aborted_readers(self) -> set[int]:
        """Returns the transactions with G1a."""
        versions = self.versions
        return {
            t for t, v in versions.reads() if any(s.txn in versions.abort for s in {v} | versions.behind(v))
        }

    def intermediate_readers(self) -> set[int]:
        """Returns the transactions with G1b."""
        versions = self.versions
        return {
            t
            for t, v in versions.reads()
            if any(s.txn not in (t, UNBORN) and not versions.final(s) for s in {v} | versions.behind(v))
        }

    def cursor(self, edges: list[Edge]) -> set[str]:
        """Returns the objects with G-cursor. Where the history has reads through cursors, no others count."""
        events = self.history.events
        cursors = {at for at, event in enumerate(events) if isinstance(event, Read) and event.cursor}
        item_edges = [
            e
            for e in edges
            if e.kind == "ww" or (e.kind == "rw" and not e.predicate and (not cursors or e.leaves in cursors))
        ]
        labels = {edge.label for edge in item_edges}
        return {x for x in labels if some(with_one_rw)([e for e in item_edges if e.label == x])}

    def update(self, edges: list[Edge]) -> set[int]:
        """Returns the transactions T whose DSG with all updates has a cycle with an anti-dependency."""
        return {txn for txn in self.commit if any(map(with_rw, cycles(edges, self.versions.updates | {txn})))}

    def monotonic(self, edges: list[Edge], before: Pairs | None) -> set[int]:
        """Returns the transactions T whose unfolded graph has a cycle with one rw edge, from a read of T.

        `before`: the order of starts in the text, for G-MSRb; None: G-monotonic.
        """
        return {txn for txn in self.commit if self.unfolded(txn, edges, before)}

    def unfolded(self, txn: int, edges: list[Edge], before: Pairs | None) -> bool:
        """Tells whether T is one of `monotonic`. A node is a transaction, or ("event", number) of T."""
        leaving = [edge for edge in edges if edge.kind == "rw" and edge.source == txn]
        if not leaving:
            return False
        nodes = [
            ("event", n)
            for n, e in enumerate(self.versions.events)
            if isinstance(e, Read | Write | PredicateRead) and e.txn == txn
        ]
        arcs: list[tuple[object, object]] = [*pairwise(nodes)]
        for edge in edges:
            if edge.kind != "rw":
                tail = ("event", edge.leaves) if edge.source == txn else edge.source
                head = ("event", edge.enters) if edge.target == txn else edge.target
                arcs.append((tail, head))
        others = [other for other in self.commit if other != txn]
        if before is not None:
            arcs += [(i, j) for i in others for j in others if (i, j) in before]
            arcs += [
                (i, node)
                for i in others
                for node in nodes
                if self.seen_in_time(i, txn, node[1], edges, before)
            ]
            arcs += [(nodes[-1], j) for j in others if nodes and (txn, j) in before]
        graph = nx.DiGraph(arcs)
        graph.add_nodes_from([*nodes, *others])
        return any(nx.has_path(graph, edge.target, ("event", edge.leaves)) for edge in leaving)

    def seen_in_time(self, other: int, txn: int, event: int, edges: list[Edge], before: Pairs) -> bool:
        """Tells whether every snapshot that explains the reads of T up to an event holds another's commit.

        A snapshot is taken between the start of T and the event, after all commits from which T has read.
        """
        read_from = [e.source for e in edges if e.kind == "wr" and e.target == txn and e.enters <= event]
        forced = (other, txn) in before or any(self.commit[other] < self.commit[s] for s in read_from)
        return forced and self.commit[other] < event

    def mixed(self, *, generated: bool) -> set[int]:
        """Returns the readers with G1-predB; `generated`: with G1-predA."""
        readers = set()
        for event in self.versions.events:
            if not isinstance(event, PredicateRead) or event.txn not in self.commit:
                continue
            # Who computed a derived version does not matter (theorem 1), so that those are no parts.
            selected = self.versions.version_set(event)
            versions = [v for v in selected if v.obj not in self.versions.derived_objects]
            for new in versions:
                writer = self.versions.installer(new)
                if writer is None or writer == event.txn:
                    continue
                for old in versions:
                    written = [v for v in self.history.orders.get(old.obj, ()) if v.txn == writer]
                    if not written or old.obj == new.obj:
                        continue
                    order = self.versions.order(old.obj)
                    older = old in order and order.index(old) < order.index(written[0])
                    if older and (not generated or self.one_statement(writer, new.obj, old.obj)):
                        readers.add(event.txn)
        return readers

    def one_statement(self, writer: int, *objects: str) -> bool:
        """Tells whether one predicate write of a transaction generated its writes of some objects."""
        events = self.versions.events
        for n, event in enumerate(events):
            if isinstance(event, PredicateRead) and event.writes and event.txn == writer:
                selected = self.versions.version_set(event)
                hit = {v.obj for v in selected if self.versions.match(event.predicate, v)}
                later = {e.version.obj for e in events[n:] if isinstance(e, Write) and e.txn == writer}
                if set(objects) <= hit & later:
                    return True
        return False


def cycles(edges: Iterable[Edge], txns: set[int] | None = None) -> Iterator[Steps]:
    """Yields every simple cycle, through some transactions only."""
    between: dict[tuple[int, int], list[Edge]] = {}
    for edge in edges:
        if txns is None or (edge.source in txns and edge.target in txns):
            between.setdefault((edge.source, edge.target), []).append(edge)
    for nodes in node_cycles(frozenset(between)):
        yield [between[pair] for pair in pairwise([*nodes, nodes[0]])]


@lru_cache(maxsize=1000)
def node_cycles(pairs: frozenset[tuple[int, int]]) -> list[list[int]]:
    """Returns every simple cycle of a graph as its nodes. Cached: most phenomena ask for the same graph."""
    return list(nx.simple_cycles(nx.DiGraph(pairs)))


def some(wanted: Callable[[Steps], bool]) -> Callable[[list[Edge]], bool]:
    """Returns the test whether edges have a cycle with a property."""
    return lambda edges: any(map(wanted, cycles(edges)))


def only(cycle: Steps, *kinds: str) -> bool:
    """Tells whether every step has an edge of some kinds."""
    return all(any(edge.kind in kinds for edge in step) for step in cycle)


def without_rw(cycle: Steps) -> bool:
    """Tells whether the cycle can be walked without anti-dependencies."""
    return only(cycle, "ww", "wr", "order")


def with_rw(cycle: Steps) -> bool:
    """Tells whether the cycle can be walked with an anti-dependency."""
    return any(edge.kind == "rw" for step in cycle for edge in step)


def with_item_rw(cycle: Steps) -> bool:
    """Tells whether the cycle can be walked with an item anti-dependency."""
    return any(edge.kind == "rw" and not edge.predicate for step in cycle for edge in step)


def with_one_rw(cycle: Steps) -> bool:
    """Tells whether the cycle can be walked with exactly one anti-dependency."""
    return any(
        any(edge.kind == "rw" for edge in step) and without_rw([*cycle[:n], *cycle[n + 1 :]])
        for n, step in enumerate(cycle)
    )
