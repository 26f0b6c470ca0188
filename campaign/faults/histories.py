"""Faults in the analysis of histories (`dvs mutants --tier model`): a rule or a detector is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from campaign.faults.fault import sentence
from dvs_model.analysis import Analysis, Rules
from dvs_model.check import Checked, check
from dvs_model.dsg import dsg
from dvs_model.facts import Facts
from dvs_model.graph import Graph
from dvs_model.history import Derive, Event, History, PredicateRead
from dvs_model.names import Phenomenon
from dvs_model.phenomena.cycles import Detector
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.reading import DEFAULT, Reading
from dvs_model.verdict import ABSENT, DirtyRead, PhenomenonVerdict, Present


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFault:
    """A real bug of some checker of histories, planted in ours. `wrong`: what the checker then does wrong."""

    name: str
    wrong: str
    rules: Rules = field(default_factory=Rules)
    detectors: Mapping[Phenomenon, Detector] = field(default_factory=lambda: DETECTORS)

    def check(self, history: History, reading: Reading = DEFAULT) -> Checked:
        """Returns the verdicts of the checker with the fault."""
        return check(history, reading, rules=self.rules, detectors=self.detectors)


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


def direct(analysis: Analysis, read: DirtyRead) -> bool:
    """Whether the version was read itself, and not a version derived from it."""
    return len(read.path) == 1


def not_derived(analysis: Analysis, read: DirtyRead) -> bool:
    """Whether the version at the end of the read was written, not derived by a refresh."""
    return read.path[-1].obj not in analysis.facts.derived


def _rule_fault(name: str, part: str, faulty: Callable[..., object]) -> HistoryFault:
    rules = replace(Rules(), **{part: faulty})  # type: ignore[arg-type]  # `faulty` is what the part takes
    return HistoryFault(name=name, wrong=sentence(faulty), rules=rules)


def _reads_fault(
    name: str, wrong: str, phenomenon: Phenomenon, counts: Callable[[Analysis, DirtyRead], bool]
) -> HistoryFault:
    """A fault that overlooks all evidence of a phenomenon but dirty reads for which `counts` is true."""

    def detect(analysis: Analysis) -> PhenomenonVerdict:
        verdict = DETECTORS[phenomenon](analysis)
        if not isinstance(verdict, Present):
            return verdict
        reads = tuple(e for e in verdict.evidence if isinstance(e, DirtyRead) and counts(analysis, e))
        return Present(reads) if reads else ABSENT

    return HistoryFault(name=name, wrong=wrong, detectors={**DETECTORS, phenomenon: detect})


G1A, G1B = Phenomenon.G1A, Phenomenon.G1B

HISTORY_FAULTS: Mapping[str, HistoryFault] = {
    fault.name: fault
    for fault in (
        _rule_fault("derivation-edges-missing", "graph", without_derivations),
        _rule_fault("version-order-by-events", "prepare", ordered_by_commits),
        _rule_fault("refresh-order-for-version-order", "prepare", derived_ordered_by_commits),
        _rule_fault("predicate-read-vacuous", "graph", matching_members_only),
        HistoryFault(
            name="aborted-read-ignored",
            wrong="Aborted transactions are removed before the search, so nobody is seen to read from them.",
            detectors={**DETECTORS, G1A: lambda analysis: ABSENT},
        ),
        _reads_fault("aborted-read-direct-only", "Aborted reads through derivation are missed.", G1A, direct),
        _reads_fault("aborted-refresh-ignored", "Reads of an aborted refresh are missed.", G1A, not_derived),
        _reads_fault(
            "intermediate-read-direct-only",
            "Intermediate reads through derivations are missed.",
            G1B,
            direct,
        ),
    )
}
"""Every fault that is planted in the analysis of histories, by name."""
