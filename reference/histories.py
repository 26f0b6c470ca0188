"""Verdicts on small histories straight from the definitions: every edge written down, every cycle enumerated.

Shares with the product only the classes of events. Slow, and meant to be read beside docs/phenomena.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product

from dvs_model.history import (
    Abort,
    Commit,
    Derive,
    History,
    PredicateRead,
    Read,
    Start,
    Version,
    Write,
)

UNBORN = -1


@dataclass(frozen=True)
class E:
    """An edge: where it leaves and enters matters when a transaction is unfolded into its events."""

    kind: str
    source: int
    target: int
    label: str
    predicate: bool
    certain: bool
    leaves: int
    enters: int


class Reference:
    """One history under one reading."""

    def __init__(self, history: History, *, ignore: bool = False, thesis: bool = False, letter: bool = False):
        self.thesis, self.letter = thesis, letter
        self.history = history
        self.events: list[object] = []
        for event in history.events:
            if ignore and isinstance(event, Derive):
                self.events += [Read(event.txn, source) for source in event.sources]
                self.events += [Write(event.txn, event.version)]
            else:
                self.events.append(event)
        self.commit = {e.txn: n for n, e in enumerate(self.events) if isinstance(e, Commit)}
        self.abort = {e.txn for e in self.events if isinstance(e, Abort)}
        self.start = {e.txn: n for n, e in enumerate(self.events) if isinstance(e, Start)}
        self.made = {e.version: n for n, e in enumerate(self.events) if isinstance(e, Write | Derive)}
        self.sources = {e.version: e.sources for e in self.events if isinstance(e, Derive)}
        self.dead = {e.version for e in self.events if isinstance(e, Write) and e.dead}
        self.derived = {v.obj for v in self.sources}
        self.updates = {e.txn for e in self.events if isinstance(e, Write)} & set(self.commit)
        self.edges = list(self.all_edges())

    # --- versions

    def final(self, version: Version) -> bool:
        return all(v.number <= version.number for v in self.made if v[:2] == version[:2])

    def installer(self, version: Version) -> int | None:
        ok = version in self.made and version.txn in self.commit and self.final(version)
        return version.txn if ok else None

    def order(self, obj: str) -> list[Version]:
        return [Version(obj, UNBORN, 0), *self.history.orders.get(obj, ())]

    def following(self, version: Version) -> list[Version]:
        order = self.order(version.obj)
        return order[order.index(version) + 1 :] if version in order else []

    def behind(self, version: Version) -> set[Version]:
        """Everything that a version derives from, at any depth."""
        found: set[Version] = set()
        for source in self.sources.get(version, ()):
            found |= {source} | self.behind(source)
        return found

    def base_behind(self, version: Version) -> set[Version]:
        return {v for v in self.behind(version) if v.obj not in self.derived}

    # --- edges

    def all_edges(self) -> Iterator[E]:
        yield from self.write_edges()
        for number, event in enumerate(self.events):
            if isinstance(event, Read) and event.txn in self.commit:
                yield from self.read_edges(number, event.txn, event.version, predicate=False)
            elif isinstance(event, PredicateRead) and event.txn in self.commit:
                for version in self.version_set(event):
                    if version.obj in self.derived:
                        yield from self.read_edges(number, event.txn, version, predicate=True)
                    elif version.txn != event.txn:
                        yield from self.predicate_edges(number, event, version)

    def edge(
        self,
        kind: str,
        source: int | None,
        target: int | None,
        label: str,
        leaves: int,
        enters: int,
        predicate: bool = False,
        certain: bool = True,
    ) -> Iterator[E]:
        if source is not None and target is not None and source != target:
            yield E(kind, source, target, label, predicate, certain, leaves, enters)

    def write_edges(self) -> Iterator[E]:
        for obj in self.history.orders:
            order = self.history.orders[obj]
            for one, two in pairwise(order):
                if obj not in self.derived:
                    yield from self.edge("ww", one.txn, two.txn, obj, self.made[one], self.made[two])
                    continue
                first, second = self.base_behind(one), self.base_behind(two)
                if not self.letter:
                    first, second = first - second, second - first
                for a, b in product(first, second):
                    i, j = self.installer(a), self.installer(b)
                    if i is not None and j is not None:
                        yield from self.edge("ww", i, j, obj, self.made[a], self.made[b])

    def read_edges(self, number: int, txn: int, version: Version, *, predicate: bool) -> Iterator[E]:
        seen = self.base_behind(version) if version in self.sources else {version}
        for base in seen:
            if base.txn == txn or base.obj in self.derived:
                continue
            made = self.made.get(base, -1)
            yield from self.edge("wr", self.installer(base), txn, base.obj, made, number, predicate)
            for following in self.following(base)[:1]:
                made = self.made[following]
                yield from self.edge("rw", txn, following.txn, base.obj, number, made, predicate)

    def version_set(self, event: PredicateRead) -> list[Version]:
        objects: dict[str, None] = {v.obj: None for v in self.history.matches.get(event.predicate, ())}
        for other in self.events:
            if isinstance(other, PredicateRead) and other.predicate == event.predicate:
                objects.update((v.obj, None) for v in other.versions)
        named = {v.obj: v for v in event.versions}
        return [named.get(obj, Version(obj, UNBORN, 0)) for obj in objects]

    def match(self, predicate: str, version: Version) -> bool | None:
        if version.txn == UNBORN or version in self.dead:
            return False
        if predicate in self.history.matches:
            return version in self.history.matches[predicate]
        for event in self.events:
            if (
                isinstance(event, PredicateRead)
                and event.predicate == predicate
                and event.matched is not None
            ) and version in event.versions:
                return version in event.matched
        return None

    def differ(self, predicate: str, one: Version, two: Version) -> bool | None:
        a, b = self.match(predicate, one), self.match(predicate, two)
        return None if a is None or b is None else a != b

    def predicate_edges(self, number: int, event: PredicateRead, version: Version) -> Iterator[E]:
        order, txn, obj = self.order(version.obj), event.txn, version.obj
        if version not in order:
            return
        place = order.index(version)
        write = self.thesis and event.writes
        for k in range(1, len(order)):
            other, made = order[k], self.made[order[k]]
            if self.thesis:
                change = True if k == place else self.differ(event.predicate, version, other)
            else:
                change = self.differ(event.predicate, order[k - 1], other)
            if change is False:
                continue
            certain = change is True
            if k <= place and (not self.thesis or k == place):
                kind = "ww" if write else "wr"
                yield from self.edge(kind, other.txn, txn, obj, made, number, True, certain)
            if k > place:
                kind = "ww" if write else "rw"
                yield from self.edge(kind, txn, other.txn, obj, number, made, True, certain)

    # --- time

    def precedes(self) -> set[tuple[int, int]] | None:
        """c_i before s_j."""
        if self.history.precedes:
            pairs = set(self.history.precedes)
            if self.history.implicit_initial:
                pairs |= {(0, j) for j in self.commit if j != 0}
            while True:
                more = {(i, late) for i, j in pairs for k, late in pairs if j == k} - pairs
                if not more:
                    return pairs
                pairs |= more
        return self.text_precedes()

    def text_precedes(self) -> set[tuple[int, int]] | None:
        starts = dict(self.start)
        if not starts:
            return None
        if self.history.implicit_initial:
            starts[0] = -1
        if any(txn not in starts for txn in self.commit):
            return None
        return {(i, j) for i in self.commit for j in self.commit if self.commit[i] < starts[j]}

    # --- cycles

    def cycles(self, edges: Iterable[E], txns: Iterable[int] | None = None) -> Iterator[list[list[E]]]:
        """Every simple cycle through two transactions or more, as the edges to choose from at every step."""
        between: dict[tuple[int, int], list[E]] = {}
        nodes = set(self.commit) if txns is None else set(txns)
        for edge in edges:
            if edge.source in nodes and edge.target in nodes:
                between.setdefault((edge.source, edge.target), []).append(edge)

        def walk(path: list[int]) -> Iterator[list[list[E]]]:
            for after in nodes:
                steps = between.get((path[-1], after))
                if steps and after == path[0] and len(path) > 1:
                    ends = [*path, after]
                    yield [between[a, b] for a, b in pairwise(ends)]
                elif steps and after > path[0] and after not in path:
                    yield from walk([*path, after])

        for first in nodes:
            yield from walk([first])

    @staticmethod
    def only(cycle: list[list[E]], *kinds: str) -> bool:
        return all(any(edge.kind in kinds for edge in step) for step in cycle)

    @staticmethod
    def with_rw(cycle: list[list[E]], item: bool = False) -> bool:
        return any(e.kind == "rw" and not (item and e.predicate) for step in cycle for e in step)

    @classmethod
    def with_one_rw(cls, cycle: list[list[E]]) -> bool:
        return any(
            any(e.kind == "rw" for e in step)
            and all(any(e.kind != "rw" for e in other) for m, other in enumerate(cycle) if m != n)
            for n, step in enumerate(cycle)
        )

    # --- phenomena: True, False, or None for unknown

    def decided(self, found: Callable[[list[E]], bool], edges: list[E] | None = None) -> bool | None:
        edges = self.edges if edges is None else edges
        if found([edge for edge in edges if edge.certain]):
            return True
        return None if found(edges) else False

    def some_cycle(self, wanted: Callable[[list[list[E]]], bool]) -> Callable[[list[E]], bool]:
        return lambda edges: any(wanted(cycle) for cycle in self.cycles(edges))

    def verdicts(self) -> dict[str, bool | None]:
        ww_wr = self.some_cycle(lambda c: self.only(c, "ww", "wr", "time", "session"))
        single = self.some_cycle(self.with_one_rw)
        anti = self.some_cycle(self.with_rw)
        found: dict[str, bool | None] = {
            "G0": self.decided(self.some_cycle(lambda c: self.only(c, "ww"))),
            "G1a": bool(self.aborted_readers()),
            "G1b": bool(self.intermediate_readers()),
            "G1c": self.decided(ww_wr),
            "G-single": self.decided(single),
            "G2-item": self.decided(self.some_cycle(lambda c: self.with_rw(c, item=True))),
            "G2": self.decided(anti),
            "G-cursor": self.decided(lambda edges: bool(self.cursor(edges))),
            "G-monotonic": self.decided(lambda edges: bool(self.monotonic(edges, None))),
            "G-update": self.decided(lambda edges: bool(self.update(edges))),
            "G1-predA": bool(self.mixed(generated=True)),
            "G1-predB": bool(self.mixed(generated=False)),
        }
        found.update(self.timed(single, anti, ww_wr, found))
        return found

    def timed(
        self,
        single: Callable[[list[E]], bool],
        anti: Callable[[list[E]], bool],
        ww_wr: Callable[[list[E]], bool],
        plain: dict[str, bool | None],
    ) -> dict[str, bool | None]:
        found: dict[str, bool | None] = {}
        before, text = self.precedes(), self.text_precedes()
        if before is None:
            found["G-SIa"] = None
            found["G-SIb"] = True if plain["G-single"] else None
        else:
            found["G-SIa"] = self.decided(
                lambda es: any(e.kind in ("ww", "wr") and (e.source, e.target) not in before for e in es)
            )
            found["G-SIb"] = self.decided(single, self.edges + self.order_edges("time", before))
        if text is None:
            found["G-MSRa"] = None
            found["G-MSRb"] = True if plain["G-monotonic"] else None
        else:
            found["G-MSRa"] = self.decided(
                lambda es: any(e.kind == "wr" and self.commit[e.source] > e.enters for e in es)
            )
            found["G-MSRb"] = self.decided(lambda edges: bool(self.monotonic(edges, text)))
        for name, pairs in (("realtime", text), ("session", self.session_pairs())):
            for phenomenon, search in (("G1c", ww_wr), ("G-single", single), ("G2", anti)):
                key = f"{phenomenon}-{name}"
                if pairs is None:
                    found[key] = True if plain[phenomenon] else None
                else:
                    found[key] = self.decided(search, self.edges + self.order_edges("time", pairs))
        return found

    def session_pairs(self) -> set[tuple[int, int]] | None:
        if not self.history.sessions:
            return None
        pairs = set()
        for txns in self.history.sessions.values():
            kept = [txn for txn in txns if txn in self.commit]
            pairs |= {(kept[i], kept[j]) for i in range(len(kept)) for j in range(i + 1, len(kept))}
        return pairs

    def order_edges(self, kind: str, pairs: set[tuple[int, int]]) -> list[E]:
        return [
            E(kind, i, j, "", False, True, -1, -1)
            for i, j in pairs
            if i in self.commit and j in self.commit and i != j
        ]

    def reads(self) -> Iterator[tuple[int, Version]]:
        for event in self.events:
            if isinstance(event, Read) and event.txn in self.commit:
                yield event.txn, event.version
            elif isinstance(event, PredicateRead) and event.txn in self.commit:
                for version in event.versions:
                    yield event.txn, version

    def aborted_readers(self) -> set[int]:
        return {t for t, v in self.reads() if any(s.txn in self.abort for s in {v} | self.behind(v))}

    def intermediate_readers(self) -> set[int]:
        return {
            t
            for t, v in self.reads()
            if any(s.txn not in (t, UNBORN) and not self.final(s) for s in {v} | self.behind(v))
        }

    def cursor(self, edges: list[E]) -> set[str]:
        found = set()
        for label in {edge.label for edge in edges}:
            mine = [e for e in edges if e.label == label]
            mine = [e for e in mine if e.kind == "ww" or (e.kind == "rw" and not e.predicate)]
            for cycle in self.cycles(mine):
                for n, step in enumerate(cycle):
                    others = [s for m, s in enumerate(cycle) if m != n]
                    if any(e.kind == "rw" for e in step) and all(
                        any(e.kind == "ww" for e in s) for s in others
                    ):
                        found.add(label)
        return found

    def update(self, edges: list[E]) -> set[int]:
        found = set()
        for txn in self.commit:
            if any(self.with_rw(cycle) for cycle in self.cycles(edges, self.updates | {txn})):
                found.add(txn)
        return found

    def monotonic(self, edges: list[E], before: set[tuple[int, int]] | None) -> set[int]:
        """Cycles of the unfolded graph with exactly one rw edge, which leaves a read of T."""
        return {txn for txn in self.commit if self.unfolded(txn, edges, before)}

    def unfolded(self, txn: int, edges: list[E], before: set[tuple[int, int]] | None) -> bool:
        nodes = [
            n
            for n, e in enumerate(self.events)
            if isinstance(e, Read | Write | PredicateRead) and e.txn == txn
        ]
        arcs: set[tuple[object, object]] = set()
        leaving: set[tuple[object, object]] = set()
        for edge in edges:
            tail: object = ("node", edge.leaves) if edge.source == txn else edge.source
            head: object = ("node", edge.enters) if edge.target == txn else edge.target
            if edge.kind != "rw":
                arcs.add((tail, head))
            elif edge.source == txn:
                leaving.add((tail, head))
        arcs |= {(("node", a), ("node", b)) for a, b in pairwise(nodes)}
        for i, j in before or ():
            if i in self.commit and j in self.commit and txn not in (i, j):
                arcs.add((i, j))
        if before is not None:
            for other in self.commit:
                if other != txn:
                    arcs |= {(other, ("node", n)) for n in nodes if self.commit[other] < n}
                    if nodes and (txn, other) in before:
                        arcs.add((("node", nodes[-1]), other))
        return any(reachable(arcs, head, tail) for tail, head in leaving)

    def mixed(self, *, generated: bool) -> set[int]:
        found = set()
        for event in self.events:
            if not isinstance(event, PredicateRead) or event.txn not in self.commit:
                continue
            versions = self.version_set(event)
            for new in versions:
                writer = self.installer(new)
                if writer is None or writer == event.txn:
                    continue
                for old in versions:
                    own = [v for v in self.history.orders.get(old.obj, ()) if v.txn == writer]
                    if not own or old.obj == new.obj:
                        continue
                    order = self.order(old.obj)
                    older = old in order and order.index(old) < order.index(own[0])
                    if older and (not generated or self.one_statement(writer, new.obj, old.obj)):
                        found.add(event.txn)
        return found

    def one_statement(self, writer: int, *objects: str) -> bool:
        for n, event in enumerate(self.events):
            if isinstance(event, PredicateRead) and event.writes and event.txn == writer:
                hit = {v.obj for v in self.version_set(event) if self.match(event.predicate, v)}
                later = {e.version.obj for e in self.events[n:] if isinstance(e, Write) and e.txn == writer}
                if set(objects) <= hit & later:
                    return True
        return False


def reachable(arcs: set[tuple[object, object]], start: object, goal: object) -> bool:
    """Whether one node is reached from another, or is it."""
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        for tail, head in arcs:
            if tail == node and head not in seen:
                seen.add(head)
                stack.append(head)
    return goal in seen
