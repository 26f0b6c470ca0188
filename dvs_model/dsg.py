"""The Direct Serialization Graph (Adya 1999, section 3.1.4), through derivations (DVS paper, section 4.1).

Auxiliary vertices, one kind per direction:

- `behind[v]` ("forward"): entered by whoever installed a base version behind the derived version v, left to
  whoever reads v: read dependencies.
- `missed[v]` ("backward"): entered by whoever reads v, left to whoever installed the version that follows a
  base version behind v: anti-dependencies.
- `makers[v]`: left to whoever installed a base version behind v; the `letter` reading joins the forward
  vertex of one version to this one of the next.
- one per pair of consecutive derived versions: from what only the first has behind it to what only the
  second has: write dependencies, reading `changed`.
- per predicate and object two chains along the version order, for predicate dependencies.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dvs_model.facts import Facts
from dvs_model.graph import Graph, Kind, Note
from dvs_model.history import Abort, Commit, Derive, PredicateRead, Read, Version
from dvs_model.predicates import PredicateChains
from dvs_model.reading import DerivedWrites, Reading

Connect = Callable[[int, Version], None]
"""Joins a vertex to whom a base version concerns."""


def dsg(facts: Facts, reading: Reading) -> Graph:
    """The graph of all dependencies. Derivations are those the facts know: see `derivations_ignored`."""
    return Construction(facts, reading).graph()


@dataclass(slots=True)
class Construction:
    """The graph as far as it is built."""

    facts: Facts
    reading: Reading
    result: Graph = field(init=False)
    behind: dict[Version, int] = field(default_factory=dict)
    missed: dict[Version, int] = field(default_factory=dict)
    makers: dict[Version, int] = field(default_factory=dict)
    own: Mapping[int, set[Version]] = field(init=False)

    def __post_init__(self) -> None:
        self.result = Graph(self.facts.committed)
        self.own = own_behind(self.facts) if self.facts.sources else {}

    def graph(self) -> Graph:
        """All arcs."""
        self.writes()
        chains = PredicateChains(self.facts, self.reading.predicates, self.result)
        for number, event in enumerate(self.facts.history.events):
            if event.txn not in self.facts.commits:
                continue
            if isinstance(event, Read):
                self.read(number, event.txn, event.version, None)
            elif isinstance(event, PredicateRead):
                for version in self.facts.version_set(event):
                    if version.obj in self.facts.derived:
                        self.read(number, event.txn, version, event.predicate)
                    elif version.txn != event.txn:
                        chains.read(number, event, version)
        return self.result

    def node(self, version: Version) -> int | None:
        """The vertex of whoever installed a base version."""
        return None if version not in self.facts.rank else self.result.number[version.txn]

    def writes(self) -> None:
        """Write dependencies: consecutive versions of a base object, and through those of a derived one."""
        for obj, order in self.facts.history.orders.items():
            for before, after in itertools.pairwise(order):
                if obj not in self.facts.derived:
                    tail, head = self.result.number[before.txn], self.result.number[after.txn]
                    if tail != head:
                        self.result.arc(tail, head, Kind.WW, Note(None, (before, after)))
                elif self.reading.derived_writes is DerivedWrites.CHANGED:
                    self.changed(before, after)
                else:
                    tail, head = self.forward(before), self.maker(after)
                    self.result.arc(tail, head, Kind.WW, Note(None, (before, after)))

    def changed(self, before: Version, after: Version) -> None:
        """From the writers that only `before` has behind it to those that only `after` has."""
        gone, come = self.difference(before, after)
        tails = [(node, v) for v in gone if (node := self.node(v)) is not None]
        heads = [(node, v) for v in come if (node := self.node(v)) is not None]
        if tails and heads:
            middle = self.result.vertex()
            for tail, version in tails:
                self.result.arc(tail, middle, Kind.PART, Note(None, (version, before)))
            for head, version in heads:
                self.result.arc(middle, head, Kind.WW, Note(None, (after, version)))

    def difference(self, first: Version, second: Version) -> tuple[list[Version], list[Version]]:
        """The base versions behind one derived version and not behind the other, both ways.

        Walks both cones from new to old; once all that is pending lies behind both, the rest is common.
        Costs the difference, not the closure, wherever the two share their past.
        """
        created, sources = self.facts.created, self.facts.sources
        flags = {first: 1, second: 2}
        heap = [(-created[version], version) for version in flags]
        heapq.heapify(heap)
        single = 2
        sides: tuple[list[Version], list[Version]] = ([], [])
        while single:
            _, version = heapq.heappop(heap)
            flag = flags[version]
            single -= flag != 3
            if version not in sources:
                if flag != 3 and not version.unborn:
                    sides[flag - 1].append(version)
                continue
            for source in sources[version]:
                old = flags.get(source, 0)
                new = old | flag
                if old == 0:
                    heapq.heappush(heap, (-created.get(source, -1), source))
                    single += new != 3
                elif old != 3 and new == 3:
                    single -= 1
                flags[source] = new
        return sides

    def read(self, number: int, txn: int, version: Version, predicate: str | None) -> None:
        """The dependencies of a read, of a base version or of a derived one."""
        if version in self.facts.sources:
            self.read_derived(number, txn, version, predicate)
        elif version.txn != txn and version.obj not in self.facts.derived:
            reader = self.result.number[txn]
            writer = self.node(version)
            if writer is not None:
                self.result.arc(writer, reader, Kind.WR, Note(number, (version,), predicate))
            self.overwritten(number, reader, version, predicate)

    def overwritten(
        self,
        number: int,
        reader: int,
        version: Version,
        predicate: str | None,
        member: Version | None = None,
    ) -> None:
        """The anti-dependency on whoever installed the next version."""
        following = self.facts.next(version)
        if following is not None:
            writer = self.result.number[following.txn]
            if writer != reader:
                self.result.arc(reader, writer, Kind.RW, Note(number, (version,), predicate, True, member))

    def read_derived(self, number: int, txn: int, version: Version, predicate: str | None) -> None:
        reader = self.result.number[txn]
        self.result.arc(self.forward(version), reader, Kind.WR, Note(number, (), predicate, True, version))
        if version in self.own.get(txn, _NOTHING):
            # What the reader itself wrote gives it no edge; the others behind the version do. Derivations
            # inside a transaction's lifetime are few, mostly none: this walk is rare.
            for base in self.base_behind(version):
                if base.txn != txn:
                    self.overwritten(number, reader, base, predicate, version)
        else:
            self.result.arc(
                reader, self.backward(version), Kind.RW, Note(number, (), predicate, True, version)
            )

    def base_behind(self, version: Version) -> list[Version]:
        """The base versions behind a derived one."""
        found: dict[Version, None] = {}
        seen, stack = {version}, [version]
        while stack:
            for source in self.facts.sources[stack.pop()]:
                if source in self.facts.sources:
                    if source not in seen:
                        seen.add(source)
                        stack.append(source)
                elif source.obj not in self.facts.derived:
                    found[source] = None
        return list(found)

    def forward(self, version: Version) -> int:
        """The vertex `behind[version]`."""
        return self.chain(self.behind, version, self.enter)

    def backward(self, version: Version) -> int:
        """The vertex `missed[version]`."""
        return self.chain(self.missed, version, self.leave_to_next)

    def maker(self, version: Version) -> int:
        """The vertex `makers[version]`."""
        return self.chain(self.makers, version, self.leave_to_maker)

    def chain(self, known: dict[Version, int], version: Version, connect: Connect) -> int:
        """The vertex of a derived version in one direction, with those of all derived versions behind it."""
        stack = [version]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            below = [s for s in self.facts.sources[top] if s in self.facts.sources]
            missing = [s for s in below if s not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            known[top] = self.result.vertex()
            for source in self.facts.sources[top]:
                if source in known:
                    self.joined(known, top, source)
                elif source.obj not in self.facts.derived:
                    connect(known[top], source)
        return known[version]

    def joined(self, known: dict[Version, int], version: Version, source: Version) -> None:
        """An arc between two vertices of one direction."""
        tail, head = known[source], known[version]
        if known is not self.behind:
            tail, head = head, tail
        self.result.arc(tail, head, Kind.PART)

    def enter(self, vertex: int, base: Version) -> None:
        node = self.node(base)
        if node is not None:
            self.result.arc(node, vertex, Kind.PART, Note(None, (base,)))

    def leave_to_next(self, vertex: int, base: Version) -> None:
        following = self.facts.next(base)
        if following is not None:
            self.result.arc(vertex, self.result.number[following.txn], Kind.PART, Note(None, (base,)))

    def leave_to_maker(self, vertex: int, base: Version) -> None:
        node = self.node(base)
        if node is not None:
            self.result.arc(vertex, node, Kind.PART, Note(None, (base,)))


_NOTHING: frozenset[Version] = frozenset()


def own_behind(facts: Facts) -> dict[int, set[Version]]:
    """Per transaction the versions that derive from what it wrote, of those made before it ended."""
    found: dict[int, set[Version]] = {}
    carried: dict[Version, set[int]] = {}
    ended: set[int] = set()
    for event in facts.history.events:
        match event:
            case Derive(_, version, sources):
                owners = {source.txn for source in sources if source.obj not in facts.derived}
                owners = owners.union(*(carried.get(source, ()) for source in sources)) - ended
                if owners:
                    carried[version] = owners
                    for owner in owners:
                        found.setdefault(owner, set()).add(version)
            case Commit(txn) | Abort(txn):
                ended.add(txn)
            case _:
                pass
    return found
