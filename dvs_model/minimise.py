"""The fewest transactions and operations that still show a phenomenon."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from dvs_model.analysis import Analysis
from dvs_model.check import Checked
from dvs_model.edges import Edge
from dvs_model.errors import HistoryError
from dvs_model.explain import Explanation
from dvs_model.graph import Kind
from dvs_model.history import (
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
)
from dvs_model.names import Phenomenon
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.reading import Derivations, Reading
from dvs_model.redraft import Redrafting
from dvs_model.verdict import Cycle, DirtyRead, Evidence, MixedVersions, Overlap, Present
from dvs_model.wellformed import well_formed

ATTEMPTS = 600
"""Smaller histories that are tried."""

STEPS = 2_000_000
"""The budget of one of them."""


@dataclass(slots=True)
class Minimising:
    """The smallest history so far that shows the phenomenon under the reading."""

    current: History
    phenomenon: Phenomenon
    reading: Reading
    attempts: int

    def shows(self, history: History) -> bool:
        """Whether a history shows it."""
        analysis = Analysis(history, self.reading, steps=STEPS)
        return isinstance(DETECTORS[self.phenomenon](analysis), Present)

    def accept(self, smaller: History | None) -> bool:
        """Goes on with a smaller history that shows the phenomenon."""
        if smaller is None or self.attempts <= 0:
            return False
        self.attempts -= 1
        if not self.shows(smaller):
            return False
        self.current = smaller
        return True


def minimise(
    checked: Checked, phenomenon: Phenomenon, evidence: Evidence, attempts: int = ATTEMPTS
) -> History:
    """A history that shows a phenomenon by the same evidence, with nothing that can be left out.

    Begins with the operations of the evidence alone, so that its cost does not grow with the history; where
    they do not show it (a predicate's other members, say) with all operations of its transactions.
    """
    history = checked.original
    search = Minimising(history, phenomenon, checked.reading, attempts)
    own = operations(checked, evidence)
    txns = {history.events[number].txn for number in own}
    ends = {
        n for n, e in enumerate(history.events) if isinstance(e, Start | Commit | Abort) and e.txn in txns
    }
    alone = Removal(history, events=set(range(len(history.events))) - own - ends).result()
    if not search.accept(alone):
        search.accept(Removal(history, txns=set(history.transactions()) - _makers(history, txns)).result())
    progress = True
    while progress and search.attempts > 0:
        progress = any(_exhaust(search, kind) for kind in (_transactions, _objects, _operations, _clauses))
    return search.current


def _exhaust(search: Minimising, kind: Callable[[History], list[Removal]]) -> bool:
    """Leaves out whatever of one kind can be left out."""
    position, progress = 0, False
    while position < len(options := kind(search.current)) and search.attempts > 0:
        if search.accept(options[position].result()):
            progress = True
        else:
            position += 1
    return progress


def operations(checked: Checked, evidence: Evidence) -> set[int]:
    """The events of the original history that a piece of evidence speaks of, with the derivations between."""
    facts = checked.analysis.facts
    explanation = Explanation(checked.analysis)
    events: set[int] = set()
    versions: set[Version] = set()
    match evidence:
        case Cycle(edges):
            for edge in edges:
                _of_edge(explanation, edge, events, versions)
        case Overlap(edge=edge):
            _of_edge(explanation, edge, events, versions)
        case DirtyRead(_, event, path):
            events.add(event)
            bad = path[-1]
            versions.update(path)
            versions.add(Version(bad.obj, bad.txn, facts.last[bad.obj, bad.txn]))
        case MixedVersions(_, event, writer, new, old):
            events.add(event)
            versions.update((new, old))
            versions.update(v for v in checked.history.orders.get(old.obj, ()) if v.txn == writer)
        case _:
            assert_never(evidence)
    for version in tuple(versions):
        # Modifications are numbered without gaps.
        versions.update(Version(version.obj, version.txn, n) for n in range(1, version.number))
    events.update(facts.created[version] for version in versions if version in facts.created)
    origin = _origins(checked)
    return {origin[event] for event in events}


def _of_edge(explanation: Explanation, edge: Edge, events: set[int], versions: set[Version]) -> None:
    """What an edge speaks of: its read, its versions, the derivations between, what replaced it."""
    facts = explanation.facts
    versions.update(edge.versions)
    if edge.event is not None:
        events.add(edge.event)
        for read in versions_of(explanation.analysis.history.events[edge.event]):
            for base in edge.versions[:1]:
                versions.update(explanation.path(read, base))
    if edge.kind is Kind.RW and (following := facts.next(edge.versions[0])) is not None:
        versions.add(following)
    if edge.kind is Kind.WW and len(edge.versions) == 4:
        first, before, after, second = edge.versions
        versions.update((*explanation.path(before, first), *explanation.path(after, second)))


def _origins(checked: Checked) -> list[int]:
    """Per event of the history as read the event of the original it stands for."""
    if checked.reading.derivations is not Derivations.IGNORE:
        return list(range(len(checked.history.events)))
    origin: list[int] = []
    for number, event in enumerate(checked.original.events):
        origin.extend([number] * (len(event.sources) + 1 if isinstance(event, Derive) else 1))
    return origin


def _makers(history: History, txns: set[int]) -> set[int]:
    """Some transactions, and all that made what is behind the versions they name."""
    sources = {event.version: event.sources for event in history.events if isinstance(event, Derive)}
    stack = [v for event in history.events if event.txn in txns for v in versions_of(event)]
    versions = set(stack)
    while stack:
        for source in sources.get(stack.pop(), ()):
            if source not in versions:
                versions.add(source)
                stack.append(source)
    return txns | {version.txn for version in versions}


@dataclass(frozen=True, slots=True)
class Removal:
    """A history without some transactions, objects, events or clauses, and without what hangs on them."""

    history: History
    txns: Collection[int] = ()
    objects: Collection[str] = ()
    events: Collection[int] = ()
    clauses: Collection[str] = ()
    sources: Collection[tuple[int, Version]] = ()
    gone: set[Version] = field(default_factory=set)

    def result(self) -> History | None:
        """The smaller history; None where it makes no sense."""
        kept = [event for event in self.kept() if event is not None]
        if not kept:
            return None
        try:
            return well_formed(Redrafting(self.history, kept, self.gone, self.clauses).draft())
        except HistoryError:
            return None

    def kept(self) -> Iterator[Event | None]:
        """The events that stay, without versions that nobody makes any more."""
        for number, event in enumerate(self.history.events):
            if number in self.events or event.txn in self.txns:
                if isinstance(event, Write | Derive):
                    self.gone.add(event.version)
                continue
            yield self.trimmed(number, event)

    def trimmed(self, number: int, event: Event) -> Event | None:
        """An event without what is gone; None: nothing is left of it."""
        match event:
            case Write(version=version) | Read(version=version):
                if version.obj in self.objects or version in self.gone:
                    self.gone.add(version)
                    return None
                return event
            case Derive(txn, version, sources):
                left = tuple(s for s in sources if self.stays(s) and (number, s) not in self.sources)
                if version.obj in self.objects or not left:
                    self.gone.add(version)
                    return None
                return Derive(txn, version, left)
            case PredicateRead(txn, predicate, versions, matched, writes):
                left = tuple(v for v in versions if self.stays(v) and (number, v) not in self.sources)
                members = None if matched is None else tuple(v for v in matched if v in left)
                return PredicateRead(txn, predicate, left, members, writes) if left else None
            case Start() | Commit() | Abort():
                return event

    def stays(self, version: Version) -> bool:
        """Whether a version is still there."""
        return version not in self.gone and version.obj not in self.objects


def reductions(history: History) -> Iterator[History]:
    """Every history that is smaller by one transaction, object, operation or clause."""
    for kind in (_transactions, _objects, _operations, _clauses):
        for removal in kind(history):
            smaller = removal.result()
            if smaller is not None:
                yield smaller


def _transactions(history: History) -> list[Removal]:
    return [Removal(history, txns={txn}) for txn in history.transactions()]


def _objects(history: History) -> list[Removal]:
    objects = {version.obj: None for event in history.events for version in versions_of(event)}
    return [Removal(history, objects={obj}) for obj in objects]


def _operations(history: History) -> list[Removal]:
    found = []
    for number, event in enumerate(history.events):
        if isinstance(event, Commit | Abort):
            continue
        found.append(Removal(history, events={number}))
        if isinstance(event, Derive) and len(event.sources) > 1:
            found.extend(Removal(history, sources={(number, source)}) for source in event.sources)
        if isinstance(event, PredicateRead) and len(event.versions) > 1:
            found.extend(Removal(history, sources={(number, version)}) for version in event.versions)
    return found


def _clauses(history: History) -> list[Removal]:
    found = [Removal(history, clauses={f"session {name}"}) for name in history.sessions]
    if history.precedes:
        found.append(Removal(history, clauses={"time"}))
    starts = {n for n, event in enumerate(history.events) if isinstance(event, Start)}
    if starts:
        found.append(Removal(history, events=starts))
    return found
