"""Add predicate dependencies to the DSG, along chains of auxiliary vertices for each predicate and object.

A read by a predicate selects a version of every object. It depends on earlier and later versions of each
object whose match differs, which may be many; along chains the arcs stay linear in versions and reads.

Reading `icde` (Adya et al. 2000): from the transactions that changed the matches up to the version selected,
to those that change them later. Reading `thesis` (Adya 1999, section 3.1.3): from the installer of the
version selected, to the installers of later versions whose match differs. Where a match is not known, the arc
is only possible.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dvs_model.graph.facts import Facts
from dvs_model.graph.graph import Graph, Kind, Note
from dvs_model.graph.reading import Predicates
from dvs_model.histories.history import PredicateRead, Version


@dataclass(frozen=True, slots=True)
class MatchChange:
    """A version, and whether its match differs from that of another version; None: not known.

    The other version is the one before or, under `thesis`, the one that was read.
    """

    version: Version
    differs: bool | None


@dataclass(slots=True)
class PredicateChains:
    """The chains of auxiliary vertices, made on first use; an index is a place in the version order.

    `past`, by (predicate, object): the vertex at a place is reached by the transactions that changed the
    match at this place or before. `future`, by (predicate, object, match): the vertex at a place leads to the
    transactions that change the match at this place or later; under `thesis`, to those whose match differs
    from the given one. See docs/notation.md, rule 8.
    """

    facts: Facts
    reading: Predicates
    graph: Graph
    past: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    future: dict[tuple[str, str, bool | None], list[int]] = field(default_factory=dict)

    def read(self, number: int, event: PredicateRead, version: Version) -> None:
        """Adds the dependencies of one version in a version set.

        The caller leaves out versions that the reader wrote itself.
        """
        place = -1 if version.unborn else self.facts.rank.get(version)
        if place is None:
            # Aborted and intermediate versions are in no version order and give no edge (docs/notation.md,
            # rule 2).
            return
        reader = self.graph.number[event.txn]
        thesis = self.reading is Predicates.THESIS
        as_write = thesis and event.writes
        note = Note(number, (version,), event.predicate)
        if not thesis and place >= 0:
            tail = self.changers(event.predicate, version.obj)[place]
            self.graph.arc(tail, reader, Kind.WR, note)
        elif thesis and place >= 0:
            self.graph.arc(self.graph.number[version.txn], reader, Kind.WW if as_write else Kind.WR, note)
        against = self.facts.matches(event.predicate, version) if thesis else None
        later = self.later(event.predicate, version.obj, against, thesis)
        # The chain begins at place 0; the vertex after the selected version leads to all later changes. The
        # unborn version has place -1, so that every version is later.
        if place + 1 < len(later):
            self.graph.arc(reader, later[place + 1], Kind.WW if as_write else Kind.RW, note)

    def changers(self, predicate: str, obj: str) -> list[int]:
        """Returns the chain `past` of a predicate and an object, and makes the chain on first use."""
        chain = self.past.get((predicate, obj))
        if chain is None:
            chain = self.past[predicate, obj] = []
            for change in self.changes(predicate, obj):
                vertex = self.graph.vertex()
                if chain:
                    self.graph.arc(chain[-1], vertex, Kind.PART)
                if change.differs is not False:
                    note = Note(None, (change.version,), predicate, change.differs is True)
                    self.graph.arc(self.graph.number[change.version.txn], vertex, Kind.PART, note)
                chain.append(vertex)
        return chain

    def changes(self, predicate: str, obj: str) -> list[MatchChange]:
        """Returns for each version of an object whether its match differs from that of the version before."""
        # The unborn version never matches (docs/notation.md).
        before: bool | None = False
        changes: list[MatchChange] = []
        for version in self.facts.history.orders.get(obj, ()):
            match = self.facts.matches(predicate, version)
            changes.append(MatchChange(version, differs(match, before)))
            before = match
        return changes

    def later(self, predicate: str, obj: str, against: bool | None, thesis: bool) -> list[int]:
        """Returns the chain `future`, and makes the chain on first use.

        `against`: the match of the version that was read, under `thesis`; None: not known, or not used.
        """
        chain = self.future.get((predicate, obj, against))
        if chain is None:
            changes = self.changes(predicate, obj)
            if thesis:
                matches = [(c.version, self.facts.matches(predicate, c.version)) for c in changes]
                changes = [MatchChange(version, differs(match, against)) for version, match in matches]
            # Each vertex leads to the next one, and to the transaction of its own version if the match
            # changes.
            chain = [self.graph.vertex() for _ in changes]
            self.future[predicate, obj, against] = chain
            for place, change in enumerate(changes):
                if place:
                    self.graph.arc(chain[place - 1], chain[place], Kind.PART)
                if change.differs is not False:
                    note = Note(None, (change.version,), predicate, change.differs is True)
                    self.graph.arc(chain[place], self.graph.number[change.version.txn], Kind.PART, note)
        return chain


def differs(match: bool | None, against: bool | None) -> bool | None:
    """Tells whether two matches differ; None: one of them is not known."""
    return None if match is None or against is None else match != against
