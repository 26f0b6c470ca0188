"""Random changes above dynamic tables on Delta: nothing is wrong, and a planted mistake is noticed.

`dvs verify evolution` runs longer stories, and more of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from campaign.cli import main
from campaign.verify import story
from campaign.verify.evolution import FLOOR, NAMES, Evolved, evolve
from campaign.verify.story import Misread
from dynamic_tables.account import Account
from dynamic_tables.definition import View
from tests.depth import examples
from tests.schemas import unlike

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::dynamic_tables.errors.SlowCapture")]


@pytest.mark.nightly
def test_no_change_upstream_makes_a_table_silently_wrong(tmp_path: Path, spark: SparkSession) -> None:
    result = evolve(spark, tmp_path, seeds=[0], steps=examples(2))
    assert result.wrong == []
    assert result.met["INCREMENTAL"] + result.met["REINITIALIZE"], result.met


@pytest.mark.nightly
def test_a_view_that_stays_as_it_was_is_noticed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rightly = Account.create_view

    def early(self: Account, name: str, query: str, *, or_replace: bool = False) -> View:
        return View(name, query) if or_replace else rightly(self, name, query)

    monkeypatch.setattr(Account, "create_view", early)
    monkeypatch.setattr(story, "EVENTS", (story.Story.replace_view, story.Story.insert))
    monkeypatch.setattr(story, "VIEWS", ("SELECT k, b FROM s", "SELECT k, b + 1 AS b FROM s WHERE b > 2"))
    monkeypatch.setattr(story, "QUERIES", {"seen": story.QUERIES["seen"]})
    result = evolve(spark, tmp_path, seeds=[0], steps=8)
    assert result.wrong
    assert "it is not its query" in result.wrong[0].message
    assert any("WHERE b > 2" in told for told in result.wrong[0].told)


@pytest.mark.nightly
def test_blanks_that_are_compared_otherwise_than_spark_does_are_noticed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynamic_tables.define.compared_blanks", lambda *_: None)
    monkeypatch.setattr(story, "TEXTS", ("CHAR(2)",))
    monkeypatch.setattr(story, "EVENTS", (story.Story.insert,))
    monkeypatch.setattr(story, "QUERIES", {name: story.QUERIES[name] for name in ("pivot", "blanks")})
    result = evolve(spark, tmp_path, seeds=[0], steps=1)
    assert {wrong.message.split(":")[0] for wrong in result.wrong} == {"pivot", "blanks"}


def test_floors_and_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = Evolved(1, {"insert": 3}, []), Evolved(9, {"insert": FLOOR - 1, "refused": 1}, [])
    assert (short.unmet, "insert" in long.unmet, "drop_column" in long.unmet) == ([], False, True)
    assert Evolved(9, dict.fromkeys(NAMES, FLOOR), []).unmet == []
    wrong = Evolved(1, {"insert": 1}, [Misread(4, "star: FULL, and it is not its query", ("INSERT ..",))])
    results = {3: long, 1: wrong, 0: short}
    for status, result in results.items():
        monkeypatch.setattr("campaign.verify.evolution.evolve", lambda *_, made=result, **__: made)
        shown = CliRunner().invoke(main, ["verify", "evolution"])
        assert shown.exit_code == status, shown.output
    monkeypatch.setattr("campaign.verify.evolution.evolve", lambda *_, **__: wrong)
    shown = CliRunner().invoke(main, ["verify", "evolution"])
    assert "WRONG at seed 4: star: FULL, and it is not its query\n    INSERT .." in shown.output
    printed = CliRunner().invoke(main, ["verify", "evolution", "--json"]).stdout
    assert unlike("verify-evolution", printed) == ""
    data = json.loads(printed)
    assert data["wrong"][0]["story"] == ["INSERT .."]
