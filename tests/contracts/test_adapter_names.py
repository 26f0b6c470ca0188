"""docs/adapters.md lists every field and word of `Limits`, and names that `dvs` exports, with examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import dvs
from workload.limits import WORDS, Limits
from workload.operators import OPERATORS

PAGE = Path("docs/adapters.md").read_text(encoding="utf-8")

OF_ADAPTERS = (
    "engines.",
    "workload.limits",
    "workload.sql",
    "workload.schema",
    "campaign.pytest_plugin.assertion",
)
"""Where the names are defined that an adapter needs."""


def rows(heading: str) -> Iterator[tuple[str, str, str]]:
    """The cells of the table below a heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        name, what, example = line.strip("|").split(" | ")
        yield name.strip(" `"), what.strip(), example.strip(" `")


LIMITS = list(rows("field of `Limits`"))
WORD_ROWS = list(rows("word of `Limits.only`"))
NAMES = list(rows("name"))


def test_every_field_of_limits_is_listed() -> None:
    assert {name for name, _, _ in LIMITS} == {each.name for each in fields(Limits)}


def test_every_word_is_listed() -> None:
    listed = {word for name, _, _ in WORD_ROWS for word in re.findall(r"[^`,]+", name) if word.strip()}
    assert {word for word in WORDS if word not in {str(each) for each in OPERATORS}} <= listed


@pytest.mark.parametrize("example", [example for _, _, example in (*LIMITS, *WORD_ROWS)])
def test_an_example_of_limits_is_right(example: str) -> None:
    assert isinstance(eval(example, vars(dvs) | {name: getattr(dvs, name) for name in dvs.__all__}), Limits)  # noqa: S307


def test_the_names_are_those_that_are_exported() -> None:
    listed = {name for name, _, _ in NAMES}
    assert listed <= set(dvs.__all__)
    needed = {name for module, of in dvs.MODULES.items() if module.startswith(OF_ADAPTERS) for name in of}
    assert needed <= listed
    assert all(what and example for _, what, example in NAMES)
