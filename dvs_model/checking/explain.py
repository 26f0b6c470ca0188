"""Explanations of verdicts: which evidence explains which violated level, in words and minimised.

`dvs_model.checking.check` detects, this module explains, and reports only render what it returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dvs_model.analysis.verdict import (
    Absent,
    Cycle,
    DirtyRead,
    Evidence,
    Observation,
    Overlap,
    PhenomenonVerdict,
    Present,
    Unknown,
)
from dvs_model.checking.check import Checked, Holds, LevelVerdict, Undecided, Violated
from dvs_model.checking.minimise import LARGEST, minimise
from dvs_model.checking.sentences import Sentences
from dvs_model.graph.edges import Edge
from dvs_model.histories.history import Derive, History, PredicateRead
from dvs_model.theory.names import Level, Phenomenon

LONG = 30
"""The most sentences of one piece of evidence that are shown."""


class LevelStatus(Enum):
    """The three verdicts on a level."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


def status(verdict: LevelVerdict) -> LevelStatus:
    """Returns the status of a level."""
    match verdict:
        case Holds():
            return LevelStatus.HOLDS
        case Violated():
            return LevelStatus.VIOLATED
        case Undecided():
            return LevelStatus.UNKNOWN


def worst(statuses: Sequence[LevelStatus]) -> LevelStatus:
    """Returns the worst status: VIOLATED, else UNKNOWN, else HOLDS (also of none)."""
    return next((s for s in (LevelStatus.VIOLATED, LevelStatus.UNKNOWN) if s in statuses), LevelStatus.HOLDS)


def overall(checked: Checked, requested: Sequence[Level]) -> LevelStatus:
    """Returns the worst status of the requested levels, client-side ones and forbidden phenomena included."""
    statuses = [status(checked.levels[level]) for level in requested]
    statuses += [_absence(checked.phenomena[phenomenon]) for phenomenon in checked.forbidden]
    statuses += [status(verdict) for each in checked.executing for verdict in each.levels.values()]
    statuses += [] if checked.mixed is None else [_absence(checked.mixed.verdict)]
    if checked.seen is not None:
        statuses += [LevelStatus(checked.seen.client[name][0]) for name in checked.seen.wanted]
    return worst(statuses)


def _absence(verdict: PhenomenonVerdict) -> LevelStatus:
    """Returns the status of the demand that a phenomenon is absent."""
    match verdict:
        case Present():
            return LevelStatus.VIOLATED
        case Unknown():
            return LevelStatus.UNKNOWN
        case Absent():
            return LevelStatus.HOLDS


def requested_with(
    checked: Checked, requested: Sequence[Level], verdict: LevelStatus
) -> list[tuple[str, str]]:
    """Returns the names of the requested levels with one verdict, each with the reason.

    Beside Adya's levels: forbidden phenomena, executing levels, mixed levels and client-side levels.
    """
    found = [
        (level.value, because(checked.levels[level]))
        for level in requested
        if status(checked.levels[level]) is verdict
    ]
    words = {
        LevelStatus.HOLDS: "it is absent",
        LevelStatus.VIOLATED: "it is present",
        LevelStatus.UNKNOWN: "it is unknown",
    }
    found += [
        (f"no {each.value}", words[verdict])
        for each in checked.forbidden
        if _absence(checked.phenomena[each]) is verdict
    ]
    found += [
        (f"{executing_name(level)} of T{each.txn}", "; ".join(each.words.get(level, ())) or because(judged))
        for each in checked.executing
        for level, judged in each.levels.items()
        if status(judged) is verdict
    ]
    if checked.mixed is not None and _absence(checked.mixed.verdict) is verdict:
        found.append(("mixed levels", "; ".join(checked.mixed.words) or "each transaction keeps its level"))
    if checked.seen is not None:
        client = checked.seen.client
        found += [(n, client[n][1]) for n in checked.seen.wanted if LevelStatus(client[n][0]) is verdict]
    return found


def executing_name(level: Level) -> str:
    """Returns the name of a level for transactions that are executing, EPL-3 for PL-3."""
    return f"E{level.value}"


def because(verdict: LevelVerdict) -> str:
    """Returns the reason for the verdict on a level, in a few words."""
    match verdict:
        case Holds():
            return "every phenomenon it forbids is absent"
        case Violated(by, why):
            return why or f"{', '.join(phenomenon.value for phenomenon in by)} present"
        case Undecided(phenomenon, reason):
            return f"{phenomenon.value} is unknown: {reason}"


