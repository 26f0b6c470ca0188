"""The HTML page of checked histories: one file, no requests, no scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from dvs_model.check import Checked
from dvs_model.definitions import DEFINITIONS, MEANINGS
from dvs_model.explain import Explanation
from dvs_model.names import Level, Phenomenon
from dvs_model.notation import render
from dvs_model.verdict import Present, Unknown
from reports.history.account import Account, Word, accounts, because, overall, stats, strongest_text, word
from reports.history.drawing import Drawn, draw
from reports.history.lattice import MARKS, lattice

SHOWN = 40
"""Histories drawn on one page; the others are in its table only."""

LONGEST = 4000
"""Characters of a history's text that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRow:
    """A level with its verdict."""

    name: str
    meaning: str
    verdict: str
    mark: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhenomenonRow:
    """A phenomenon with its finding."""

    name: str
    definition: str
    source: str
    verdict: str
    subjects: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """One history as its section shows it."""

    anchor: str
    name: str
    verdict: str
    strongest: str
    stats: Mapping[str, int]
    text: str
    cut: bool
    accounts: Sequence[tuple[Account, str]]
    drawn: Drawn
    svg: str
    lattice: str
    edges: Sequence[tuple[str, str, bool]]
    levels: Sequence[LevelRow]
    phenomena: Sequence[PhenomenonRow]


def history_page(
    shown: Sequence[Checked],
    rest: Sequence[tuple[str, Word]],
    counts: Mapping[Word, int],
    asked: Sequence[Level],
    refused: Sequence[str] = (),
) -> str:
    """The page: `shown` at length, of `rest` name and verdict, `counts` over both.

    Every text in it is escaped; the pictures escape theirs one by one.
    """
    return _template().render(
        views=[view(item, asked, number) for number, item in enumerate(shown)],
        more=[(name, verdict.value) for name, verdict in rest],
        asked=[level.value for level in asked],
        counts={verdict.value: count for verdict, count in counts.items()},
        refused=refused,
        reading=str(shown[0].reading) if shown else "",
        worst=next((w.value for w in (Word.VIOLATED, Word.UNKNOWN) if counts[w]), Word.HOLDS.value),
    )


def view(checked: Checked, asked: Sequence[Level], number: int) -> HistoryView:
    """One history."""
    text = render(checked.original)
    drawn = draw(checked)
    explanation = Explanation(checked.analysis)
    return HistoryView(
        anchor=f"history-{number}",
        name=checked.original.name or f"history {number + 1}",
        verdict=overall(checked, asked).value,
        strongest=strongest_text(checked),
        stats=stats(checked),
        text=text[:LONGEST],
        cut=len(text) > LONGEST,
        accounts=[
            (item, "" if item.minimised is None else render(item.minimised))
            for item in accounts(checked, minimised=True)
        ],
        drawn=drawn,
        svg=drawn.svg,
        lattice=lattice(checked.levels),
        edges=[
            (f"T{edge.source} {edge.label} → T{edge.target}", explanation.edge(edge), edge.certain)
            for edge in drawn.edges
        ],
        levels=[level_row(checked, level) for level in checked.levels],
        phenomena=[phenomenon_row(checked, phenomenon) for phenomenon in checked.phenomena],
    )


def level_row(checked: Checked, level: Level) -> LevelRow:
    """A level's line in the table."""
    verdict = checked.levels[level]
    return LevelRow(
        name=level.value,
        meaning=MEANINGS[level],
        verdict=word(verdict).value,
        mark=MARKS[word(verdict)],
        because=because(verdict),
    )


def phenomenon_row(checked: Checked, phenomenon: Phenomenon) -> PhenomenonRow:
    """A phenomenon's line in the table."""
    finding = checked.phenomena[phenomenon]
    definition = DEFINITIONS[phenomenon]
    subjects = ""
    match finding:
        case Present():
            verdict, subjects = "present", ", ".join(finding.subjects)
        case Unknown(reason):
            verdict = f"unknown: {reason}"
        case _:
            verdict = "absent"
    return PhenomenonRow(
        name=phenomenon.value,
        definition=definition.text,
        source=definition.source,
        verdict=verdict,
        subjects=subjects,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("history.html.j2")
