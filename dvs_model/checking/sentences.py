"""Sentences about edges and evidence: which transaction read which version through which derivations."""

from __future__ import annotations

from itertools import pairwise
from typing import assert_never

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.verdict import Cycle, DirtyRead, Evidence, MixedVersions, Observation, Overlap
from dvs_model.graph.edges import Edge
from dvs_model.graph.graph import Kind
from dvs_model.graph.reading import Predicates
from dvs_model.histories.history import PredicateRead, Read, Version, Write


class Sentences:
    """Writes sentences about one analysed history."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.facts = analysis.facts

    def evidence(self, item: Evidence) -> tuple[str, ...]:
        """Returns a sentence for each edge of a cycle, or one about a read."""
        match item:
            case Cycle(edges):
                return tuple(self.edge(edge) for edge in edges)
            case DirtyRead():
                return (self.dirty(item),)
            case Overlap(edge, _, moment):
                late = f"T{edge.source} had not committed when T{edge.target} {moment}"
                return (f"{self.edge(edge)}; but {late}",)
            case MixedVersions():
                return (self.mixed(item),)
            case Observation(text):
                return (text,)
            case _:
                assert_never(item)

    def edge(self, edge: Edge) -> str:
        """Returns the reason for an edge."""
        sentence = self._edge(edge)
        if edge.certain:
            return sentence
        return f"{sentence} (possible only: the history does not say what matches {edge.predicate})"

    def _edge(self, edge: Edge) -> str:
        """Returns the sentence for an edge of a cycle."""
        source, target = f"T{edge.source}", f"T{edge.target}"
        match edge.kind:
            case Kind.TIME if edge.event is not None:
                return f"{source} committed before {target} {self.did(edge.event)}"
            case Kind.TIME:
                return f"{source} committed before {target} started"
            case Kind.SESSION:
                return f"{source} comes before {target} in their session"
            case Kind.WW:
                return self.write(edge)
            case Kind.WR | Kind.RW if edge.predicate is not None and edge.member is None:
                return self.predicate(edge)
            case Kind.WR:
                return f"{target} read {self.seen(edge)}, which {source} wrote"
            case Kind.RW:
                base = edge.versions[0]
                what = f"{source} read {self.seen(edge)}"
                if base.unborn:
                    return f"{what}, and {target} made its first version"
                return f"{what}, which {target}'s write replaced"
            case _:
                raise AssertionError(f"an edge cannot have the kind PART: {edge}")

    def write(self, edge: Edge) -> str:
        """Returns the reason for a write dependency, of a base object, a derived one or a predicate."""
        source, target = f"T{edge.source}", f"T{edge.target}"
        if edge.predicate is not None:
            return self.predicate(edge)
        # An edge through a derived object has four: both derived versions, and a base version behind each.
        if len(edge.versions) == 4:
            first, before, after, second = edge.versions
            return (
                f"{before.obj} went from version {self.number(before)} to version {self.number(after)}: "
                f"{self.derived(before, first)}, which {source} wrote; {self.derived(after, second)}, "
                f"which {target} wrote"
            )
        return f"{source} wrote {self.name(edge.versions[0])}, which {target}'s write replaced"

    def predicate(self, edge: Edge) -> str:
        """Returns the reason for a predicate dependency."""
        reader = edge.source if edge.event_at_source else edge.target
        other = edge.target if edge.event_at_source else edge.source
        verb = "wrote the objects that match" if self._writes(edge) else "read the objects that match"
        selected = edge.versions[0] if edge.event_at_source else edge.versions[-1]
        what = f"T{reader} {verb} {edge.predicate}, and saw {self.name(selected)}"
        if edge.event_at_source:
            later = f"T{other}'s write of {self.name(edge.versions[-1])}"
            return f"{what}; {later}, which is later in the version order, changes which versions match"
        if self.analysis.reading.predicates is Predicates.THESIS:
            return f"{what}, which T{other} wrote"
        earlier = f"T{other}'s write of {self.name(edge.versions[0])}"
        place = "which is that version or an earlier one in the version order"
        return f"{what}; {earlier}, {place}, changed which versions match"

    def _writes(self, edge: Edge) -> bool:
        """Tells whether an edge is of a predicate read that writes what it matches, such as an UPDATE."""
        event = None if edge.event is None else self.analysis.history.events[edge.event]
        return isinstance(event, PredicateRead) and event.writes

    def did(self, event: int) -> str:
        """Returns what an event did: `read x`, `wrote x`, `read P`."""
        match self.analysis.history.events[event]:
            case Read(version=version):
                return f"read {version.obj}"
            case PredicateRead(predicate=predicate):
                return f"read {predicate}"
            case Write(version=version):
                return f"wrote {version.obj}"
            case other:
                raise AssertionError(f"no read or write: {other}")

    def seen(self, edge: Edge) -> str:
        """Returns the version that was read, with the derivations down to the base version behind it."""
        base = edge.versions[0]
        if edge.member is None:
            return self.name(base)
        return f"{self.name(edge.member)}; {self.derived(edge.member, base)}"

    def derived(self, version: Version, base: Version) -> str:
        """Returns how a version comes from another: `v was derived in T2 from x version 1`."""
        return " and ".join(
            f"{above.obj} was derived in T{above.txn} from {below.obj} version {self.number(below)}"
            for above, below in pairwise(self.facts.path(version, base))
        )

    def dirty(self, item: DirtyRead) -> str:
        """Returns the sentence on an aborted or intermediate read."""
        bad = item.path[-1]
        what = f"T{item.reader} read {self.name(item.path[0])}"
        if len(item.path) > 1:
            what += f"; {self.derived(item.path[0], bad)}"
        if bad.txn in self.facts.aborts:
            return f"{what}, which T{bad.txn} made before it aborted"
        last = self.facts.last[bad.obj, bad.txn]
        return f"{what}, an intermediate version: T{bad.txn} later made version {bad.txn}.{last}"

    def mixed(self, item: MixedVersions) -> str:
        """Returns the sentence on a version set that holds a part of the writes of a transaction."""
        return (
            f"T{item.reader}'s version set holds {self.name(item.new)}, which T{item.writer} wrote, beside "
            f"{self.name(item.old)}, which is older than what T{item.writer} wrote"
        )

    def name(self, version: Version) -> str:
        """Returns a version in words: `x at version 2`, `x unborn`."""
        return (
            f"{version.obj} unborn" if version.unborn else f"{version.obj} at version {self.number(version)}"
        )

    def number(self, version: Version) -> str:
        """Returns the index of a version as the notation writes it: 2, 2.1, init."""
        if version.unborn:
            return "init"
        several = self.facts.last.get((version.obj, version.txn), 1) > 1
        return f"{version.txn}.{version.number}" if several else str(version.txn)
