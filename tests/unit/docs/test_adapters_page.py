"""The page on adapters shows the toy as it is, which tests/e2e/test_pytest_plugin.py runs, and SqlAdapter."""

from __future__ import annotations

import re
import sqlite3
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import workload.query
import workload.sql
from campaign.judging.lane import Lane
from engines import Adapter
from engines.asking import limits_of
from engines.engine import Engine
from engines.registry import ADAPTERS
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from workload.limits import Limits
from workload.outcomes.results import OutcomeClass

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def between(marker: str) -> str:
    match = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)```\n<!-- /{marker} -->", PAGE, re.DOTALL)
    assert match is not None, marker
    return match[1]


def test_the_toy_is_the_example() -> None:
    toy = (ROOT / "examples" / "toy_engine" / "toy.py").read_text(encoding="utf-8")
    assert between("toy") == toy[toy.index("class Toy") : toy.index("\n\nclass MendedToy")]


def test_the_adapter_of_an_engine_with_sql_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite takes the place of Turso, which need not be installed; views are read anew."""
    connect = partial(sqlite3.connect, ":memory:", isolation_level=None)
    turso = Mock(connect=lambda *_, **__: connect(), Error=sqlite3.Error)
    monkeypatch.setitem(sys.modules, "turso", turso)
    names: dict[str, Any] = {}
    exec(between("sql").replace("CREATE MATERIALIZED VIEW", "CREATE VIEW"), names)  # noqa: S102  # our own text
    lane = Lane(engine=Engine.of(names["Mine"]))
    profile = fitted(SMOKE, limits_of(names["Mine"], names["Mine"].capabilities))
    outcomes = [lane.judge(scenario_at(1, profile, index)) for index in range(6)]
    assert {each.outcome for each in outcomes} == {OutcomeClass.PASSED}
    assert sum(each.refreshes for each in outcomes) > 20


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
