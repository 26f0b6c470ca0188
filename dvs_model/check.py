"""A history judged: phenomena, levels, and which of them are the strongest that hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dvs_model.analysis import RULES, STEPS, Analysis, Rules
from dvs_model.history import History
from dvs_model.names import FORBIDS, STRONGER, Level, Phenomenon
from dvs_model.phenomena.registry import DETECTORS, Detector
from dvs_model.reading import DEFAULT, Reading
from dvs_model.verdict import Absent, Finding, Present, Unknown


@dataclass(frozen=True, slots=True)
class Holds:
    """Every phenomenon that the level forbids was looked for and is absent."""


@dataclass(frozen=True, slots=True)
class Violated:
    """The forbidden phenomena that are present."""

    by: tuple[Phenomenon, ...]


@dataclass(frozen=True, slots=True)
class Undecided:
    """A forbidden phenomenon may be present."""

    phenomenon: Phenomenon
    reason: str


LevelVerdict = Holds | Violated | Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The verdicts on a history: the `original`, and as it was read, derivations replaced if ignored."""

    history: History
    original: History
    reading: Reading
    phenomena: Mapping[Phenomenon, Finding]
    levels: Mapping[Level, LevelVerdict]
    analysis: Analysis

    @property
    def strongest(self) -> tuple[Level, ...]:
        """The levels that hold and are below no other that does."""
        held = [level for level, verdict in self.levels.items() if isinstance(verdict, Holds)]
        below = {weak for level in held for weak in weaker(level)}
        return tuple(level for level in held if level not in below)


def weaker(level: Level) -> set[Level]:
    """All levels below one in the lattice."""
    found: set[Level] = set()
    stack = [level]
    while stack:
        for below in STRONGER[stack.pop()]:
            if below not in found:
                found.add(below)
                stack.append(below)
    return found


def check(
    history: History,
    reading: Reading = DEFAULT,
    *,
    only: Collection[Phenomenon] = tuple(Phenomenon),
    steps: int = STEPS,
    rules: Rules = RULES,
    detectors: Mapping[Phenomenon, Detector] = DETECTORS,
) -> Checked:
    """The verdicts on a history. `only`: the phenomena to look for; a level needing another is undecided."""
    analysis = Analysis(history, reading, steps=steps, rules=rules)
    findings: dict[Phenomenon, Finding] = {
        phenomenon: analysis.once(detectors[phenomenon])
        if phenomenon in only
        else Unknown("it was not looked for")
        for phenomenon in Phenomenon
    }
    levels = {level: verdict(level, findings) for level in Level}
    return Checked(
        history=analysis.history,
        original=history,
        reading=reading,
        phenomena=findings,
        levels=levels,
        analysis=analysis,
    )


def verdict(level: Level, findings: Mapping[Phenomenon, Finding]) -> LevelVerdict:
    """Violated if a forbidden phenomenon is present, else undecided if one is unknown, else it holds."""
    present = tuple(p for p in FORBIDS[level] if isinstance(findings[p], Present))
    if present:
        return Violated(present)
    for phenomenon in FORBIDS[level]:
        finding = findings[phenomenon]
        if isinstance(finding, Unknown):
            return Undecided(phenomenon, finding.reason)
        assert isinstance(finding, Absent)
    return Holds()
