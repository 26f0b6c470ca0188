"""Faults in the analysis of histories: entries of its rules or detectors replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dvs_model.analysis import Analysis, Rules
from dvs_model.check import Checked, check
from dvs_model.dsg import dsg
from dvs_model.facts import Facts
from dvs_model.graph import Graph
from dvs_model.history import Derive, Event, History, PredicateRead
from dvs_model.names import Phenomenon
from dvs_model.phenomena.registry import DETECTORS, Detector
from dvs_model.reading import DEFAULT, Reading
from dvs_model.verdict import ABSENT, DirtyRead, Finding, Present


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFault:
    """A real bug of some checker, planted in ours."""

    name: str
    wrong: str
    rules: Rules = field(default_factory=Rules)
    detectors: Mapping[Phenomenon, Detector] = field(default_factory=lambda: DETECTORS)

    def check(self, history: History, reading: Reading = DEFAULT) -> Checked:
        """The verdicts of the checker with the fault."""
        return check(history, reading, rules=self.rules, detectors=self.detectors)


def without_derivations(facts: Facts, reading: Reading) -> Graph:
    """Derived versions have nothing behind them."""
    return dsg(replace(facts, sources=dict.fromkeys(facts.sources, ())), reading)


def ordered_by_commits(history: History) -> History:
    """Version orders read off the commits, whatever the history says."""
    place = {event.txn: number for number, event in enumerate(history.events)}
    orders = {
        obj: tuple(sorted(versions, key=lambda version: place[version.txn]))
        for obj, versions in history.orders.items()
    }
    return replace(history, orders=orders)


def derived_ordered_by_commits(history: History) -> History:
    """The order of refresh commits is taken for the version order of derived objects."""
    derived = {event.version.obj for event in history.events if isinstance(event, Derive)}
    orders = {
        **history.orders,
        **{o: v for o, v in ordered_by_commits(history).orders.items() if o in derived},
    }
    return replace(history, orders=orders)


def matching_members_only(facts: Facts, reading: Reading) -> Graph:
    """Predicate reads that match nothing give no edges."""
    events: list[Event] = []
    for event in facts.history.events:
        if isinstance(event, PredicateRead) and _matches_nothing(facts, event):
            # The place stays: events are named by their number.
            events.append(
                PredicateRead(event.txn, f"{event.predicate} nothing", (), event.matched, event.writes)
            )
        else:
            events.append(event)
    relations = {**facts.relations}
    for event in events:
        if isinstance(event, PredicateRead):
            relations.setdefault(event.predicate, ())
    return dsg(
        replace(facts, history=replace(facts.history, events=tuple(events)), relations=relations), reading
    )


def _matches_nothing(facts: Facts, event: Event) -> bool:
    return isinstance(event, PredicateRead) and not any(
        facts.matches(event.predicate, version) for version in facts.version_set(event)
    )


def without_aborted(analysis: Analysis) -> Finding:
    """Aborted transactions and their versions are removed before the search: nobody reads from them."""
    return ABSENT


def direct_only(detector: Detector) -> Detector:
    """Only what is read directly counts as read."""

    def detect(analysis: Analysis) -> Finding:
        finding = detector(analysis)
        if not isinstance(finding, Present):
            return finding
        direct = tuple(e for e in finding.evidence if isinstance(e, DirtyRead) and len(e.path) == 1)
        return Present(direct) if direct else ABSENT

    return detect


def refreshes_never_abort(analysis: Analysis) -> Finding:
    """Reads of what an aborted refresh derived are overlooked."""
    finding = DETECTORS[Phenomenon.G1A](analysis)
    if not isinstance(finding, Present):
        return finding
    derived = analysis.facts.derived
    kept = tuple(e for e in finding.evidence if isinstance(e, DirtyRead) and e.path[-1].obj not in derived)
    return Present(kept) if kept else ABSENT


P = Phenomenon

HISTORY_FAULTS: Mapping[str, HistoryFault] = {
    fault.name: fault
    for fault in (
        HistoryFault(
            name="derivation-edges-missing",
            wrong="reading a derived version gives no dependency on what is behind it",
            rules=Rules(graph=without_derivations),
        ),
        HistoryFault(
            name="version-order-by-events",
            wrong="the version order is read off the commits though the history states another",
            rules=Rules(prepare=ordered_by_commits),
        ),
        HistoryFault(
            name="refresh-order-for-version-order",
            wrong="the order of refresh commits is taken for the version order of derived objects",
            rules=Rules(prepare=derived_ordered_by_commits),
        ),
        HistoryFault(
            name="predicate-read-vacuous",
            wrong="a predicate read that matches nothing gives no edges",
            rules=Rules(graph=matching_members_only),
        ),
        HistoryFault(
            name="aborted-read-ignored",
            wrong="aborted transactions and their versions are removed before the search",
            detectors={**DETECTORS, P.G1A: without_aborted},
        ),
        HistoryFault(
            name="aborted-read-direct-only",
            wrong="an aborted read through a derivation is overlooked",
            detectors={**DETECTORS, P.G1A: direct_only(DETECTORS[P.G1A])},
        ),
        HistoryFault(
            name="aborted-refresh-ignored",
            wrong="a read of what an aborted refresh derived is overlooked",
            detectors={**DETECTORS, P.G1A: refreshes_never_abort},
        ),
        HistoryFault(
            name="intermediate-read-direct-only",
            wrong="an intermediate read through a derivation is overlooked",
            detectors={**DETECTORS, P.G1B: direct_only(DETECTORS[P.G1B])},
        ),
    )
}
"""Every fault of the history area that is planted in the analysis, by name."""
