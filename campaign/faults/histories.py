"""Faults in the analysis of histories (`dvs mutants --kind histories`): a rule or a detector is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby

from campaign.faults.fault import ModelFault, sentence
from dvs_model.analysis.analysis import Analysis, Rules
from dvs_model.analysis.verdict import ABSENT, DirtyRead, PhenomenonVerdict, Present
from dvs_model.checking.check import Checked, check
from dvs_model.graph.dsg import dsg
from dvs_model.graph.facts import Facts
from dvs_model.graph.graph import Graph
from dvs_model.graph.reading import Reading
from dvs_model.histories.history import Abort, Commit, Derive, Event, History, PredicateRead, Start, Version
from dvs_model.phenomena.cycles import Detector
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.theory.names import Phenomenon

Checker = Callable[[History], Checked]
"""Returns the verdicts on a history."""


def without_derivations(facts: Facts, reading: Reading) -> Graph:
    """Reading a derived version gives no dependency on the versions that it was derived from."""
    return dsg(replace(facts, sources=dict.fromkeys(facts.sources, ())), reading)


def ordered_by_commits(history: History) -> History:
    """Version orders follow the order of commits, though the history states others."""
    place = {event.txn: number for number, event in enumerate(history.events)}
    orders = {
        obj: tuple(sorted(versions, key=lambda version: place[version.txn]))
        for obj, versions in history.orders.items()
    }
    return replace(history, orders=orders)


def derived_ordered_by_commits(history: History) -> History:
    """The order of refresh commits is taken for the version order of derived objects."""
    derived = {event.version.obj for event in history.events if isinstance(event, Derive)}
    by_commits = ordered_by_commits(history).orders
    orders = {obj: by_commits[obj] if obj in derived else order for obj, order in history.orders.items()}
    return replace(history, orders=orders)


def matching_members_only(facts: Facts, reading: Reading) -> Graph:
    """Predicate reads that match nothing give no edges."""
    events: list[Event] = []
    relations = dict(facts.relations)
    for event in facts.history.events:
        if isinstance(event, PredicateRead):
            if not any(facts.matches(event.predicate, version) for version in facts.version_set(event)):
                # The event is replaced and not left out: events are named by their number.
                name = f"{event.predicate} nothing"
                event = PredicateRead(event.txn, name, (), event.matched, event.writes)
            relations.setdefault(event.predicate, ())
        events.append(event)
    history = replace(facts.history, events=tuple(events))
    return dsg(replace(facts, history=history, relations=relations), reading)


DEPTH = 3
"""Derivations, one over another, that a fault follows."""


def three_derivations_deep(facts: Facts, reading: Reading) -> Graph:
    """What lies behind a version is followed through three derivations and no further."""

    def within(version: Version, steps: int) -> Iterator[Version]:
        if version not in facts.sources:
            yield version
        elif steps:
            for source in facts.sources[version]:
                yield from within(source, steps - 1)

    sources = {version: tuple(dict.fromkeys(within(version, DEPTH))) for version in facts.sources}
    return dsg(replace(facts, sources=sources), reading)


def sessions_cut_at_aborts(history: History) -> History:
    """The order of a session ends at a transaction that aborted and begins anew after it."""
    aborted = {event.txn for event in history.events if isinstance(event, Abort)}
    sessions = {
        f"{name} {number}": tuple(txns)
        for name, members in history.sessions.items()
        for number, (cut, txns) in enumerate(groupby(members, aborted.__contains__))
        if not cut
    }
    return replace(history, sessions=sessions)


def starts_of_all_or_none(history: History) -> History:
    """Starts count only where all transactions have one, those that aborted as well."""
    started = {event.txn for event in history.events if isinstance(event, Start)}
    if all(
        event.txn in started for event in history.events if isinstance(event, Abort | Commit) and event.txn
    ):
        return history
    return replace(history, events=tuple(event for event in history.events if not isinstance(event, Start)))


def starts_where_missing(history: History) -> History:
    """A transaction without a start is taken to start with its first event, if any other one has a start."""
    started = {event.txn for event in history.events if isinstance(event, Start)}
    events: list[Event] = []
    for event in history.events:
        if started and event.txn and event.txn not in started:
            events.append(Start(event.txn))
            started.add(event.txn)
        events.append(event)
    return replace(history, events=tuple(events))


def direct(analysis: Analysis, read: DirtyRead) -> bool:
    """Whether the version was read itself, and not a version derived from it."""
    return len(read.path) == 1


def not_derived(analysis: Analysis, read: DirtyRead) -> bool:
    """Whether the version at the end of the read was written, not derived by a refresh."""
    return read.path[-1].obj not in analysis.facts.derived


def _rule_fault(part: str, faulty: Callable[..., object]) -> ModelFault[Checker]:
    rules = replace(Rules(), **{part: faulty})  # type: ignore[arg-type]  # `faulty` is what the part takes
    return ModelFault(sentence(faulty), partial(check, rules=rules))


def _detector_fault(wrong: str, phenomenon: Phenomenon, detector: Detector) -> ModelFault[Checker]:
    return ModelFault(wrong, partial(check, detectors={**DETECTORS, phenomenon: detector}))


def _reads_fault(
    wrong: str, phenomenon: Phenomenon, counts: Callable[[Analysis, DirtyRead], bool]
) -> ModelFault[Checker]:
    """A fault that overlooks all evidence of a phenomenon but dirty reads for which `counts` is true."""

    def detect(analysis: Analysis) -> PhenomenonVerdict:
        verdict = DETECTORS[phenomenon](analysis)
        if not isinstance(verdict, Present):
            return verdict
        reads = tuple(e for e in verdict.evidence if isinstance(e, DirtyRead) and counts(analysis, e))
        return Present(reads) if reads else ABSENT

    return _detector_fault(wrong, phenomenon, detect)


G1A, G1B = Phenomenon.G1A, Phenomenon.G1B

HISTORY_FAULTS: Mapping[str, ModelFault[Checker]] = {
    "derivation-edges-missing": _rule_fault("graph", without_derivations),
    "version-order-by-events": _rule_fault("prepare", ordered_by_commits),
    "refresh-order-for-version-order": _rule_fault("prepare", derived_ordered_by_commits),
    "predicate-read-vacuous": _rule_fault("graph", matching_members_only),
    "derivations-three-deep": _rule_fault("graph", three_derivations_deep),
    "sessions-cut-at-aborts": _rule_fault("prepare", sessions_cut_at_aborts),
    "starts-of-all-or-none": _rule_fault("prepare", starts_of_all_or_none),
    "starts-where-missing": _rule_fault("prepare", starts_where_missing),
    "aborted-read-ignored": _detector_fault(
        "Aborted transactions are removed before the search, so nobody is seen to read from them.",
        G1A,
        lambda analysis: ABSENT,
    ),
    "aborted-read-direct-only": _reads_fault("Aborted reads through derivation are missed.", G1A, direct),
    "aborted-refresh-ignored": _reads_fault("Reads of an aborted refresh are missed.", G1A, not_derived),
    "intermediate-read-direct-only": _reads_fault(
        "Intermediate reads through derivations are missed.", G1B, direct
    ),
}
"""Every fault that is planted in the analysis of histories, by name."""
