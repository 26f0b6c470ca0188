"""Definitions that somebody else wrote, through the commands: judged, covered, compared, and faults found."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from campaign.cli import main
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.gate.profiles import GATES, over_definitions
from campaign.gate.stage import GatePlan
from campaign.gate.stages import fuzz
from campaign.mutants.hunt import IDLE_AFTER
from campaign.pytest_plugin.scenarios import marked_scenarios
from campaign.runs.campaign import run_campaign
from campaign.runs.definitions import ValuesFrom
from campaign.runs.options import CampaignOptions
from dvs import scenarios_for
from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock
from workload.outcomes.decision import Decision
from workload.outcomes.run_verdict import RunVerdict, run_verdict
from workload.query import Verbatim
from workload.scenario import Scenario
from workload.wellformed import check_scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples" / "your_own")


def dvs(*words: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def few(tmp_path: Path) -> str:
    """A folder with three of the twelve dynamic tables of the example: all take four times as long."""
    folder = tmp_path / "few"
    folder.mkdir()
    shutil.copy(Path(EXAMPLE) / "schema.sql", folder)
    statements = (Path(EXAMPLE) / "tables.sql").read_text(encoding="utf-8").split("\n\n")
    kept = ("VIEW priced", "TABLE by_region", "TABLE last_sale", "TABLE unsold")
    chosen = [
        each
        for each in statements
        if any(f"CREATE {name} " in each or f"DYNAMIC {name} " in each for name in kept)
    ]
    assert len(chosen) == len(kept)
    (folder / "tables.sql").write_text("\n\n".join(chosen), encoding="utf-8")
    return str(folder)


@pytest.mark.nightly
def test_the_example_passes_and_its_texts_are_covered() -> None:
    summary = run_campaign(CampaignOptions(definitions=EXAMPLE, scenarios=48))
    assert run_verdict(summary) is RunVerdict.PASSED
    assert len(summary.definitions_judged) == 12
    for judged in summary.definitions_judged.values():
        assert judged.mode == "INCREMENTAL"
        assert judged.voices == ("duckdb",)
        assert judged.coverage > 0.8, judged.missing


def test_a_text_that_is_not_covered_or_not_judged_is_no_pass(tmp_path: Path) -> None:
    never = "CREATE DYNAMIC TABLE never AS SELECT a FROM t WHERE a > 5 AND a < 5;"
    (tmp_path / "a.sql").write_text(f"CREATE TABLE t (a INT);\n{never}")
    covered = CampaignOptions(definitions=str(tmp_path), scenarios=24, profile="quick", floor=95)
    summary = run_campaign(covered)
    assert run_verdict(summary) is RunVerdict.FLOORS_UNMET
    assert summary.coverage.unmet.keys() == {"goals: never"}
    assert "a row comes" in summary.definitions_judged["never"].missing
    (tmp_path / "b.sql").write_text("CREATE DYNAMIC TABLE odd AS SELECT no_such_function(a) AS b FROM t;")
    summary = run_campaign(CampaignOptions(definitions=str(tmp_path), scenarios=8, profile="quick"))
    assert run_verdict(summary) is RunVerdict.FLOORS_UNMET
    assert summary.coverage.unmet.keys() == {"judged: odd"}
    assert "no_such_function" in summary.definitions_judged["odd"].reason


def test_a_text_with_several_right_answers_is_undecided_not_wrong(tmp_path: Path) -> None:
    text = "CREATE DYNAMIC TABLE few AS SELECT a, b FROM t ORDER BY a LIMIT 2;"
    (tmp_path / "a.sql").write_text(f"CREATE TABLE t (a INT, b STRING);\n{text}")
    summary = run_campaign(CampaignOptions(definitions=str(tmp_path), scenarios=30))
    assert run_verdict(summary) is RunVerdict.GENERATOR_INVALID
    assert summary.outcomes["product_failure"] == 0
    assert "an order in its text leaves rows equal" in summary.failures[0].outcome.reason


@pytest.mark.nightly
def test_a_planted_fault_is_found_shrunk_within_the_promises_and_replayed(few: str, tmp_path: Path) -> None:
    fault = ("--fault", "join-both-at-t0")
    out = ("--out", str(tmp_path))
    # One failure of those found is shrunk: it takes as long as all the rest.
    counts = ("--scenarios", "12", "--shrink", "1")
    found, _, _ = dvs("fuzz", "--definitions", few, *counts, "--json", *fault, *out)
    assert found == ExitCode.FAILED.value
    folder = min((tmp_path / "failures").iterdir())
    status, shown, _ = dvs("replay", str(folder), *fault)
    assert status == ExitCode.FAILED.value, shown
    assert dvs("replay", str(folder))[0] == ExitCode.OK.value
    page = (tmp_path / "report.html").read_text()
    assert "Your definitions" in page
    assert "QUALIFY ROW_NUMBER()" in page


CLOCKED = """
CREATE TABLE e (id INT PRIMARY KEY, at TIMESTAMP NOT NULL, n INT);
CREATE DYNAMIC TABLE fresh AS SELECT id, n FROM e WHERE at >= current_timestamp() - INTERVAL 2 DAYS;
CREATE DYNAMIC TABLE days FROZEN_WHERE = 'day < current_date() - 1' AS
  SELECT CAST(at AS DATE) AS day, SUM(n) AS n FROM e GROUP BY CAST(at AS DATE);
