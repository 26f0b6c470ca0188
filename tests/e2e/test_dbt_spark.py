"""`dvs dbt` on a local session of Spark: append, merge by key, and partitions that are overwritten."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from campaign.dbt.differences import Equal, RefreshDifference
from campaign.dbt.facts import opened
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import Target, dbt_process
from campaign.dbt.run import Runner
from campaign.dbt.search import DbtResult, Limits, search
from campaign.dbt.shown import decision_of, document
from campaign.dbt.trials import Put, Round, Trial
from dynamic_tables.session.launch import fetch_jars
from reports.dbt import reproduce_sh
from reports.documents import DbtDocument
from workload.outcomes.decision import Decision

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "dbt" / "bin" / "python"
PROJECT = ROOT / "examples" / "dbt_spark"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.spark,
    pytest.mark.own_jvm,
    pytest.mark.skipif(not PYTHON.exists(), reason="no dbt: `python setup/for_tests.py dbt` installs it"),
]

KINDS = (ChangeKind.APPENDED_LATE, ChangeKind.TWO_RUNS)


def with_jars(patched: pytest.MonkeyPatch) -> None:
    """Names Delta's jars as the profile of the example asks for."""
    patched.setenv("DELTA_JARS", ",".join(map(str, fetch_jars(os.environ))))


@pytest.fixture(scope="module")
def searched() -> DbtResult:
    """The example, searched with one trial of each kind."""
    with pytest.MonkeyPatch.context() as patched:
        with_jars(patched)
        limits = Limits(seed=1, trials=1, rounds=1, budget=3600.0, workers=1)
        target = Target(PROJECT, str(PYTHON), select=("orders_appended", "orders_merged", "daily_totals"))
        result = search(target, limits, schema=str(PROJECT / "schema.sql"), kinds=KINDS)
    assert not result.broken
    assert decision_of(result) is Decision.PASSED
    return result


@pytest.fixture(scope="module")
def found(searched: DbtResult) -> DbtDocument:
    """The document of the example."""
    return document(searched, str(PROJECT), 1)


@pytest.mark.parametrize(
    ("model", "equal", "differs"),
    [
        ("orders_appended", ["two_runs"], ["appended_late"]),
        ("orders_merged", ["two_runs"], ["appended_late"]),
        ("daily_totals", [], ["appended_late"]),
    ],
)
def test_the_table_is_that_of_duckdb(
    found: DbtDocument, model: str, equal: list[str], differs: list[str]
) -> None:
    verdicts = {kind: cell["verdict"] for kind, cell in found["models"][model]["changes"].items()}
    assert {kind: verdicts[kind] for kind in equal} == dict.fromkeys(equal, "equal")
    assert {kind: verdicts[kind] for kind in differs} == dict.fromkeys(differs, "differs")


def test_a_script_shows_a_difference_with_dbt_only(
    searched: DbtResult, found: DbtDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduction = found["models"]["orders_appended"]["changes"]["appended_late"]["reproduction"]
    assert reproduction is not None
    script = tmp_path / "reproduce.sh"
    words = ("orders_appended", "appended_late", reproduction, str(PROJECT), searched.profile)
    script.write_text(reproduce_sh(*words))
    with_jars(monkeypatch)
    monkeypatch.setenv("PYTHON", str(PYTHON))
    ran = subprocess.run(["bash", str(script)], capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "missing after the incremental runs:" in ran.stdout


def test_both_runs_succeed_where_no_file_is_locked(found: DbtDocument) -> None:
    assert found["models"]["orders_merged"]["changes"]["two_runs"]["reason"] == "both runs succeeded"


def test_a_lost_update_is_shown_with_both_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A materialization that reads its table and writes it in two statements pins nothing between them."""
    with_jars(monkeypatch)
    with dbt_process(Target(PROJECT, str(PYTHON), select=("orders_rewritten",))) as dbt:
        project = opened(dbt, PROJECT / "schema.sql", None, {})
        (source,), (model,) = project.sources, project.selected
        rows = [Put(source, n, (str(n), "1.1", f"TIMESTAMP '2024-02-1{n} 00:00:00'")) for n in range(3)]
        found = {}
        for statement in (1, 2):
            waiting = Round((rows[1],), statement, beside=(rows[2],))
            trial = Trial(ChangeKind.TWO_RUNS, source, (rows[0],), (waiting,))
            found[statement] = Runner(dbt, project, {}).run(trial, [model])[model]
    assert found[1] == Equal("both runs succeeded")
    lost = found[2]
    assert isinstance(lost, RefreshDifference)
    assert lost.error == "both runs succeeded"
    assert [row[0] for row in lost.missing] == ["2"]
