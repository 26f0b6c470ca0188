"""Build Adya's Direct Serialization Graph (1999, section 3.1.4), through derivations (DVS paper, section
4.1).

The base versions from which a derived version derives, at any depth, are *behind* it. Who reads a derived
version depends on the writers of all versions behind it. To list these edges would be quadratic. So there
are auxiliary vertices between transactions, an edge is a path through them (see `graph.graph`), and the
graph stays linear in the history. The kinds of auxiliary vertices (`letter` and `changed`: see
`reading.DerivedWrites`):

- `behind[v]` ("forward"): arcs from the installers of the base versions behind a derived version v, and to
  the readers of v. These are read dependencies.
- `missed[v]` ("backward"): arcs from the readers of v, and to the installers of the versions that follow the
  base versions behind v. These are anti-dependencies.
- `makers[v]`: arcs to the installers of the base versions behind v. The reading `letter` joins the forward
  vertex of one version to this vertex of the next.
- one for each pair of consecutive derived versions that differ in many base versions: from the installers of
  the versions behind only the first to those of the versions behind only the second. These are write
  dependencies of the reading `changed`. If some of the first committed before some of the second wrote, it
  is a chain of such vertices in the order of the commits. Two versions that differ in few base versions need
  no such vertex: each pair of installers gets one arc, by the first derived object that gives them one.
- for each predicate and object two chains along the version order, for predicate dependencies.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from dvs_model.graph.behind import difference
from dvs_model.graph.facts import Facts
from dvs_model.graph.graph import PLAIN, Graph, Kind, Note
from dvs_model.graph.predicates import PredicateChains
from dvs_model.graph.reading import DerivedWrites, Reading
from dvs_model.histories.history import Abort, Commit, Derive, PredicateRead, Read, Version

FEW_ARCS = 16
"""Direct arcs (tails * heads) are made while they are at most so many times tails + heads by a vertex."""


def dsg(facts: Facts, reading: Reading) -> Graph:
    """Returns the graph of all dependencies between committed transactions, linear in the history."""
    return Construction(facts, reading).graph()


@dataclass(slots=True)
class Construction:
    """A graph under construction.

    `behind`, `missed`, `makers`: by derived version its auxiliary vertex of that kind, made on first use.
    `from_own`: by transaction the versions that derive from what it wrote and were made before it ended; of
    what derives from its writes, it can have read only these. `connected`: by base version the base versions
    to which a direct arc through a derived object leads already.
    """

    facts: Facts
    reading: Reading
    result: Graph = field(init=False)
    behind: dict[Version, int] = field(default_factory=dict)
    missed: dict[Version, int] = field(default_factory=dict)
    makers: dict[Version, int] = field(default_factory=dict)
    from_own: Mapping[int, set[Version]] = field(init=False)
    connected: dict[Version, set[Version]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.result = Graph(self.facts.committed)
        self.from_own = derived_from_own(self.facts) if self.facts.sources else {}

    def graph(self) -> Graph:
        """Adds all arcs and returns the graph."""
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
        """Returns the vertex of the transaction that installed a base version; None: no transaction did."""
        return None if version not in self.facts.rank else self.result.number[version.txn]

    def writes(self) -> None:
        """Adds write dependencies between consecutive versions of base objects and through derived ones."""
        for obj, order in self.facts.history.orders.items():
            for before, after in itertools.pairwise(order):
                if obj not in self.facts.derived:
                    tail, head = self.result.number[before.txn], self.result.number[after.txn]
                    if tail != head:
                        self.result.arc(tail, head, Kind.WW, Note(None, (before, after)))
                elif self.reading.derived_writes is DerivedWrites.CHANGED:
                    self.changed(before, after)
                else:
                    tail, head = self.chain(self.behind, before), self.chain(self.makers, after)
                    self.result.arc(tail, head, Kind.WW, Note(None, (before, after)))

    def changed(self, before: Version, after: Version) -> None:
        """Adds arcs from the writers that only `before` has behind it to those that only `after` has.

        No edge goes to a transaction that had committed before the other one wrote: so a serial run has no G0
        (docs/notation.md, rule 7). For this, the writers of `after` are put on a chain, in the order of their
        commits.
        """
        commits, created = self.facts.commits, self.facts.created
        # An unborn version is made before all others.
        removed, added = difference(before, after, lambda v: created.get(v, -1), self.facts.sources.get)
        tails = [(node, v) for v in removed if (node := self.node(v)) is not None]
        heads = [(commits[v.txn], v, node) for v in added if (node := self.node(v)) is not None]
        if not tails or not heads:
            return
        if len(tails) * len(heads) <= FEW_ARCS * (len(tails) + len(heads)):
            self.connect(tails, heads, before, after)
            return
        # By commit. A door is an auxiliary vertex from which all heads from its place on are reached: those
        # up to the next door by arcs, the others through the next door.
        heads.sort()
        doors: dict[int, int] = {}
        for tail, version in tails:
            # The first head that committed after this version was written.
            place = bisect_right(heads, created[version], key=itemgetter(0))
            if place < len(heads):
                door = doors.get(place)
                if door is None:
                    door = doors[place] = self.result.vertex()
                self.result.arc(tail, door, Kind.PART, Note(None, (version, before)))
        places = sorted(doors)
        for place, end in itertools.pairwise([*places, len(heads)]):
            for _, version, head in heads[place:end]:
                self.result.arc(doors[place], head, Kind.WW, Note(None, (after, version)))
            if end in doors:
                self.result.arc(doors[place], doors[end], Kind.PART)

    def connect(
        self,
        tails: Sequence[tuple[int, Version]],
        heads: Sequence[tuple[int, Version, int]],
        before: Version,
        after: Version,
    ) -> None:
        """Adds an arc for each pair of versions that no arc connects yet, by the rule of `changed`.

        `tails`: the vertices and versions that only `before` has behind it. `heads`: commit, version and
        vertex of those that only `after` has behind it.
        """
        created = self.facts.created
        for tail, version in tails:
            connected = self.connected.setdefault(version, set())
            for commit, added, head in heads:
                if added not in connected and commit > created[version] and head != tail:
                    connected.add(added)
                    note = Note(None, (version, before, after, added))
                    self.result.arc(tail, head, Kind.WW, note)

    def read(self, number: int, txn: int, version: Version, predicate: str | None) -> None:
        """Adds the dependencies of a read of a base version or a derived one."""
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
        """Adds the anti-dependency on the transaction that installed the next version.

        `number`: the event that read. `member`: the derived version that was read, if `version` is behind it.
        """
        following = self.facts.next(version)
        if following is not None:
            writer = self.result.number[following.txn]
            if writer != reader:
                self.result.arc(reader, writer, Kind.RW, Note(number, (version,), predicate, True, member))

    def read_derived(self, number: int, txn: int, version: Version, predicate: str | None) -> None:
        """Adds the dependencies of a read of a derived version.

        One arc from its vertex `behind` gives all read dependencies, one arc to its vertex `missed` all
        anti-dependencies.
        """
        reader = self.result.number[txn]
        self.result.arc(
            self.chain(self.behind, version), reader, Kind.WR, Note(number, (), predicate, True, version)
        )
        if version in self.from_own.get(txn, ()):
            # What the reader itself wrote gives it no edge, but the other versions behind this one do. Few
            # versions derive from a transaction that has not ended, so this walk is rare.
            for base in self.facts.behind(version):
                if base.txn != txn and base.obj not in self.facts.derived:
                    self.overwritten(number, reader, base, predicate, version)
        else:
            self.result.arc(
                reader, self.chain(self.missed, version), Kind.RW, Note(number, (), predicate, True, version)
            )

    def chain(self, vertices: dict[Version, int], version: Version) -> int:
        """Returns the vertex of a derived version in one direction; makes those of all versions behind it.

        `vertices`: the map of that direction: `behind`, `missed` or `makers`. The stack replaces a recursion,
        which would be as deep as the longest chain of refreshes.
        """
        sources = self.facts.sources
        stack = [version]
        while stack:
            top = stack[-1]
            if top in vertices:
                stack.pop()
            elif missing := [s for s in sources[top] if s in sources and s not in vertices]:
                stack.extend(missing)
            else:
                vertices[top] = self.result.vertex()
                for source in sources[top]:
                    self.link(vertices, vertices[top], source)
        return vertices[version]

    def link(self, vertices: dict[Version, int], vertex: int, source: Version) -> None:
        """Adds the arc of one direction between the vertex of a derived version and one of its sources.

        A source that is derived has a vertex of the same kind. A base version stands for its installer, or in
        the direction `missed` for the installer of the next version.
        """
        other, note = vertices.get(source), PLAIN
        if other is None:
            if source.obj in self.facts.derived:
                # The unborn version of a derived object: nothing is behind it.
                return
            target = self.facts.next(source) if vertices is self.missed else source
            other, note = None if target is None else self.node(target), Note(None, (source,))
        if other is not None:
            tail, head = (other, vertex) if vertices is self.behind else (vertex, other)
            self.result.arc(tail, head, Kind.PART, note)


def derived_from_own(facts: Facts) -> dict[int, set[Version]]:
    """Returns by transaction the versions that derive from what it wrote and were made before it ended."""
    derived: dict[int, set[Version]] = {}
    unended: dict[Version, set[int]] = {}
    ended: set[int] = set()
    for event in facts.history.events:
        match event:
            case Derive(_, version, sources):
                # Writers of base sources, and of what is behind derived sources, that have not ended yet.
                owners = {source.txn for source in sources if source.obj not in facts.derived}
                owners = owners.union(*(unended.get(source, ()) for source in sources)) - ended
                if owners:
                    unended[version] = owners
                    for owner in owners:
                        derived.setdefault(owner, set()).add(version)
            case Commit(txn) | Abort(txn):
                ended.add(txn)
            case _:
                pass
    return derived