CREATE DYNAMIC TABLE totals AS SELECT COUNT(*) AS days, SUM(n) AS n FROM days;
"""


@pytest.mark.nightly
def test_time_and_frozen_parts_are_judged_and_a_fault_in_either_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(CLOCKED)
    options = CampaignOptions(definitions=str(tmp_path), scenarios=12)
    summary = run_campaign(options)
    assert run_verdict(summary) is RunVerdict.PASSED
    assert summary.definitions_judged["fresh"].coverage > 0.8, summary.definitions_judged["fresh"].missing
    for fault in ("boundary-row-kept", "late-changes-applied"):
        wrong = run_campaign(replace(options, faults=(fault,), shrink=0))
        assert run_verdict(wrong) is RunVerdict.PRODUCT_FAILURE, fault


@pytest.mark.nightly
def test_two_configurations_are_compared_over_definitions(few: str) -> None:
    over = ("--definitions", few, "--scenarios", "12")
    assert dvs("compare", "rules", "rules+no-validations", *over)[0] == ExitCode.OK.value
    assert dvs("compare", "rules", "rules+fault=join-both-at-t0", *over)[0] == ExitCode.FAILED.value


@pytest.mark.nightly
def test_faults_in_parts_that_the_definitions_do_not_use_are_idle(few: str) -> None:
    faults = ("--fault", "join-both-at-t0", "--fault", "explode-forgets-pads")
    status, shown, _ = dvs("mutants", "--definitions", few, *faults, "--attempts", "0", "--json")
    scores: dict[str, Any] = {score["fault"]: score for score in json.loads(shown)["faults"]}
    assert scores["join-both-at-t0"]["verdict"] == "killed"
    assert scores["explode-forgets-pads"]["verdict"] == "idle"
    assert scores["explode-forgets-pads"]["scenarios"] == IDLE_AFTER
    assert status == ExitCode.OK.value
    alone = dvs("mutants", "--definitions", few, "--fault", "explode-forgets-pads", "--attempts", "0")
    assert alone[0] == ExitCode.UNKNOWN.value, "nothing was hunted that could show, which is no pass"


def test_an_unreadable_definition_is_explained_too(tmp_path: Path) -> None:
    text = "CREATE DYNAMIC TABLE odd AS SELECT no_such_function(a) AS b FROM t;"
    fine = "CREATE DYNAMIC TABLE fine AS SELECT a FROM t;"
    (tmp_path / "a.sql").write_text(f"CREATE TABLE t (a INT);\n{text}\n{fine}")
    status, shown, note = dvs("explain", "--definitions", str(tmp_path), "--no-spark")
    assert status == ExitCode.OK.value
    assert "odd: FULL" in shown
    assert "fine: INCREMENTAL" in shown
    assert "note: Spark was not asked" in note


def quotients(tmp_path: Path) -> str:
    """A folder with a quotient of decimals, whose type Spark alone knows."""
    table = "CREATE TABLE t (a DECIMAL(7,2), b DECIMAL(7,2));"
    (tmp_path / "a.sql").write_text(
        f"{table}\nCREATE DYNAMIC TABLE q AS SELECT a / b AS c FROM t WHERE b > 0;"
    )
    return str(tmp_path)


@pytest.mark.spark
def test_spark_is_asked_for_types_that_the_engine_does_not_know(tmp_path: Path) -> None:
    status, shown, note = dvs("explain", "--definitions", quotients(tmp_path))
    assert (status, note) == (ExitCode.OK.value, "")
    assert "q: INCREMENTAL" in shown


def test_definitions_are_explained_where_spark_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dynamic_tables.store.names.texts", None)
    monkeypatch.setattr("dynamic_tables.session.open_session", lambda: None)
    status, shown, note = dvs("explain", "--definitions", quotients(tmp_path))
    assert status == ExitCode.OK.value
    assert "q: FULL" in shown
    assert "note: Spark was not asked" in note


def test_a_text_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(
        "CREATE TABLE t (a INT);\n\nCREATE DYNAMIC TABLE x AS SELECT COUNT(* FROM t;\n"
    )
    for command in (("fuzz",), ("mutants",), ("compare", "rules", "rules"), ("explain",)):
        status, _, error = dvs(*command, "--definitions", str(tmp_path))
        assert status == ExitCode.MISUSE.value, command
        assert "a.sql, line 3: the statement cannot be read" in error


def test_what_is_left_out_is_said_and_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(
        "CREATE TABLE t (a INT);\nCREATE DYNAMIC TABLE fine AS SELECT a FROM t;\n"
        "CREATE DYNAMIC TABLE odd AS SELECT no_such_function(a) AS b FROM t;\n"
    )
    over, reason = ("--definitions", str(tmp_path)), "a.sql, line 3: unsupported: function no_such_function"
    status, shown, _ = dvs("compare", "rules", "rules", *over, "--scenarios", "1")
    assert (status, reason in shown) == (ExitCode.UNKNOWN.value, True), shown
    fault = ("--fault", "join-both-at-t0", "--attempts", "0", "--scenarios", "1")
    assert f"note: no fault can show in odd: {tmp_path}/{reason}" in dvs("mutants", *over, *fault)[2]
    with pytest.warns(UserWarning, match="odd is in no scenario"):
        scenarios_for(tmp_path)
    with (tmp_path / "a.sql").open("a") as script:
        script.write("CREATE DYNAMIC TABLE astray AS SELECT a FROM missing;")
    with pytest.raises(CampaignError, match=r"a\.sql, line 4: astray reads missing"):
        scenarios_for(tmp_path)
    status, shown, wrong = dvs("explain", *over, "--no-spark")
    assert status == ExitCode.MISUSE.value
    assert [line.partition(":")[0] for line in shown.splitlines() if line[0] != " "] == ["fine", "odd"]
    assert "not explained: astray: " in wrong


@pytest.mark.nightly
@pytest.mark.spark
def test_on_delta_spark_says_what_the_text_means_and_duckdb_agrees(few: str) -> None:
    summary = run_campaign(
        CampaignOptions(tier="delta", definitions=few, profile="smoke", scenarios=1, workers=1)
    )
    assert summary.outcomes["passed"] == 1
    judged = [each for each in summary.definitions_judged.values() if each.scenarios]
    assert len(judged) == 3
    assert {each.voices for each in judged} == {("spark", "duckdb")}


def test_a_gate_has_a_campaign_over_definitions_on_each_tier(tmp_path: Path) -> None:
    nightly = over_definitions(GATES["nightly"], EXAMPLE)
    more = nightly.campaigns[len(GATES["nightly"].campaigns) :]
    assert [each.tier for each in more] == ["rules", "spark", "spark-stock", "delta"]
    plan = GatePlan(gate=nightly, seed=1, workers=2, corpus=tmp_path, out=tmp_path / "out", faults=())
    stage = fuzz(plan, replace(more[0], scenarios=8, budget=300.0))
    assert (stage.name, stage.verdict) == ("your definitions", Decision.PASSED), stage.message
    gone = fuzz(plan, replace(more[0], definitions=str(tmp_path / "none")))
    assert gone.verdict is Decision.UNDECIDED
    assert "no such file or folder" in gone.message


def test_the_marker_of_the_pytest_plugin_takes_definitions() -> None:
    drawn = list(marked_scenarios({"definitions": EXAMPLE, "scenarios": 3}, None, 1, "10s"))
    assert len(drawn) == 3
    assert all(isinstance(table.query, Verbatim) for each in drawn for table in each.dynamic_tables)
    for each in drawn:
        check_scenario(each)
    with pytest.raises(pytest.UsageError, match="no such file or folder"):
        marked_scenarios({"definitions": "none", "scenarios": 3}, None, 1, "10s")


def test_hypothesis_draws_scenarios_over_definitions() -> None:
    strategy = scenarios_for(EXAMPLE)

    @settings(max_examples=20, database=None)
    @given(strategy)
    def drawn(scenario: Scenario) -> None:
        check_scenario(scenario)
        assert scenario.dynamic_tables

    drawn()


@pytest.mark.nightly
@pytest.mark.spark
def test_the_folder_of_an_account_stands_for_its_script(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    account = Account.open(str(folder), spark, WallClock())
    account.create_base_table("sales", [("region", "STRING"), ("amount", "DECIMAL(10,2)"), ("order", "INT")])
    account.execute("INSERT INTO sales VALUES ('geheim', 10, 1)")
    account.create_view("big", "SELECT * FROM sales WHERE amount > 5")
    totals = "SELECT region, SUM(amount) AS total FROM big GROUP BY region"
    account.create_dynamic_table("totals", totals, target_lag=300_000_000)
    account.create_dynamic_table("parts", "SELECT region FROM totals", refresh_mode="FULL")
    assert account.script() == (
        "CREATE TABLE `sales` (`region` STRING, `amount` DECIMAL(10,2), `order` INT);\n"
        "CREATE VIEW `big` AS\nSELECT * FROM sales WHERE amount > 5;\n"
        f"CREATE DYNAMIC TABLE `totals` TARGET_LAG = '300 seconds' REFRESH_MODE = AUTO AS\n{totals};\n"
        "CREATE DYNAMIC TABLE `parts` TARGET_LAG = DOWNSTREAM REFRESH_MODE = FULL AS\n"
        "SELECT region FROM totals;\n"
    )
    code, out, error = dvs(
        "fuzz", "--definitions", str(folder), "--scenarios", "12", "--json", "--floor", "0"
    )
    assert code == ExitCode.OK, error
    judged = json.loads(out.strip().splitlines()[-1])["definitions_judged"]
    assert {name: each["mode"] for name, each in judged.items()} == {"totals": "INCREMENTAL", "parts": "FULL"}
    assert "geheim" not in out


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An account with a table of which most rows have one region, and half of the amounts are NULL.

    Made once: who samples from it writes nothing there.
    """
    folder = tmp_path_factory.mktemp("sampled") / "shop"
    account = Account.open(str(folder), spark, WallClock())
    account.create_base_table("sales", [("region", "STRING"), ("amount", "INT"), ("day", "DATE")])
    rows = ", ".join(
        f"('geheim{n % 3 if n % 10 == 0 else ''}', {'NULL' if n % 2 else n}, DATE '1987-06-05')"
        for n in range(60)
    )
    account.execute(f"INSERT INTO sales VALUES {rows}")
    account.create_dynamic_table("days", "SELECT day, region, SUM(amount) AS a FROM sales GROUP BY 1, 2")
    return folder


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("shown", [False, True])
def test_sampled_values_are_not_shown_unless_it_is_asked_for(shop: Path, tmp_path: Path, shown: bool) -> None:
    words = ("--definitions", str(shop), "--values", "sample", "--scenarios", "8", "--floor", "0")
    out = ("--out", str(tmp_path / "out"), "--fault", "empty-group-kept", "--shrink", "1", "--json")
    code, printed, error = dvs("fuzz", *words, *out, *(["--show-values"] if shown else []))
    assert code == ExitCode.FAILED, error
    files = [file.read_text(errors="replace") for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert any("000" in file.name for file in (tmp_path / "out" / "failures").iterdir())
    # Not the year alone: those digits stand in some durations, too.
    for secret in ("geheim", "1987-06"):
        assert any(secret in text for text in (printed, error, *files)) is shown


@pytest.mark.nightly
@pytest.mark.spark
def test_whoever_takes_definitions_takes_sampled_values(shop: Path) -> None:
    sampled = ("--definitions", str(shop), "--values", "sample")
    code, _, error = dvs("compare", "rules", "rules+no-validations", *sampled, "--scenarios", "2")
    assert code == ExitCode.OK, error
    fault = ("--fault", "empty-group-kept", "--scenarios", "20", "--attempts", "0")
    code, _, error = dvs("mutants", *sampled, *fault)
    assert code == ExitCode.OK, error
    marker = {"definitions": str(shop), "scenarios": 2}
    plain, other = (
        list(marked_scenarios(marker | {"values": values}, None, 1, "10s")) for values in ("random", "sample")
    )
    assert plain != other
    gate = over_definitions(GATES["pr"], str(shop), ValuesFrom.SAMPLE)
    assert gate.campaigns[-1].values is ValuesFrom.SAMPLE


@pytest.mark.parametrize(
    "command", [("fuzz",), ("gate",), ("mutants",), ("compare", "rules", "rules+no-validations")]
)
def test_values_are_sampled_from_an_account_alone(command: tuple[str, ...], tmp_path: Path) -> None:
    over = (*command, "--definitions", str(tmp_path), "--values", "sample")
    code, _, error = dvs(*command, "--values", "sample")
    assert (code, "name it by --definitions" in error) == (ExitCode.MISUSE, True)
    if command != ("gate",):
        code, _, error = dvs(*over)
        assert (code, "give the folder of an account" in error) == (ExitCode.MISUSE, True)


def test_values_are_shown_only_where_they_are_sampled() -> None:
    code, _, error = dvs("fuzz", "--definitions", EXAMPLE, "--show-values")
    assert (code, "add --values sample" in error) == (ExitCode.MISUSE, True)
    with pytest.raises(pytest.UsageError, match="name it by --definitions"):
        marked_scenarios({"values": "sample"}, None, 1, "10s")
