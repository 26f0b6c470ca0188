"""`dvs gate` opens, shuts, and says why."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from campaign.cli import gate as gate_command, main
from campaign.cli.gate import usual_seed
from campaign.exit_codes import ExitCode
from campaign.failures.ignore import IgnoreRule, IgnoreRules
from campaign.gate.profiles import GATES, GateCampaign
from campaign.gate.stage import GatePlan, Stage
from campaign.gate.stages import corpus, faults, known, no_campaign, replay_case, stages_of
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Pool
from campaign.mutants import hunt as hunting
from campaign.runs.lock import locked
from reports.junit import CaseVerdict
from tests.unit.reports import test_groups as groups
from workload.outcomes.decision import Decision
from workload.outcomes.results import Outcome, OutcomeClass

SEED = 3
"""A seed whose first scenarios meet every floor, however few of them run."""

FEW = GateCampaign(tier="rules", profile="smoke", scenarios=2, budget=600.0)

SWIFT = (
    "--seed",
    str(SEED),
    "--fault-budget",
    "10m",
    "--workers",
    "1",
    "--fault",
    "update-becomes-insert",
)

NO_FAULT = ("--fault-budget", "0.000001s")
"""So short that no fault is hunted, on the fastest machine either."""


def gate(out: Path, *arguments: str, **changes: Any) -> Result:
    """Runs a gate of two scenarios and one fault; `changes`: of its profile."""
    swift = {**GATES, "pr": replace(GATES["pr"], **{"campaigns": (FEW,), **changes})}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gate_command, "GATES", swift)
        return CliRunner().invoke(main, ["gate", "--out", str(out), *SWIFT, *arguments])


def written(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "gate.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gate")
    result = gate(out)
    assert result.exit_code == ExitCode.OK, result.output
    assert "1 of 1 killed" in " ".join(result.output.split())
    return out


def test_an_open_gate(opened: Path) -> None:
    suites = ET.parse(opened / "junit.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["kept scenarios", "smoke campaign", "core faults"]
    assert suites.get("failures") == suites.get("errors") == "0"
    assert int(suites[0].get("tests", "0")) == len(list(Path("corpus").glob("**/*.json"))) > 0


def test_the_gate_as_data(opened: Path) -> None:
    data = written(opened)
    assert (data["verdict"], data["exit_status"], data["profile"], data["seed"]) == ("open", 0, "pr", SEED)
    assert [stage["verdict"] for stage in data["stages"]] == ["passed"] * 3
    assert data["faults"] == {"update-becomes-insert": "killed"}
    (campaign,) = data["campaigns"]
    assert campaign["scenarios"] > 0
    assert (opened / "rules-smoke" / "report.html").exists()


@pytest.mark.nightly
def test_a_baseline_that_was_faster_leaves_the_gate_undecided(opened: Path, tmp_path: Path) -> None:
    faster = written(opened)
    faster["campaigns"][0]["seconds"] /= 100
    (tmp_path / "gate.json").write_text(json.dumps(faster), encoding="utf-8")
    # The campaign has ended, and is not run again.
    shutil.copytree(opened, tmp_path / "out")
    result = gate(tmp_path / "out", "--resume", "--baseline", str(tmp_path))
    assert result.exit_code == ExitCode.UNKNOWN, result.output
    assert written(tmp_path / "out")["stages"][-1]["message"].startswith("rules, smoke: throughput lost")
    good = gate(tmp_path / "out", "--resume", "--baseline", str(opened), "--slowdown", "1")
    assert good.exit_code == ExitCode.OK, good.output
    assert written(tmp_path / "out")["stages"][-1]["message"] == (
        "nothing got worse (1 of 1 campaigns compared)"
    )


def test_ignore_rules_reach_the_campaigns(tmp_path: Path) -> None:
    rules = tmp_path / "known.toml"
    rules.write_text(
        '[[ignore]]\nissue = "bugs/9"\nexpires = 2999-01-01\nfingerprint = "00000000"\n', "utf-8"
    )
    assert gate(tmp_path / "gate", "--ignore", str(rules)).exit_code == ExitCode.OK
    (message,) = [s["message"] for s in written(tmp_path / "gate")["stages"] if s["name"] == "known failures"]
    assert message == "0 ignored, 1 rule: covered nothing: bugs/9: fingerprint 00000000"
    missing = gate(tmp_path / "other", "--ignore", str(tmp_path / "nowhere.toml"))
    assert missing.exit_code == ExitCode.MISUSE
    assert "no ignore file at" in missing.stderr
    assert not (tmp_path / "other").exists()


def test_a_rule_that_one_campaign_used_is_used() -> None:
    rules = IgnoreRules((IgnoreRule(issue="bugs/7", expires=date(2999, 1, 1), operator="<b>"),))
    grouped = groups.grouped("bugs/7")
    counted = replace(grouped, outcomes={**grouped.outcomes, "ignored": 4})
    clean = replace(counted, outcomes={"ignored": 0}, groups=())
    stages = [Stage("one", Decision.PASSED, "", (), summary=summary) for summary in (counted, clean)]
    assert known(rules, stages).message.startswith("4 ignored, 1 rule: covered failures of 2 different kinds")
    assert known(rules, stages[1:]).message.startswith("0 ignored, 1 rule: covered nothing: bugs/7")


def test_a_fault_that_stays_alive_shuts_the_gate_and_says_where_to_look(tmp_path: Path) -> None:
    # A LIMIT 0 is drawn once in hundreds of scenarios.
    result = gate(tmp_path, "--fault", "limit-zero-is-all", fault_scenarios=1, campaigns=())
    assert result.exit_code == ExitCode.FAILED, result.output
    assert "alive after 1 scenario: limit-zero-is-all" in in_one_line(result)
    assert written(tmp_path)["verdict"] == "shut"
    (failure,) = failures(tmp_path)
    assert failure.get("message") == "not found in 1 scenario"
    assert "the fault: " in str(failure.text)
    assert f"dvs mutants --fault limit-zero-is-all --seed {SEED} --scenarios 1" in str(failure.text)


def test_what_the_time_cut_short_is_undecided_and_no_failure(tmp_path: Path) -> None:
    result = gate(tmp_path, "--budget", "0.000001s", *NO_FAULT)
    assert result.exit_code == ExitCode.UNKNOWN, result.output
    shown = in_one_line(result)
    assert "nothing ran; 0 of 2 scenarios, time over" in shown
    assert "hunted in 0 scenarios of 500, time over: update-becomes-insert" in shown
    assert written(tmp_path)["faults"] == {"update-becomes-insert": "undecided"}
    assert failures(tmp_path) == []
    suites = {suite.get("name"): suite for suite in ET.parse(tmp_path / "junit.xml").getroot()}
    assert [case.get("name") for case in suites["core faults"]] == ["core faults", "update-becomes-insert"]
    assert [case[0].tag for case in suites["core faults"]] == ["error", "skipped"]
    assert suites["core faults"][1][0].get("message") == "hunted in 0 scenarios of 500, time over"
    page = (tmp_path / "gate.html").read_text(encoding="utf-8")
    assert "The gate is undecided" in page
    assert "hunted in 0 scenarios of 500, time over" in page


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_without_kept_scenarios_nothing_was_replayed(folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    plan = plan_of(tmp_path, corpus=tmp_path / folder)
    stage = corpus(plan)
    assert stage.verdict is Decision.UNDECIDED
    assert str(tmp_path / folder) in stage.message
    assert ("so nothing was replayed" in stage.message) is (folder == "empty")


def test_a_kept_scenario_that_could_not_be_judged_is_no_failure(tmp_path: Path) -> None:
    class Down:
        def judge(self, scenario: Any) -> Outcome:
            return Outcome(
                scenario="s", outcome=OutcomeClass.INFRASTRUCTURE_FAILURE, reason="stopped after 300 s"
            )

    case = replay_case(Down(), Path("corpus/statement-without-effect.json"), "kept")  # type: ignore[arg-type]
    assert (case.verdict, case.message) == (
        CaseVerdict.SKIPPED,
        "infrastructure_failure: stopped after 300 s",
    )
    assert case.details == "dvs replay corpus/statement-without-effect.json"


def test_a_gate_without_a_campaign_is_undecided(tmp_path: Path) -> None:
    names = [name for name, _ in stages_of(plan_of(tmp_path, campaigns=()), [])]
    assert names == ["kept scenarios", "campaigns", "core faults"]
    assert no_campaign().verdict is Decision.UNDECIDED
    assert "no campaign ran" in no_campaign().message


def plan_of(folder: Path, corpus: Path = Path("corpus"), **changes: Any) -> GatePlan:
    gate = replace(GATES["pr"], **changes)
    return GatePlan(gate=gate, seed=1, workers=1, corpus=corpus, out=folder, faults=())


def in_one_line(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def failures(out: Path) -> list[ET.Element]:
    return list(ET.parse(out / "junit.xml").getroot().iter("failure"))


def test_a_kept_scenario_that_no_longer_reads_is_a_failure_by_name(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "old.json").write_text("{}", encoding="utf-8")
    (corpus / "good.json").write_bytes(Path("corpus/statement-without-effect.json").read_bytes())
    result = gate(tmp_path / "out", "--corpus", str(corpus), *NO_FAULT, campaigns=())
    assert result.exit_code == ExitCode.FAILED
    assert "Traceback" not in result.output
    cases = {case["name"]: case for case in written(tmp_path / "out")["stages"][0]["cases"]}
    assert cases["good.json"]["verdict"] == "passed"
    assert cases["old.json"]["verdict"] == "failed"
    assert "cannot be read" in cases["old.json"]["message"]


def test_a_baseline_that_is_none_stops_the_gate_before_it_runs(tmp_path: Path) -> None:
    result = gate(tmp_path / "out", "--baseline", str(tmp_path))
    assert result.exit_code == ExitCode.MISUSE
    assert "no baseline at" in result.stderr
    assert not (tmp_path / "out").exists()


def test_two_gates_on_one_folder(tmp_path: Path) -> None:
    with locked(tmp_path):
        result = gate(tmp_path)
    assert result.exit_code == ExitCode.MISUSE
    assert "in use by another campaign" in result.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("stage", "sent", "options"),
    [
        ("smoke campaign", signal.SIGTERM, ("--budget", "5m")),
        ("core faults", signal.SIGINT, ("--budget", "1s", "--fault-budget", "30m")),
    ],
    ids=["SIGTERM in the campaign", "SIGINT among the faults"],
)
def test_an_interrupted_gate_is_undecided(
    stage: str, sent: signal.Signals, options: tuple[str, ...], tmp_path: Path
) -> None:
    program = "from campaign.cli import main; main()"
    arguments = ("gate", "--out", str(tmp_path), "--workers", "1", *options)
    run = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that starts the tests in the background lets every process below it ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert run.stderr is not None
    for line in run.stderr:
        if stage in line:
            break
    time.sleep(2)
    if sent is signal.SIGINT:
        os.killpg(run.pid, sent)  # as Ctrl-C does
    else:
        run.send_signal(sent)
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == ExitCode.UNKNOWN, stderr
    assert "Traceback" not in stderr
    data = written(tmp_path)
    assert data["verdict"] == "undecided"
    assert data["stages"][0]["name"] == "kept scenarios"
    assert data["stages"][-1]["verdict"] == "undecided"
    assert "core faults" not in [one["name"] for one in data["stages"] if one["verdict"] != "undecided"]


def test_a_gate_that_was_interrupted_goes_on(opened: Path, tmp_path: Path) -> None:
    before = written(opened)["campaigns"][0]["scenarios"]
    shutil.copytree(opened, tmp_path, dirs_exist_ok=True)
    again = gate(tmp_path, "--resume")
    assert again.exit_code == ExitCode.OK, again.output
    assert written(tmp_path)["campaigns"][0]["scenarios"] == before, "its budget was spent"
    other = gate(tmp_path, "--resume", "--seed", "2", *NO_FAULT)
    assert other.exit_code == ExitCode.UNKNOWN
    campaign = written(tmp_path)["stages"][1]
    assert campaign["verdict"] == "undecided"
    assert f"its seed is {SEED}, now it is 2" in campaign["message"]


def test_a_seed_of_the_day_unless_a_campaign_goes_on(opened: Path, tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 2, 17, tzinfo=UTC)
    assert usual_seed(GATES["nightly"], None, now) == 20261121
    assert usual_seed(GATES["nightly"], tmp_path, now) == 20261121
    assert usual_seed(GATES["nightly"], opened, now) == SEED
    assert usual_seed(GATES["pr"], None, now) == 1


def test_a_worker_that_dies_on_a_fault_leaves_it_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            dead: Future[Any] = Future()
            dead.set_exception(BrokenProcessPool())
            return dead

    @contextmanager
    def dying(spec: LaneSpec, size: int, *, dies_by_interrupt: bool = False) -> Iterator[Pool]:
        yield Pool(Dying(), size, None)

    monkeypatch.setattr(hunting, "pool_for", dying)
    plan = GatePlan(gate=GATES["pr"], seed=1, workers=1, corpus=tmp_path, out=tmp_path, faults=("a",))
    stage = faults(plan)
    assert stage.verdict is Decision.UNDECIDED
    assert "a worker process died while a or another fault was hunted" in stage.message
    result = CliRunner().invoke(main, ["mutants", "--fault", "update-becomes-insert"])
    assert result.exit_code == ExitCode.MISUSE
    assert "run it again with fewer --workers" in result.stderr


RIGHT, WRONG = (f"adapter:tests.unit.engines.sample:{name}" for name in ("OnSqlite", "WrongOnSqlite"))


@pytest.mark.nightly
def test_a_gate_stands_before_an_engine_of_others(tmp_path: Path) -> None:
    """It has the campaign alone, shuts for wrong rows, and compares with the last night of that engine."""
    short = ("--workers", "1", "--shrink", "0", "--corpus", "none")

    def result(tier: str, out: str, *more: str) -> Result:
        arguments = ("--tier", tier, *short, "--out", str(tmp_path / out), *more)
        with pytest.MonkeyPatch.context() as patched:
            eight = replace(GATES["pr"], campaigns=(replace(FEW, scenarios=8),))
            patched.setattr(gate_command, "GATES", {**GATES, "pr": eight})
            return CliRunner().invoke(main, ["gate", *arguments])

    assert result(RIGHT, "before", "--least", "3", "--budget", "4s").exit_code in (
        ExitCode.OK,
        ExitCode.UNKNOWN,
    )
    content = json.loads((tmp_path / "before" / "gate.json").read_text())
    assert [stage["name"] for stage in content["stages"]] == [f"smoke campaign on {RIGHT}"]
    result(RIGHT, "after", "--baseline", str(tmp_path / "before"))
    content = json.loads((tmp_path / "after" / "gate.json").read_text())
    assert "no campaign of the same tier" not in content["stages"][-1]["message"]
    assert content["stages"][-1]["name"] == "baseline"
    shut = result(WRONG, "wrong")
    assert shut.exit_code == ExitCode.FAILED
    content = json.loads((tmp_path / "wrong" / "gate.json").read_text())
    assert "product_failure" in content["stages"][0]["message"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tier", "rules"), "--tier rules is the built-in engine"),
        (("--tier", "adapter:nope"), "no adapter 'nope'"),
        (("--tier", RIGHT, "--fault", "update-becomes-insert"), "--fault plants a fault in the built-in"),
        (("--least", "3"), "--least goes with --tier"),
    ],
)
def test_a_gate_before_an_engine_that_cannot_be_is_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(main, ["gate", *arguments, "--out", str(tmp_path)])
    assert result.exit_code == ExitCode.MISUSE
    assert message in result.stderr
