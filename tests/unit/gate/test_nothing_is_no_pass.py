"""Nothing judged, or less than was asked for, is undecided: never a failure, and never a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.audit.audit import Audit, AuditedTable, AuditVerdict
from campaign.cli import main
from campaign.cli.compare import Comparison
from campaign.gate.checks import CommandCheck, Result, checked
from campaign.gate.document import gate_object
from campaign.gate.profiles import GATES
from campaign.gate.stage import GatePlan, Stage
from campaign.mutants.verdict import HuntVerdict, hunt_verdict
from campaign.runs.plan import CampaignPlan
from campaign.soak.floors import decision_of as of_soak
from campaign.verify.coherence import Searched, Setting, decision_of as of_groups
from campaign.verify.evolution import FLOOR, NAMES, Evolved
from campaign.verify.protocol import Protocol
from campaign.verify.running import decision_of as of_rules
from engines.registry import TIERS, find_tier
from generators.profiles import SMOKE
from reports.figures import headline
from reports.junit import Case, CaseVerdict
from reports.pages import gate_page
from reports.run_junit import run_cases
from tests.unit.runs.sample import RUN
from workload.outcomes.decision import Decision
from workload.outcomes.run_verdict import RunVerdict, run_verdict, worst

UNDECIDED = Decision.UNDECIDED


@pytest.mark.parametrize(
    ("decided", "due"),
    [
        pytest.param(lambda: worst(()), UNDECIDED, id="a gate without a stage"),
        pytest.param(lambda: of_soak([], []), UNDECIDED, id="a soak of no account"),
        pytest.param(lambda: of_rules([]), UNDECIDED, id="no rule verified"),
        pytest.param(lambda: Protocol(1, 0, ()).decision, UNDECIDED, id="a protocol without a step"),
        pytest.param(lambda: Protocol(9, 4, ()).decision, Decision.PASSED, id="a protocol"),
        pytest.param(lambda: Evolved(0, {}, []).decision, UNDECIDED, id="no story"),
        pytest.param(lambda: Evolved(1, {NAMES[0]: 3}, []).decision, Decision.PASSED, id="a short story"),
        pytest.param(lambda: Evolved(9, {NAMES[0]: FLOOR}, []).decision, UNDECIDED, id="one kind of change"),
        pytest.param(lambda: of_groups([]), UNDECIDED, id="no readers of groups"),
    ],
)
def test_nothing_is_no_pass(decided: Callable[[], Decision], due: Decision) -> None:
    assert decided() is due


def test_readers_who_saw_no_skew_prove_nothing_where_few_looked() -> None:
    few = [Searched(setting, 1, 0, "") for setting in Setting]
    assert of_groups(few) is UNDECIDED
    enough = [replace(each, skewed=each.setting is not Setting.REPEATABLE_READ) for each in few]
    assert of_groups(enough) is Decision.PASSED
    wrong = [replace(each, skewed=1) for each in few]
    assert of_groups(wrong) is Decision.FAILED


def test_a_campaign_with_fewer_scenarios_than_wanted_is_undecided_and_says_so() -> None:
    short = replace(RUN, wanted=RUN.scenarios + 1)
    assert run_verdict(RUN) is RunVerdict.PASSED
    assert run_verdict(short) is RunVerdict.TOO_FEW_SCENARIOS
    assert run_verdict(short).decision is UNDECIDED
    assert "were judged when the time was over, too few for a verdict." in " ".join(headline(short).sentences)
    case = run_cases(short)[0]
    assert case.verdict is CaseVerdict.ERROR
    assert case.message.endswith(f"{RUN.scenarios:,} of {RUN.scenarios + 1:,} scenarios, time over")


def test_a_run_by_time_has_a_floor_and_a_run_by_number_wants_them_all() -> None:
    by_time = CampaignPlan(seed=1, profile=SMOKE, budget=1.0, least=100)
    assert by_time.wanted == 100
    assert replace(by_time, scenarios=7).wanted == 7
    assert all(tier.least > 4 for tier in TIERS.values())
    assert find_tier("adapter:pg_ivm").least > 4


@pytest.mark.parametrize(
    ("killed", "done", "due"),
    [
        (True, 1, HuntVerdict.KILLED),
        (False, 12, HuntVerdict.UNDECIDED),
        (False, 500, HuntVerdict.SURVIVED),
        (False, 0, HuntVerdict.UNDECIDED),
    ],
)
def test_a_fault_has_survived_after_its_scenarios_and_not_before(
    killed: bool, done: int, due: HuntVerdict
) -> None:
    assert hunt_verdict(killed, done, 500) is due


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ((), "the account has no dynamic table, so nothing was compared"),
        (
            (AuditedTable("d", AuditVerdict.EMPTY),),
            "no dynamic table was refreshed yet, so nothing was compared",
        ),
        ((AuditedTable("d", AuditVerdict.EMPTY), AuditedTable("e", AuditVerdict.HOLDS)), ""),
    ],
)
def test_an_audit_of_nothing_is_unknown(tables: tuple[AuditedTable, ...], sentence: str) -> None:
    audit = Audit("folder", tables, 0)
    assert audit.nothing == sentence
    assert (audit.verdict is AuditVerdict.HOLDS) is not bool(sentence)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("replay", "."), "is empty, so nothing was replayed"),
        (("compare", "rules", "rules", "--scenario", "."), "no scenario below ., so nothing was compared"),
        (("verify", "theorems", "--operations", "1", "--random", "0"), "no derivation was moved"),
    ],
)
def test_a_command_with_nothing_to_do_says_so(
    command: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 3, result.output
    assert sentence in result.output


def test_a_comparison_that_compared_nothing_or_too_little_lacks_something() -> None:
    whole = Comparison("rules", "spark", wanted=2, scenarios=2, refreshes=9)
    assert whole.lacking == ""
    assert replace(whole, refreshes=0).lacking == "undecided: no refresh was compared"
    assert replace(whole, scenarios=1).lacking == "undecided: 1 of 2 scenarios, time over"


def test_no_entry_of_the_junit_file_of_a_gate_is_empty() -> None:
    for decision in Decision:
        cases = Stage("soak", decision, "1 account", look="dvs soak").junit_cases
        assert [(case.message, case.details) for case in cases] == [("1 account", "dvs soak")]
    undone = Case("a", 0.0, CaseVerdict.SKIPPED, "hunted in 1 scenario of 500, time over")
    stage = Stage("faults", UNDECIDED, "1 not decided", (undone,))
    assert [case.verdict for case in stage.junit_cases] == [CaseVerdict.ERROR, CaseVerdict.SKIPPED]


def test_a_check_of_a_gate_that_cannot_run_is_undecided_and_a_wrong_one_shuts_it(tmp_path: Path) -> None:
    from dynamic_tables.errors import DynamicTablesError

    plan = GatePlan(gate=GATES["nightly"], seed=1, workers=1, corpus=tmp_path, out=tmp_path, faults=())

    def without_java(_: GatePlan) -> Result:
        raise DynamicTablesError("there is no Java")

    stage = checked(CommandCheck("evolution", "dvs verify evolution", without_java), plan)
    assert (stage.verdict, stage.message) == (UNDECIDED, "could not be done: there is no Java")
    assert stage.look == "dvs verify evolution"
    wrong = Result(Decision.FAILED, "2 accounts", "dvs soak --seed 1", ["t0 lacks (5, 6)"])
    stage = checked(CommandCheck("soak", "dvs soak", lambda _: wrong), plan)
    assert (stage.verdict, stage.message) == (Decision.FAILED, "2 accounts; wrong: t0 lacks (5, 6)")
    assert stage.look == "t0 lacks (5, 6)\ndvs soak --seed 1"


def test_the_page_of_a_gate_loads_nothing_and_says_what_was_not_done(tmp_path: Path) -> None:
    plan = GatePlan(gate=GATES["pr"], seed=1, workers=1, corpus=tmp_path, out=tmp_path, faults=())
    undone = Case(
        "a <fault>", 0.0, CaseVerdict.SKIPPED, "hunted in 12 scenarios of 500, time over", "dvs mutants"
    )
    stages = [
        Stage(
            "smoke campaign", Decision.PASSED, "", summary=RUN, look=str(tmp_path / "rules-smoke/report.html")
        ),
        Stage("core faults", UNDECIDED, "1 not decided", (undone,)),
    ]
    page = gate_page(gate_object(plan, stages, UNDECIDED, "2026-11-27"))
    assert "The gate is undecided" in page
    assert 'href="rules-smoke/report.html"' in page
    assert "a &lt;fault&gt;" in page
    assert "hunted in 12 scenarios of 500, time over" in page
    assert "src=" not in page.replace("img-src", "")
    assert "http" not in page.replace("http-equiv", "")
