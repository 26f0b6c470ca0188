"""`dvs dbt` on a local session of Spark: append, merge by key, and partitions that are overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import Target
from campaign.dbt.search import Limits, search
from campaign.dbt.shown import decision_of, document
from dynamic_tables.session.launch import fetch_jars
from reports.documents import DbtDocument
from workload.outcomes.decision import Decision

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "dbt" / "bin" / "python"
PROJECT = ROOT / "examples" / "dbt_spark"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.own_jvm,
    pytest.mark.skipif(not PYTHON.exists(), reason="no dbt: `python setup/for_tests.py` installs it"),
]

KINDS = (ChangeKind.APPENDED, ChangeKind.APPENDED_LATE, ChangeKind.TWO_RUNS)


@pytest.fixture(scope="module")
def found() -> DbtDocument:
    """The example, searched with one trial of each kind."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DELTA_JARS", ",".join(map(str, fetch_jars(os.environ))))
        limits = Limits(seed=1, trials=1, rounds=1, budget=3600.0, workers=1)
        target = Target(PROJECT, str(PYTHON))
        result = search(target, limits, schema=str(PROJECT / "schema.sql"), kinds=KINDS)
    assert not result.broken
    assert decision_of(result) is Decision.PASSED
    return document(result, str(PROJECT), 1)


@pytest.mark.parametrize(
    ("model", "equal", "differs"),
    [
        ("orders_appended", ["appended", "two_runs"], ["appended_late"]),
        ("orders_merged", ["appended", "two_runs"], ["appended_late"]),
        ("daily_totals", [], ["appended_late"]),
    ],
)
def test_the_table_is_that_of_duckdb(
    found: DbtDocument, model: str, equal: list[str], differs: list[str]
) -> None:
    verdicts = {kind: cell["verdict"] for kind, cell in found["models"][model]["changes"].items()}
    assert {kind: verdicts[kind] for kind in equal} == dict.fromkeys(equal, "equal")
    assert {kind: verdicts[kind] for kind in differs} == dict.fromkeys(differs, "differs")


def test_both_runs_succeed_where_no_file_is_locked(found: DbtDocument) -> None:
    assert found["models"]["orders_merged"]["changes"]["two_runs"]["reason"] == "both runs succeeded"
