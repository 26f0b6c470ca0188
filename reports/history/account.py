"""What every report of a checked history says: levels, the phenomena behind them, their evidence in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from dvs_model.check import Checked, Holds, LevelVerdict, Undecided, Violated
from dvs_model.edges import Edge
from dvs_model.explain import Explanation
from dvs_model.history import History
from dvs_model.minimise import minimise
from dvs_model.names import Level, Phenomenon
from dvs_model.notation import render
from dvs_model.verdict import Cycle, Evidence, Overlap, Present, Unknown


class Word(Enum):
    """The three verdicts on a level."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


def word(verdict: LevelVerdict) -> Word:
    """A level's verdict in a word."""
    match verdict:
        case Holds():
            return Word.HOLDS
        case Violated():
            return Word.VIOLATED
        case Undecided():
            return Word.UNKNOWN


def because(verdict: LevelVerdict) -> str:
    """Why, in a few words."""
    match verdict:
        case Holds():
            return "every phenomenon it forbids is absent"
        case Violated(by):
            return f"{', '.join(phenomenon.value for phenomenon in by)} present"
        case Undecided(phenomenon, reason):
            return f"{phenomenon.value} is unknown: {reason}"


def overall(checked: Checked, asked: Sequence[Level]) -> Word:
    """The verdict on all asked levels together: the worst of theirs."""
    words = {word(checked.levels[level]) for level in asked}
    return next(w for w in (Word.VIOLATED, Word.UNKNOWN, Word.HOLDS) if w in words)


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of evidence, with the edge it is about."""

    edge: Edge | None
    text: str

    @property
    def arrow(self) -> str:
        """`T1 rw x -> T2`."""
        return "" if self.edge is None else f"T{self.edge.source} {self.edge.label} -> T{self.edge.target}"


@dataclass(frozen=True, slots=True)
class Account:
    """Evidence, the phenomena it is the first of, the violated levels it explains, a minimised history."""

    phenomena: tuple[str, ...]
    levels: tuple[Level, ...]
    lines: tuple[Line, ...]
    minimised: History | None

    @property
    def title(self) -> str:
        """`G-single, G-update(T3)`."""
        return ", ".join(self.phenomena)


def accounts(checked: Checked, *, minimised: bool) -> tuple[Account, ...]:
    """Of every violated level the first phenomenon against it; those with the same evidence told together."""
    told: dict[tuple[Line, ...], tuple[list[Phenomenon], list[Level]]] = {}
    for level, verdict in checked.levels.items():
        if isinstance(verdict, Violated):
            phenomenon = verdict.by[0]
            phenomena, levels = told.setdefault(lines(checked, first_evidence(checked, phenomenon)), ([], []))
            levels.append(level)
            if phenomenon not in phenomena:
                phenomena.append(phenomenon)
    return tuple(
        Account(
            tuple(_title(checked, phenomenon) for phenomenon in phenomena),
            tuple(levels),
            sentences,
            _minimised(checked, phenomena[0]) if minimised else None,
        )
        for sentences, (phenomena, levels) in told.items()
    )


def first_evidence(checked: Checked, phenomenon: Phenomenon) -> Evidence:
    """The smallest evidence found of a phenomenon that is present."""
    finding = checked.phenomena[phenomenon]
    assert isinstance(finding, Present)
    return finding.evidence[0]


def _minimised(checked: Checked, phenomenon: Phenomenon) -> History | None:
    evidence = first_evidence(checked, phenomenon)
    if isinstance(evidence, Cycle) and not evidence.edges:
        # The budget did not suffice to show a cycle; it would not for smaller histories.
        return None
    return minimise(checked, phenomenon, evidence)


def _title(checked: Checked, phenomenon: Phenomenon) -> str:
    finding = checked.phenomena[phenomenon]
    assert isinstance(finding, Present)
    subject = finding.evidence[0].subject
    more = max(0, len(finding.subjects) - 1)
    return phenomenon.value + (f"({subject}{f' and {more} more' if more else ''})" if subject else "")


def lines(checked: Checked, evidence: Evidence) -> tuple[Line, ...]:
    """The sentences of a piece of evidence."""
    edges: tuple[Edge | None, ...] = (None,)
    if isinstance(evidence, Cycle):
        edges = evidence.edges
    elif isinstance(evidence, Overlap):
        edges = (evidence.edge,)
    sentences = Explanation(checked.analysis).evidence(evidence)
    if not sentences:
        return (Line(None, "the cycle is too long to be shown within the step budget"),)
    return tuple(Line(edge, text) for edge, text in zip(edges, sentences, strict=True))


def strongest_text(checked: Checked) -> str:
    """The strongest levels that hold."""
    names = [level.value for level in checked.strongest]
    return ", ".join(names) if names else "none, not even PL-1"


def as_object(checked: Checked) -> dict[str, object]:
    """A checked history as a JSON object."""
    return {
        "history": checked.original.name,
        "reading": {
            "derivations": checked.reading.derivations.value,
            "predicates": checked.reading.predicates.value,
            "derived_writes": checked.reading.derived_writes.value,
        },
        "phenomena": {p.value: _finding(checked, p) for p in checked.phenomena},
        "levels": {
            level.value: {"verdict": word(verdict).value, "because": because(verdict)}
            for level, verdict in checked.levels.items()
        },
        "strongest": [level.value for level in checked.strongest],
        "stats": stats(checked),
    }


def stats(checked: Checked) -> Mapping[str, int]:
    """How large the history is."""
    facts = checked.analysis.facts
    return {
        "transactions": len(facts.commits) + len(facts.aborts),
        "committed": len(facts.commits),
        "events": len(checked.history.events),
        "objects": len({version.obj for version in facts.created}),
        "derivations": len(facts.sources),
    }


def _finding(checked: Checked, phenomenon: Phenomenon) -> dict[str, object]:
    finding = checked.phenomena[phenomenon]
    match finding:
        case Present(evidence):
            return {"verdict": "present", "reason": "", "evidence": [_evidence(checked, e) for e in evidence]}
        case Unknown(reason, evidence):
            possible = [_evidence(checked, e) for e in evidence]
            return {"verdict": "unknown", "reason": reason, "evidence": possible}
        case _:
            return {"verdict": "absent", "reason": "", "evidence": []}


def _evidence(checked: Checked, evidence: Evidence) -> dict[str, object]:
    return {
        "subject": evidence.subject,
        "edges": [
            {
                "kind": line.edge.kind.value,
                "from": line.edge.source,
                "to": line.edge.target,
                "object": line.edge.obj,
                "predicate": line.edge.predicate,
                "because": line.text,
            }
            for line in lines(checked, evidence)
            if line.edge is not None
        ],
        "because": [line.text for line in lines(checked, evidence)],
    }


def indented(history: History) -> str:
    """A history in the text notation, four spaces in."""
    return "\n".join(f"    {line}" for line in render(history).splitlines())
