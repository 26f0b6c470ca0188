"""Searches the fewest transactions and operations that still show a phenomenon."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from dvs_model.analysis import verdict
from dvs_model.analysis.analysis import Analysis
from dvs_model.checking.check import Checked
from dvs_model.checking.reduction import Reduction
from dvs_model.errors import HistoryError
from dvs_model.graph.edges import Edge
from dvs_model.graph.facts import Facts, facts
from dvs_model.graph.graph import Kind
from dvs_model.graph.reading import Derivations
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.history import (
    Abort,
    Commit,
    Derive,
    Event,
    History,
    PredicateRead,
    Read,
    Start,
    Version,
    Write,
    versions_of,
    versions_read,
)
from dvs_model.histories.redraft import redraft
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.theory.names import Phenomenon

ATTEMPTS = 600
"""The most smaller histories that are tried."""

WORK = 60_000
"""The most attempts times events. Long evidence is a shortest cycle, in which few attempts succeed anyway."""

LARGEST = 400
"""The most events of a minimised history that is shown; evidence with more events is not minimised."""

STEPS = 2_000_000
"""The budget of the detector on each smaller history."""

Attempt = Callable[[], History | None]


def minimise(
    checked: Checked, phenomenon: Phenomenon, evidence: verdict.Evidence, attempts: int = ATTEMPTS
) -> History:
    """Returns a history that shows a phenomenon by the same evidence, from which nothing can be left out.

    Begins with the operations of the evidence alone, so that its cost does not grow with the history. Where
    these do not suffice (they lack the other members of a predicate, say), it begins with all operations of
    their transactions.
    """
    history = checked.original

    def shows(smaller: History) -> bool:
        analysis = Analysis(smaller, checked.reading, steps=STEPS)
        return isinstance(DETECTORS[phenomenon](analysis), verdict.Present)

    search = Reduction(history, shows, attempts)
    involved = operations(checked, evidence)
    txns = {history.events[number].txn for number in involved}
    ends = {
        n for n, e in enumerate(history.events) if isinstance(e, Start | Commit | Abort) and e.txn in txns
    }
    others = set(range(len(history.events))) - involved - ends
    if not search.accept(without(history, Removal(events=others))):
        search.accept(without(history, Removal(txns=set(history.transactions()) - _makers(history, txns))))
    if len(search.current.events) > LARGEST:
        return search.current
    # Each attempt costs as much as the history is long.
    search.calls = min(search.calls, WORK // len(search.current.events))
    while search.calls > 0 and any(search.exhaust(partial(_smaller, removals)) for removals in REMOVALS):
        pass
    return search.current


def _smaller(removals: Callable[[History], list[Removal]], history: History) -> list[Attempt]:
    """Returns an attempt for each part of one kind: the history without that part."""
    return [partial(without, history, removal) for removal in removals(history)]


def operations(checked: Checked, evidence: verdict.Evidence) -> set[int]:
    """Returns the events of the original history that evidence names, with the derivations between them."""
    index = checked.analysis.facts
    events: set[int] = set()
    versions: set[Version] = set()
    match evidence:
        case verdict.Cycle(edges):
            for edge in edges:
                _add_edge(index, edge, events, versions)
        case verdict.Overlap(edge=edge):
            _add_edge(index, edge, events, versions)
        case verdict.DirtyRead(_, event, path):
            events.add(event)
            bad = path[-1]
            versions.update((*path, Version(bad.obj, bad.txn, index.last[bad.obj, bad.txn])))
        case verdict.MixedVersions(_, event, writer, new, old):
            events.add(event)
            versions.update((new, old))
            versions.update(v for v in checked.history.orders.get(old.obj, ()) if v.txn == writer)
        case verdict.Observation():
            pass
        case _:
            assert_never(evidence)
    for version in tuple(versions):
        # Modifications are numbered without gaps.
        versions.update(Version(version.obj, version.txn, n) for n in range(1, version.number))
    events.update(index.created[version] for version in versions if version in index.created)
    origin = _origins(checked)
    return {origin[event] for event in events}


def _add_edge(index: Facts, edge: Edge, events: set[int], versions: set[Version]) -> None:
    """Adds what an edge names: its read, its versions, the derivations between, the version that follows."""
    versions.update(edge.versions)
    if edge.event is not None:
        events.add(edge.event)
        for read in versions_of(index.history.events[edge.event]):
            for base in edge.versions[:1]:
                versions.update(index.path(read, base))
    if edge.kind is Kind.RW and (following := index.next(edge.versions[0])) is not None:
        versions.add(following)
    if edge.kind is Kind.WW and len(edge.versions) == 4:
        first, before, after, second = edge.versions
        versions.update((*index.path(before, first), *index.path(after, second)))


def _origins(checked: Checked) -> list[int]:
    """Returns for each event of the history as judged the event of the original that it stands for."""
    if checked.reading.derivations is not Derivations.IGNORE:
        return list(range(len(checked.history.events)))
    origin: list[int] = []
    for number, event in enumerate(checked.original.events):
        origin.extend([number] * (len(event.sources) + 1 if isinstance(event, Derive) else 1))
    return origin


def _makers(history: History, txns: set[int]) -> set[int]:
    """Returns some transactions, and all that made a version that they name or one behind it."""
    named = {v for event in history.events if event.txn in txns for v in versions_of(event)}
    return txns | {version.txn for version in (*named, *facts(history).behind(*named))}


@dataclass(frozen=True, slots=True)
class Removal:
    """What to leave out of a history.

    `sources`: versions that one event, by its number, no longer names. `inlined`: a derived version, which is
    replaced by its own sources wherever others derive from it.
    """

    txns: Collection[int] = ()
    objects: Collection[str] = ()
    events: Collection[int] = ()
    clauses: Collection[str] = ()
    sources: Collection[tuple[int, Version]] = ()
    inlined: Version | None = None


def without(history: History, removal: Removal) -> History | None:
    """Returns a history without some parts and what depends on them; None: the rest is not well-formed."""
    removed: set[Version] = set()
    unnamed: set[tuple[str, str]] = set()
    remaining: list[Event] = []
    events = history.events if removal.inlined is None else inlined(history.events, removal.inlined)
    for number, event in enumerate(events):
        left_out = number in removal.events or event.txn in removal.txns
        trimmed = None if left_out else _trimmed(number, event, removal, removed)
        if isinstance(event, PredicateRead) and isinstance(trimmed, PredicateRead):
            gone = set(event.versions).difference(trimmed.versions)
            unnamed.update((event.predicate, version.obj) for version in gone if not version.unborn)
        if trimmed is not None:
            remaining.append(trimmed)
        elif isinstance(event, Write | Derive):
            removed.add(event.version)
    try:
        smaller = well_formed(redraft(history, remaining, removed, removal.clauses)) if remaining else None
    except HistoryError:
        return None
    if smaller is not None and unnamed:
        relations = facts(smaller).relations
        if any(obj in relations.get(predicate, ()) for predicate, obj in unnamed):
            # A version set that no longer names a version would say that it has selected none.
            return None
    return smaller


def _trimmed(number: int, event: Event, removal: Removal, removed: Collection[Version]) -> Event | None:
    """Returns an event without the versions that are left out; None: it says nothing without them."""

    def remain(versions: tuple[Version, ...]) -> tuple[Version, ...]:
        return tuple(
            version
            for version in versions
            if version not in removed
            and version.obj not in removal.objects
            and (number, version) not in removal.sources
        )

    match event:
        case Write(version=version) | Read(version=version):
            return event if remain((version,)) else None
        case Derive(txn, version, sources):
            left = remain(sources)
            return Derive(txn, version, left) if left and remain((version,)) else None
        case PredicateRead(txn, predicate, versions, matched, writes):
            left = remain(versions)
            members = None if matched is None else tuple(v for v in matched if v in left)
            # A version set that names nothing from the start says that nothing was there.
            return PredicateRead(txn, predicate, left, members, writes) if left or not versions else None
        case Start() | Commit() | Abort():
            return event


def reductions(history: History) -> Iterator[History]:
    """Yields every history that is smaller by one transaction, object, operation or clause."""
    for removals in REMOVALS:
        for removal in removals(history):
            if (smaller := without(history, removal)) is not None:
                yield smaller


def _transactions(history: History) -> list[Removal]:
    """Returns the removals of one transaction each."""
    return [Removal(txns={txn}) for txn in history.transactions()]


def _objects(history: History) -> list[Removal]:
    """Returns the removals of one object each, with all events on it."""
    objects = dict.fromkeys(version.obj for event in history.events for version in versions_of(event))
    return [Removal(objects={obj}) for obj in objects]


def _operations(history: History) -> list[Removal]:
    """Returns the removals of one operation each, or of one of the versions that it reads."""
    removals = []
    for number, event in enumerate(history.events):
        if not isinstance(event, Commit | Abort):
            removals.append(Removal(events={number}))
        sources: tuple[Version, ...] = ()
        if isinstance(event, Derive):
            sources = event.sources
        elif isinstance(event, PredicateRead):
            sources = event.versions
        if len(sources) > 1:
            removals.extend(Removal(sources={(number, source)}) for source in sources)
    return removals


def inlined(events: Sequence[Event], version: Version) -> Sequence[Event]:
    """Returns events in which versions derive from the sources of one version instead of from it."""
    sources = next((e.sources for e in events if isinstance(e, Derive) and e.version == version), ())
    changed: list[Event] = []
    for event in events:
        if isinstance(event, Derive) and version in event.sources:
            used = [s for u in event.sources for s in (sources if u == version else (u,))]
            changed.append(Derive(event.txn, event.version, tuple(dict.fromkeys(used))))
        elif not (isinstance(event, Derive) and event.version == version):
            changed.append(event)
    return changed


def _derivations(history: History) -> list[Removal]:
    """Returns the removals of derived versions that only other derivations use."""
    derived = {event.version for event in history.events if isinstance(event, Derive)}
    read = {version for event in history.events for version in versions_read(event)}
    return [Removal(inlined=version) for version in sorted(derived - read)]


def _clauses(history: History) -> list[Removal]:
    """Returns the removals of one session each, of the real-time order, and of all start events."""
    removals = [Removal(clauses={f"session {name}"}) for name in history.sessions]
    if history.precedes:
        removals.append(Removal(clauses={"time"}))
    starts = {n for n, event in enumerate(history.events) if isinstance(event, Start)}
    if starts:
        removals.append(Removal(events=starts))
    return removals


REMOVALS: tuple[Callable[[History], list[Removal]], ...] = (
    _transactions,
    _objects,
    _operations,
    _derivations,
    _clauses,
)
"""The kinds of reductions, the largest first."""