def choices(checked: Checked) -> tuple[str, ...]:
    """Returns the choices that the verdicts on a history depend on, where definitions leave it open."""
    events, reading = checked.original.events, checked.reading
    deriver = {event.version: event.txn for event in events if isinstance(event, Derive)}
    found = []
    if deriver:
        found.append(f"derivations: {reading.derivations.value}")
        if len({version.obj for version in deriver}) < len(deriver):
            found.append(f"derived writes: {reading.derived_writes.value}")
    if any(isinstance(event, PredicateRead) for event in events):
        found.append(f"predicates: {reading.predicates.value}")
    dirty = checked.phenomena[Phenomenon.G1A]
    of_refresh = [
        item.path[-1]
        for item in (dirty.evidence if isinstance(dirty, Present) else ())
        if isinstance(item, DirtyRead) and deriver.get(item.path[-1]) in checked.analysis.facts.aborts
    ]
    if of_refresh:
        found.append("what an aborted refresh has derived counts as aborted, whoever wrote what is behind it")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of evidence, with the edge that it explains if it explains one."""

    edge: Edge | None
    text: str

    @property
    def arrow(self) -> str:
        """The edge as text, `T1 rw x -> T2`; empty without an edge."""
        return "" if self.edge is None else f"T{self.edge.source} {self.edge.label} -> T{self.edge.target}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One piece of evidence with the violated levels that it explains.

    `title`: the phenomena of which it is the smallest evidence, as `G-single, G-update(T3)`. `minimised`: a
    smaller history that shows the first of them; None: not wanted, or too large to be searched.
    """

    title: str
    levels: tuple[Level, ...]
    lines: tuple[Line, ...]
    minimised: History | None


def explanations(checked: Checked, *, minimised: bool) -> tuple[Explanation, ...]:
    """Returns an explanation for the first phenomenon against every violated level.

    Phenomena with the same evidence share one. `minimised`: whether to search for smaller histories too.
    """
    phenomena: dict[tuple[Line, ...], dict[Phenomenon, None]] = {}
    levels: dict[tuple[Line, ...], list[Level]] = {}
    for level, verdict in checked.levels.items():
        if isinstance(verdict, Violated) and verdict.by:
            evidence = lines(checked, first_evidence(checked, verdict.by[0]))
            phenomena.setdefault(evidence, {})[verdict.by[0]] = None
            levels.setdefault(evidence, []).append(level)
    return tuple(
        Explanation(
            ", ".join(_title(checked, phenomenon) for phenomenon in shown),
            tuple(levels[evidence]),
            folded(evidence),
            _minimised(checked, next(iter(shown))) if minimised else None,
        )
        for evidence, shown in phenomena.items()
    )


def folded(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Returns the sentences of a cycle; if there are more than LONG, without those in the middle."""
    if len(lines) <= LONG:
        return tuple(lines)
    ends = LONG // 3
    left_out = Line(None, f"... {len(lines) - 2 * ends} more ...")
    return (*lines[:ends], left_out, *lines[-ends:])


def first_evidence(checked: Checked, phenomenon: Phenomenon) -> Evidence:
    """Returns the smallest evidence of a phenomenon, which must be present."""
    finding = checked.phenomena[phenomenon]
    assert isinstance(finding, Present)
    return finding.evidence[0]


def _minimised(checked: Checked, phenomenon: Phenomenon) -> History | None:
    """Returns a small history that shows a phenomenon; None where none was found, or none is needed."""
    evidence = first_evidence(checked, phenomenon)
    if isinstance(evidence, Cycle) and not evidence.edges:
        # The step budget did not suffice to show a cycle; it would not suffice for smaller histories either.
        return None
    if isinstance(evidence, Observation):
        # It is one read, which stands in the words.
        return None
    least = minimise(checked, phenomenon, evidence)
    return least if len(least.events) <= LARGEST else None


def _title(checked: Checked, phenomenon: Phenomenon) -> str:
    """Returns the name of a present phenomenon, with the first object or predicate that it is about."""
    finding = checked.phenomena[phenomenon]
    assert isinstance(finding, Present)
    subject, more = finding.evidence[0].subject, len(finding.subjects) - 1
    return phenomenon.value + (f"({subject}{f' and {more} more' if more > 0 else ''})" if subject else "")


def edges_of(evidence: Evidence) -> tuple[Edge, ...]:
    """Returns the edges of a piece of evidence; none for a read."""
    match evidence:
        case Cycle(edges):
            return edges
        case Overlap(edge):
            return (edge,)
        case _:
            return ()


def lines(checked: Checked, evidence: Evidence) -> tuple[Line, ...]:
    """Returns the sentences of a piece of evidence."""
    sentences = Sentences(checked.analysis).evidence(evidence)
    if not sentences:
        return (Line(None, "the cycle is too long to be shown within the step budget"),)
    return tuple(map(Line, edges_of(evidence) or (None,), sentences))
