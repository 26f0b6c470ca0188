"""Every history of histories.md gets the verdicts written beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import Checked, Holds, Undecided, Violated, check
from dvs_model.graph.reading import Derivations, DerivedWrites, Predicates, Reading
from dvs_model.notation import parse, render
from dvs_model.theory.names import Level, Phenomenon

PAGE = (Path(__file__).parent / "histories.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"### (.*?)\n.*?```history\n(.*?)```\n(.*?)(?=\n### |\n## |\Z)", re.DOTALL)
VERDICT = re.compile(r"- verdict(?: \((.*?)\))?: `(.*?)`; holds `(.*?)`; violated `(.*?)`; unknown `(.*?)`")
READINGS = {
    "": Reading(),
    "icde": Reading(),
    "derivations honoured": Reading(),
    "derivations ignored": Reading(derivations=Derivations.IGNORE),
    "thesis": Reading(predicates=Predicates.THESIS),
    "ww letter": Reading(derived_writes=DerivedWrites.LETTER),
}
WITH_SUBJECT = ("G-cursor", "G-monotonic", "G-update", "G-MSRa", "G-MSRb")
VARIANT = re.compile(r"-(realtime|session)$")


@dataclass(frozen=True)
class Line:
    """One verdict line."""

    title: str
    text: str
    note: str
    phenomena: str
    holds: str
    violated: str
    unknown: str


def lines() -> Iterator[Line]:
    for title, text, rest in ENTRY.findall(PAGE):
        for match in VERDICT.findall(rest):
            yield Line(title, text, *match)


LINES = list(lines())


def test_there_are_78_histories_with_114_verdicts() -> None:
    assert len(ENTRY.findall(PAGE)) == 78
    assert len(LINES) == 114


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.title}, {line.note}".strip(", "))
def test_a_verdict_line(line: Line) -> None:
    checked = check(parse(line.text, line.title), READINGS[line.note])
    assert found_phenomena(checked) == stated_phenomena(line.phenomena)
    assert levels(checked, Holds) == stated_levels(line.holds)
    assert levels(checked, Violated) == stated_levels(line.violated)
    assert levels(checked, Undecided) == stated_levels(line.unknown)


@pytest.mark.parametrize(("title", "text"), [(title, text) for title, text, _ in ENTRY.findall(PAGE)])
def test_text_and_history_are_the_same_thing(title: str, text: str) -> None:
    history = parse(text, title)
    assert parse(render(history), title) == history


def found_phenomena(checked: Checked) -> dict[str, set[str]]:
    return {
        phenomenon.value: set(finding.subjects) if phenomenon.value in WITH_SUBJECT else set()
        for phenomenon, finding in checked.phenomena.items()
        if isinstance(finding, Present) and not VARIANT.search(phenomenon.value)
    }


def stated_phenomena(text: str) -> dict[str, set[str]]:
    stated = {}
    for word in text.replace("none", "").split():
        name, _, subjects = word.rstrip(")").partition("(")
        assert Phenomenon(name).value == name
        stated[name] = set(subjects.split(",")) - {""}
    return stated


def levels(checked: Checked, kind: type) -> set[str]:
    return {
        level.value
        for level, verdict in checked.levels.items()
        if isinstance(verdict, kind) and not VARIANT.search(level.value)
    }


def stated_levels(text: str) -> set[str]:
    return {Level(word).value for word in text.split() if word != "-"}
