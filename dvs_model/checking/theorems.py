"""Theorem 1 and corollary 2 of the DVS paper (section 4.1) as transformations that can be checked.

Theorem 1, transaction invariance: moving a derivation, with the reads of it, into another transaction keeps
all dependencies. Corollary 2, encapsulation: leaving out a derivation that uses only versions of one
transaction and is read by that transaction only keeps them too. As worded the corollary is false; it holds
under three more conditions, `Condition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from dvs_model.analysis.analysis import Analysis
from dvs_model.checking.minimise import inlined
from dvs_model.errors import HistoryError
from dvs_model.graph.edges import Adjacency, Budget, edges_among
from dvs_model.graph.facts import Facts, facts
from dvs_model.graph.reading import DEFAULT, Reading
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.history import Derive, Event, History, PredicateRead, Read, Version
from dvs_model.histories.redraft import redraft

Dependency = tuple[str, int, int, str, str | None, bool]
"""Kind, source, target, object, predicate, whether it is certain."""


def dependencies(history: History, reading: Reading = DEFAULT) -> frozenset[Dependency]:
    """Returns all dependencies between committed transactions."""
    graph = Analysis(history, reading).graph
    everyone = range(len(graph.transactions))
    edges = edges_among(Adjacency(graph, [0] * graph.vertices), everyone, Budget(10_000_000))
    return frozenset((e.kind.value, e.source, e.target, e.obj, e.predicate, e.certain) for e in edges)


def moved(history: History, version: Version, txn: int) -> History | None:
    """Returns the history with a derivation in another transaction; None: the result is not well-formed.

    The operation keeps its place in the text. Neither transaction may make another version of the object:
    then a move would change numbers, and turn an intermediate version into a final one.
    """
    index = facts(history)
    if (version.obj, txn) in index.last or index.last[version.obj, version.txn] > 1:
        return None
    if txn not in index.commits or version.txn not in index.commits:
        return None
    new = Version(version.obj, txn, 1)
    events = tuple(_renamed(event, version, new) for event in history.events)
    orders = {
        obj: tuple(new if v == version else v for v in versions) for obj, versions in history.orders.items()
    }
    matches = {
        predicate: frozenset(new if v == version else v for v in versions)
        for predicate, versions in history.matches.items()
    }
    return _well_formed(replace(history, events=events, orders=orders, matches=matches), events)


def _well_formed(history: History, events: Sequence[Event]) -> History | None:
    """Returns a history with other events; None if it is not well-formed."""
    try:
        return well_formed(redraft(history, events))
    except HistoryError:
        return None


def _renamed(event: Event, old: Version, new: Version) -> Event:
    """Returns an event with another version in place of `old`; the derivation of it moves, too."""

    def name(version: Version) -> Version:
        return new if version == old else version

    match event:
        case Read(version=version) if version == old:
            return replace(event, version=new)
        case Derive(txn, version, sources):
            maker = new.txn if version == old else txn
            return Derive(maker, name(version), tuple(map(name, sources)))
        case PredicateRead(versions=versions, matched=matched):
            members = None if matched is None else tuple(map(name, matched))
            return replace(event, versions=tuple(map(name, versions)), matched=members)
        case _:
            return event


class Condition(Enum):
    """What corollary 2 needs beyond its wording."""

    NO_OUTSIDE_DERIVATION = "no other transaction derives from the version"
    OWN_TO_THE_BOTTOM = "every version behind it, at any depth, is the transaction's own"
    ONLY_VERSION = "its object has no other committed version"


def encapsulated(index: Facts, version: Version) -> bool:
    """Tells whether the transaction of a derived version alone made its sources, and alone reads it."""
    if any(source.txn != version.txn for source in index.sources[version]):
        return False
    return all(
        event.txn == version.txn
        for event in index.history.events
        if (isinstance(event, Read) and event.version == version)
        or (isinstance(event, PredicateRead) and version in event.versions)
    )


def broken_conditions(index: Facts, version: Version) -> frozenset[Condition]:
    """Returns the conditions of corollary 2 that a derivation does not keep."""
    broken = set()
    if any(version in sources and v.txn != version.txn for v, sources in index.sources.items()):
        broken.add(Condition.NO_OUTSIDE_DERIVATION)
    if any(v.txn != version.txn for v in index.behind(version)):
        broken.add(Condition.OWN_TO_THE_BOTTOM)
    if any(v != version for v in index.history.orders.get(version.obj, ())):
        broken.add(Condition.ONLY_VERSION)
    return frozenset(broken)


def without(history: History, version: Version) -> History | None:
    """Returns the history without a derivation and the reads of it.

    What derives from it derives from its sources instead. None: the result is not well-formed, or a version
    set names the version; leaving it out there would change what was read.
    """
    if any(isinstance(event, PredicateRead) and version in event.versions for event in history.events):
        return None
    kept = inlined(history.events, version)
    events = [event for event in kept if not (isinstance(event, Read) and event.version == version)]
    orders = {obj: tuple(v for v in versions if v != version) for obj, versions in history.orders.items()}
    return _well_formed(replace(history, events=tuple(events), orders=orders), events)


def _others(index: Facts, version: Version) -> list[int]:
    """Returns the transactions to which a derivation may be moved: not an implicit T0, which comes first."""
    hidden = 0 if index.history.implicit_initial else None
    return [txn for txn in index.commits if txn not in (version.txn, hidden)]


@dataclass(slots=True)
class Tally:
    """How many histories, moves and removals were checked, and the first failure: the claim, both histories.

    `as_worded`: derivations that the wording of the corollary covers and a condition excludes.
    `false_as_worded`: those of them whose removal changes dependencies: counterexamples to the wording.
    """

    histories: int = 0
    moves: int = 0
    removals: int = 0
    as_worded: int = 0
    false_as_worded: int = 0
    failure: tuple[str, History, History] | None = None

    def check(self, history: History, reading: Reading = DEFAULT) -> bool:
        """Checks both claims on a history; returns False for a counterexample, which `failure` then holds."""
        self.histories += 1
        index = facts(history)
        if not index.sources:
            return True
        before: frozenset[Dependency] | None = None
        for version in index.sources:
            if version.txn not in index.commits:
                continue
            changes = [("theorem 1", moved(history, version, txn)) for txn in _others(index, version)]
            if encapsulated(index, version):
                if broken_conditions(index, version):
                    changes.append(("as worded", without(history, version)))
                else:
                    changes.append(("corollary 2", without(history, version)))
            for claim, changed in changes:
                if changed is None:
                    continue
                before = dependencies(history, reading) if before is None else before
                if not self.count(claim, history, changed, before == dependencies(changed, reading)):
                    return False
        return True

    def count(self, claim: str, history: History, changed: History, equal: bool) -> bool:
        """Counts one comparison; returns False if a claim that must hold does not."""
        if claim == "as worded":
            self.as_worded += 1
            self.false_as_worded += not equal
            return True
        self.moves += claim == "theorem 1"
        self.removals += claim == "corollary 2"
        if not equal:
            self.failure = claim, history, changed
        return equal
