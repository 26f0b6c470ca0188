"""The page on adapters shows the toy as it is. tests/e2e/test_pytest_plugin.py runs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workload.query
import workload.sql
from engines import Adapter
from engines.registry import ADAPTERS
from workload.limits import Limits

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def between(marker: str) -> str:
    match = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)```\n<!-- /{marker} -->", PAGE, re.DOTALL)
    assert match is not None, marker
    return match[1]


def test_the_toy_is_the_example() -> None:
    toy = (ROOT / "examples" / "toy_engine" / "toy.py").read_text(encoding="utf-8")
    assert between("toy") == toy[toy.index("class Toy") : toy.index("\n\nclass MendedToy")]


@pytest.mark.parametrize("method", sorted(Adapter.__abstractmethods__))
def test_every_method_that_must_be_there_is_named(method: str) -> None:
    assert f"`{method}(" in PAGE


def test_what_a_gap_reads_is_named() -> None:
    for module, names in (
        (workload.query, ("Select", "Join", "Call", "walk")),
        (workload.sql, ("render_query",)),
    ):
        assert f"`{module.__name__}`" in PAGE
        for name in names:
            assert hasattr(module, name)
            assert re.search(rf"`{name}\b", PAGE)


def test_limits_and_adapters_are_named() -> None:
    assert [name for name in Limits.__dataclass_fields__ if f"`{name}`" not in PAGE] == []
    assert all(f"adapter:{name}" in PAGE for name in ADAPTERS if name != "built-in")
