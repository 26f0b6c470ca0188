"""The HTML page of checked histories: one file, no requests, no scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from dvs_model.checking.anomalies import named
from dvs_model.checking.check import Checked
from dvs_model.checking.explain import (
    Explanation,
    LevelStatus,
    Line,
    because,
    explanations,
    overall,
    requested_with,
    status,
    worst,
)
from dvs_model.checking.sentences import Sentences
from dvs_model.notation import render
from dvs_model.theory.definitions import DEFINITIONS
from dvs_model.theory.levels import BY_NAME, LEVELS
from dvs_model.theory.names import Level
from reports.history.drawing import Drawing, draw
from reports.history.json_object import verdict_word
from reports.history.lattice import MARKS, lattice
from reports.history.text import part_text, strongest_text

LONGEST_SHOWN = 4000
"""Characters of a history's text that are shown."""


LEVELS_NAMED = 5
"""Levels that the heading names at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """One history as its section shows it.

    `cut`: whether `text` is only the beginning. `in_short`: two sentences on what happened.
    """

    checked: Checked
    anchor: str
    name: str
    status: LevelStatus
    text: str
    cut: bool
    explanations: Sequence[Explanation]
    drawing: Drawing
    edges: Sequence[Line]
    in_short: Sequence[str]
    places: Sequence[tuple[int, str]]


def history_page(
    drawn: Sequence[Checked],
    others: Sequence[tuple[str, LevelStatus]],
    counts: Mapping[LevelStatus, int],
    requested: Sequence[Level],
    refused: Sequence[str] = (),
) -> str:
    """Returns the page: `drawn` at length, `others` by name and status, `counts` over both.

    Every text in it is escaped by the template; the pictures escape theirs themselves.
    """
    return _template().render(
        views=[view(checked, requested, number) for number, checked in enumerate(drawn)],
        others=others,
        names=", ".join(_named(drawn, requested, worst([s for s in LevelStatus if counts[s]]))),
        counts=counts,
        refused=refused,
        reading=str(drawn[0].reading) if drawn else "",
        worst=worst([s for s in LevelStatus if counts[s]]),
    )


def _named(drawn: Sequence[Checked], requested: Sequence[Level], verdict: LevelStatus) -> Sequence[str]:
    """Returns what has the verdict of the page, such as levels of clients; else the requested levels."""
    found = (name for checked in drawn for name, _ in requested_with(checked, requested, verdict))
    names = [*dict.fromkeys(found)] or [level.value for level in requested]
    more = len(names) - LEVELS_NAMED
    return names if more <= 0 else [*names[:LEVELS_NAMED], f"{more} more"]


def view(checked: Checked, requested: Sequence[Level], number: int) -> HistoryView:
    """Returns what the section of one history shows."""
    # Of a large history without a fault nothing is at hand to be shown.
    text = "" if checked.size is not None and checked.part is None else render(checked.original)
    drawing = draw(checked)
    sentences = Sentences(checked.analysis)
    return HistoryView(
        checked=checked,
        anchor=f"history-{number}",
        name=checked.original.name or f"history {number + 1}",
        status=overall(checked, requested),
        text=text[:LONGEST_SHOWN],
        cut=len(text) > LONGEST_SHOWN,
        explanations=explanations(checked, minimised=True),
        drawing=drawing,
        edges=[Line(edge, sentences.edge(edge)) for edge in drawing.edges],
        in_short=in_short(checked, requested),
        places=list(checked.in_file.items())[:40],
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals.update(
        because=because,
        definitions=DEFINITIONS,
        verdict_word=verdict_word,
        lattice=lattice,
        levels=LEVELS,
        marks=MARKS,
        part_text=part_text,
        render=render,
        status=status,
        strongest=strongest_text,
    )
    return environment.get_template("history.html.j2")


def in_short(checked: Checked, requested: Sequence[Level]) -> tuple[str, str]:
    """Returns the verdict with its first reason, and what the history does keep."""
    verdict = overall(checked, requested)
    levels = requested_with(checked, requested, verdict)
    names = ", ".join(_with_meaning(name) for name, _ in levels)
    kept = f"The strongest levels that it keeps: {strongest_text(checked)}."
    if verdict is LevelStatus.HOLDS:
        return f"It keeps {names}: no read and no write of it contradicts that.", kept
    if verdict is LevelStatus.UNKNOWN:
        return f"Whether it keeps {names} cannot be told: {levels[0][1]}.", kept
    anomalies = named(checked)
    if anomalies:
        name, _, text = anomalies[0]
        return f"It does not keep {names}: {text} ({name}).", kept
    lines = [line.text for each in explanations(checked, minimised=False) for line in each.lines]
    return f"It does not keep {names}: {'; '.join(lines[:2]) or levels[0][1]}.", kept


def _with_meaning(name: str) -> str:
    """Returns a level with what it is called."""
    level = BY_NAME.get(name)
    return name if level is None else f"{name} ({LEVELS[level].meaning.partition(':')[0]})"
