"""The page on adapters shows the toy as it is, and the message as it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from campaign.adapters import Adapter
from campaign.adapters.registry import ADAPTERS
from generators.limits import Limits

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def between(marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)```\n<!-- /{marker} -->", PAGE, re.DOTALL)
    assert found is not None, marker
    return found[1]


def test_the_toy_is_the_example() -> None:
    toy = (ROOT / "examples" / "toy_engine" / "toy.py").read_text(encoding="utf-8")
    assert between("toy") == toy[toy.index("class Toy") : toy.index("\n\nclass MendedToy")]


SECTIONS = (
    r"DelayedViewViolated: d\d at data timestamp \d+: oracle equality: the contents are not",
    r"\nCREATE DYNAMIC TABLE d\d .* AS\n  SELECT ",
    r"\nwhat happened:\n  CREATE TABLE r\d ",
    r"\nexpected \(-\) and found \(\+\):\n  ",
    r"\nincremental bug: the engine's full recomputation agrees with the oracle\n",
    r"engine Toy, scenario quick-1-\d+",
)
"""What stands in a failure's message, in order; which scenario fails first is the generator's affair."""


def test_the_failure_is_what_the_example_prints() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_toy", "."]
    said = subprocess.run(
        command, cwd=ROOT / "examples" / "toy_engine", capture_output=True, text=True, check=False
    ).stdout
    lines = [line[1:] for line in said.splitlines() if line.startswith("E ")]
    printed = dedent("\n".join(lines)).replace("campaign.pytest_plugin.assertion.", "")
    for text in (printed, between("failure")):
        assert re.match(".*".join(SECTIONS), text, re.DOTALL), text


@pytest.mark.parametrize("method", sorted(Adapter.__abstractmethods__))
def test_every_method_that_must_be_there_is_named(method: str) -> None:
    assert f"`{method}(" in PAGE


def test_limits_and_adapters_are_named() -> None:
    assert [name for name in Limits.__dataclass_fields__ if f"`{name}`" not in PAGE] == []
    assert all(f"adapter:{name}" in PAGE for name in ADAPTERS if name != "built-in")
