"""Theorem 1 and corollary 2 of the DVS paper (section 4.1) as transformations that can be checked.

Theorem 1, transaction invariance: moving a derivation into another transaction, reads of it following,
keeps all dependencies. Corollary 2, encapsulation: so does leaving out a derivation that uses what one
transaction wrote and is read by it only. As worded the corollary is false; it holds under three more
conditions, `Condition`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from dvs_model.analysis import Analysis
from dvs_model.edges import Adjacency, Budget, edges_among
from dvs_model.errors import HistoryError
from dvs_model.facts import Facts, facts
from dvs_model.history import Derive, Event, History, PredicateRead, Read, Version
from dvs_model.reading import DEFAULT, Reading
from dvs_model.redraft import Redrafting
from dvs_model.wellformed import well_formed

Dependency = tuple[str, int, int, str, str | None, bool]
"""Kind, source, target, object, predicate, whether it is certain."""


def dependencies(history: History, reading: Reading = DEFAULT) -> frozenset[Dependency]:
    """All dependencies between committed transactions."""
    graph = Analysis(history, reading).graph
    everyone = range(len(graph.transactions))
    edges = edges_among(Adjacency(graph), everyone, [0] * graph.vertices, Budget(10_000_000))
    return frozenset((e.kind.value, e.source, e.target, e.obj, e.predicate, e.certain) for e in edges)


def moved(history: History, version: Version, txn: int) -> History | None:
    """The history with a derivation in another transaction; None where that makes no history.

    The operation keeps its place in the text. Of the object neither transaction may make another version:
    else moving would renumber, and make a final version of an intermediate one.
    """
    found = facts(history)
    if (version.obj, txn) in found.last or found.last[version.obj, version.txn] > 1:
        return None
    if txn not in found.commits or version.txn not in found.commits:
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


def _well_formed(history: History, events: Collection[Event]) -> History | None:
    try:
        return well_formed(Redrafting(history, events).draft())
    except HistoryError:
        return None


def _renamed(event: Event, old: Version, new: Version) -> Event:
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


def encapsulated(found: Facts, version: Version) -> bool:
    """As corollary 2 words it: only its own transaction wrote what it uses, and reads it."""
    if any(source.txn != version.txn for source in found.sources[version]):
        return False
    return all(
        event.txn == version.txn
        for event in found.history.events
        if (isinstance(event, Read) and event.version == version)
        or (isinstance(event, PredicateRead) and version in event.versions)
    )


def broken_conditions(found: Facts, version: Version) -> frozenset[Condition]:
    """The conditions that a derivation does not keep."""
    broken = set()
    if any(version in sources and v.txn != version.txn for v, sources in found.sources.items()):
        broken.add(Condition.NO_OUTSIDE_DERIVATION)
    if any(v.txn != version.txn for v in _behind(found, version)):
        broken.add(Condition.OWN_TO_THE_BOTTOM)
    if any(v != version for v in found.history.orders.get(version.obj, ())):
        broken.add(Condition.ONLY_VERSION)
    return frozenset(broken)


def _behind(found: Facts, version: Version) -> Iterator[Version]:
    seen, stack = {version}, [version]
    while stack:
        for source in found.sources.get(stack.pop(), ()):
            if source not in seen:
                seen.add(source)
                stack.append(source)
                yield source


def without(history: History, version: Version) -> History | None:
    """The history without a derivation and the reads of it.

    What derives from it derives from its sources instead. None: that makes no history, or the version
    stands in a version set, from which nothing can be taken without changing what was read.
    """
    found = facts(history)
    sources = found.sources[version]
    events: list[Event] = []
    for event in history.events:
        match event:
            case Derive(_, derived, _) if derived == version:
                continue
            case Read(_, read) if read == version:
                continue
            case PredicateRead(versions=versions) if version in versions:
                return None
            case Derive(txn, derived, used) if version in used:
                inlined = [s for u in used for s in (sources if u == version else (u,))]
                events.append(Derive(txn, derived, tuple(dict.fromkeys(inlined))))
            case _:
                events.append(event)
    orders = {obj: tuple(v for v in versions if v != version) for obj, versions in history.orders.items()}
    return _well_formed(replace(history, events=tuple(events), orders=orders), events)


def _others(found: Facts, version: Version) -> list[int]:
    """The transactions that a derivation may be moved to: not an implicit T0, which comes first."""
    hidden = 0 if found.history.implicit_initial else None
    return [txn for txn in found.commits if txn not in (version.txn, hidden)]


@dataclass(slots=True)
class Tally:
    """How often something was checked, and the first history where it failed."""

    histories: int = 0
    moves: int = 0
    removals: int = 0
    as_worded: int = 0
    """Derivations that the corollary's wording covers and a condition excludes."""
    false_as_worded: int = 0
    """Of those the ones that do change dependencies: counterexamples to the wording."""
    failure: tuple[str, History, History] | None = None

    def check(self, history: History, reading: Reading = DEFAULT) -> bool:
        """Checks both on one history; False: a counterexample, kept in `failure`."""
        self.histories += 1
        found = facts(history)
        if not found.sources:
            return True
        before: frozenset[Dependency] | None = None
        for version in found.sources:
            if version.txn not in found.commits:
                continue
            changes = [("theorem 1", moved(history, version, txn)) for txn in _others(found, version)]
            if encapsulated(found, version):
                if broken_conditions(found, version):
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
        """Counts one comparison; False where a claim that must hold does not."""
        if claim == "as worded":
            self.as_worded += 1
            self.false_as_worded += not equal
            return True
        self.moves += claim == "theorem 1"
        self.removals += claim == "corollary 2"
        if not equal:
            self.failure = claim, history, changed
        return equal
