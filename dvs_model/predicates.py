"""Predicate dependencies, along chains for each predicate and object (linear in version order and reads).

Reading `icde` (Adya et al. 2000): from the transactions that changed the matches up to the version selected,
to those that change them later. Reading `thesis` (Adya 1999, section 3.1.3): from the installer of the
version selected, to the installers of later versions whose match differs. Where a match is not known, the arc
is only possible.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dvs_model.facts import Facts
from dvs_model.graph import Graph, Kind, Note
from dvs_model.history import PredicateRead, Version
from dvs_model.reading import Predicates


@dataclass(slots=True)
class PredicateChains:
    """The chains made so far, each on first use: vertices by the place in the version order.

    `past`: entered by the transactions that changed the matches up to there. `future`: left to those that
    change them there or later; under `thesis` to those whose match differs from the given one.
    """

    facts: Facts
    reading: Predicates
    graph: Graph
    past: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    future: dict[tuple[str, str, bool | None], list[int]] = field(default_factory=dict)

    def read(self, number: int, event: PredicateRead, version: Version) -> None:
        """Adds the dependencies of one version in a version set, which is not the reader's own."""
        place = -1 if version.unborn else self.facts.rank.get(version)
        if place is None:
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
        if place + 1 < len(later):
            self.graph.arc(reader, later[place + 1], Kind.WW if as_write else Kind.RW, note)

    def changers(self, predicate: str, obj: str) -> list[int]:
        """Returns the chain `past`."""
        chain = self.past.get((predicate, obj))
        if chain is None:
            chain = self.past[predicate, obj] = []
            for version, change in self.changes(predicate, obj):
                vertex = self.graph.vertex()
                if chain:
                    self.graph.arc(chain[-1], vertex, Kind.PART)
                if change is not False:
                    note = Note(None, (version,), predicate, change is True)
                    self.graph.arc(self.graph.number[version.txn], vertex, Kind.PART, note)
                chain.append(vertex)
        return chain

    def changes(self, predicate: str, obj: str) -> list[tuple[Version, bool | None]]:
        """Returns for each version whether its match differs from that of the one before; None: not known."""
        before: bool | None = False
        changes: list[tuple[Version, bool | None]] = []
        for version in self.facts.history.orders.get(obj, ()):
            match = self.facts.matches(predicate, version)
            changes.append((version, differs(match, before)))
            before = match
        return changes

    def later(self, predicate: str, obj: str, against: bool | None, thesis: bool) -> list[int]:
        """Returns the chain `future`."""
        chain = self.future.get((predicate, obj, against))
        if chain is None:
            changes = self.changes(predicate, obj)
            if thesis:
                changes = [(v, differs(self.facts.matches(predicate, v), against)) for v, _ in changes]
            chain = [self.graph.vertex() for _ in changes]
            self.future[predicate, obj, against] = chain
            for place, (version, change) in enumerate(changes):
                if place:
                    self.graph.arc(chain[place - 1], chain[place], Kind.PART)
                if change is not False:
                    note = Note(None, (version,), predicate, change is True)
                    self.graph.arc(chain[place], self.graph.number[version.txn], Kind.PART, note)
        return chain


def differs(match: bool | None, against: bool | None) -> bool | None:
    """Whether two matches differ; None: one is not known."""
    return None if match is None or against is None else match != against
