"""Where plan and oracle differ and only the engine's plan has voted, another tier tells whose fault it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.exit_codes import ExitCode
from campaign.failures import attribution, report
from campaign.failures.attribution import (
    DIVERGES,
    DUCKDB_ONLY,
    MISREAD,
    NOT_ASKED,
    OPEN,
    Attributed,
    Attribution,
    Replay,
    attribute,
    attribution_of,
    replay_elsewhere,
    with_attribution,
)
from campaign.failures.grouping import Signature
from campaign.failures.ignore import IgnoreRules
from campaign.failures.report import FailedScenario, ShrinkBudget, report_failures
from campaign.failures.triage import Reduced
from campaign.lanes.spec import LaneSpec
from reports.findings import summary_text
from tests.ir import columns, count_star, named, select
from tests.misread import ALWAYS_EMPTY, misread_groups
from workload.codec import scenario_to_json
from workload.outcomes.results import SPARK_VOTE, Outcome, OutcomeClass
from workload.scenario import DynamicTable, Scenario

RULES = LaneSpec(tier="rules")
PRODUCT = Attribution(
    "agrees with the oracle, not with the engine's plan", MISREAD, "oracle equality: there too"
)
WRONG_THERE = {"check": "oracle equality", "table": "d2", "votes": {"verdict": "incremental bug"}}


@pytest.fixture
def diverged(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    misread_groups(monkeypatch)
    outcome = RULES.build().judge(ALWAYS_EMPTY)
    assert outcome.outcome is OutcomeClass.DIVERGENCE
    assert outcome.findings[0].table == "d2"
    return outcome


def elsewhere(outcome: OutcomeClass, *findings: Mapping[str, Any]) -> dict[str, Any]:
    return {"outcome": outcome.value, "reason": f"it was {outcome.value}", "findings": list(findings)}


def giving(attribution: Attribution) -> Replay:
    return lambda scenario, outcome: attribution


def no_replay(scenario: Scenario, outcome: Outcome) -> Attribution:
    raise AssertionError("nothing is to be replayed")


@pytest.mark.parametrize(
    ("there", "verdict"),
    [
        (elsewhere(OutcomeClass.PRODUCT_FAILURE, WRONG_THERE), MISREAD),
        (elsewhere(OutcomeClass.DIVERGENCE, WRONG_THERE), DIVERGES),
        (elsewhere(OutcomeClass.PASSED), DUCKDB_ONLY),
        (elsewhere(OutcomeClass.UNSUPPORTED), OPEN),
        (elsewhere(OutcomeClass.INFRASTRUCTURE_FAILURE), OPEN),
        # Something else fails there: that says nothing of what failed here.
        (elsewhere(OutcomeClass.PRODUCT_FAILURE, {**WRONG_THERE, "table": "d7"}), OPEN),
        (elsewhere(OutcomeClass.PRODUCT_FAILURE, {**WRONG_THERE, "check": "refresh error"}), OPEN),
        (
            elsewhere(
                OutcomeClass.PRODUCT_FAILURE, {**WRONG_THERE, "votes": {"verdict": "three different answers"}}
            ),
            OPEN,
        ),
    ],
)
def test_the_replays_outcome_decides_the_attribution(
    there: dict[str, Any], verdict: str, diverged: Outcome
) -> None:
    attributed = attribution_of(diverged, there)
    assert attributed.verdict == verdict
    outcome = with_attribution(diverged, attributed)
    assert (outcome.outcome is OutcomeClass.PRODUCT_FAILURE) == (verdict in (MISREAD, OPEN))
    assert {finding.votes["verdict"] for finding in outcome.findings} == {verdict}
    assert ("no proof against" in summary_text(outcome)) == (verdict not in (MISREAD, OPEN))


@pytest.mark.parametrize(
    ("error", "vote"),
    [
        (OSError("no space left"), "could not be asked: no space left"),
        (ValueError("error: Spark needs Java"), "could not be asked: error: Spark needs Java"),
    ],
)
def test_without_a_vote_of_spark_the_divergence_counts_as_a_failure_and_the_report_says_why(
    error: Exception, vote: str, diverged: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(scenario: Scenario, spec: LaneSpec, seconds: float) -> dict[str, Any]:
        assert (spec.tier, spec.faults, seconds <= 5) == ("spark", ("nulls-join",), True)
        raise error

    monkeypatch.setattr(attribution, "replayed", fails)
    replay = replay_elsewhere(replace(RULES, faults=("nulls-join",)), 5.0)
    assert replay is not None
    outcome = with_attribution(diverged, replay(ALWAYS_EMPTY, diverged))
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert outcome.findings[0].votes[SPARK_VOTE] == vote
    assert outcome.findings[0].votes["verdict"] == OPEN
    assert outcome.reason == f"{diverged.reason}; Spark {vote}"
    assert "So far no proof" not in summary_text(outcome)


def test_a_process_that_prints_no_json_is_named_by_its_last_line(diverged: Outcome) -> None:
    replay = replay_elsewhere(replace(RULES, faults=("no-such-fault",)), 600.0)
    assert replay is not None
    attributed = replay(ALWAYS_EMPTY, diverged)
    assert attributed.verdict == OPEN
    assert "no planted fault named 'no-such-fault'" in attributed.vote


@pytest.mark.parametrize("replay", [replay_elsewhere(RULES, 0.05), attribution.unasked])
def test_where_spark_was_not_asked_the_divergence_stays_undecided(replay: Replay, diverged: Outcome) -> None:
    asked = replay(ALWAYS_EMPTY, diverged)
    assert asked.vote in ("could not be asked: the time was up", "could not be asked: the run was ended")
    outcome = with_attribution(diverged, asked)
    assert (outcome.outcome, outcome.reason) == (OutcomeClass.DIVERGENCE, diverged.reason)
    assert {finding.votes["verdict"] for finding in outcome.findings} == {NOT_ASKED}


def test_only_a_tier_whose_vote_is_the_engines_own_is_replayed_elsewhere() -> None:
    assert replay_elsewhere(LaneSpec(tier="spark")) is None
    assert replay_elsewhere(LaneSpec(tier="delta")) is None


def twice_grouped(diverged: Outcome) -> tuple[Scenario, Outcome]:
    """A larger failure with a cause of its own, which the small one's operators are part of."""
    table = ALWAYS_EMPTY.tables[0]
    key = columns(table)["k"]
    once = DynamicTable("d1", select({"k": key, "n": count_star()}, named("r1"), group_by=[key]))
    both = replace(ALWAYS_EMPTY, definitions=(once, *ALWAYS_EMPTY.definitions))
    first = diverged.findings[0]
    return both, replace(diverged, findings=(first, replace(first, table="d1")))


def test_an_unshrunk_failure_gets_the_attribution_of_the_cause_that_explains_it(diverged: Outcome) -> None:
    larger, outcome = twice_grouped(diverged)
    reductions = {3: Reduced(ALWAYS_EMPTY, diverged, True), 4: Reduced(larger, outcome, False)}
    flaky = replace(diverged, outcome=OutcomeClass.FLAKY)
    unshrunk = [
        Signature.of(7, ALWAYS_EMPTY, diverged),
        Signature.of(9, ALWAYS_EMPTY, flaky),
    ]
    attributed = attribute(reductions, unshrunk, giving(PRODUCT))
    assert [result.outcome.outcome for result in attributed.reduced.values()] == [
        OutcomeClass.PRODUCT_FAILURE
    ] * 2
    assert attributed.misread == [7]
    assert {cause.outcome for cause in attributed.unshrunk[0].causes} == {OutcomeClass.PRODUCT_FAILURE}
    assert attributed.unshrunk[1] is unshrunk[1]


def test_an_interrupt_and_the_end_of_the_budget_decide_nothing(diverged: Outcome) -> None:
    larger, outcome = twice_grouped(diverged)
    reductions = {3: Reduced(ALWAYS_EMPTY, diverged, True), 4: Reduced(larger, outcome, True)}
    asked: list[str] = []

    def interrupted(scenario: Scenario, outcome: Outcome) -> Attribution:
        asked.append(scenario.name)
        raise KeyboardInterrupt

    attributed = attribute(reductions, [Signature.of(7, larger, outcome)], interrupted)
    assert len(asked) == 1
    assert {each.outcome.outcome for each in attributed.reduced.values()} == {OutcomeClass.DIVERGENCE}
    assert attributed.misread == []
    assert attribute({}, [Signature.of(7, larger, outcome)], no_replay).misread == []


def test_a_divergence_is_not_the_products_because_a_smaller_failure_is(diverged: Outcome) -> None:
    larger, outcome = twice_grouped(diverged)
    reductions = {3: Reduced(ALWAYS_EMPTY, diverged, True), 4: Reduced(larger, outcome, True)}
    attributions = {ALWAYS_EMPTY: PRODUCT, larger: Attribution("agrees with the plan", DIVERGES)}
    unshrunk = [Signature.of(7, larger, outcome)]
    attributed = attribute(reductions, unshrunk, lambda scenario, outcome: attributions[scenario])
    assert attributed.reduced[3].outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert attributed.reduced[4].outcome.outcome is OutcomeClass.DIVERGENCE
    assert (attributed.unshrunk, attributed.misread) == (unshrunk, [])


def test_one_cause_is_replayed_once(diverged: Outcome) -> None:
    replays: list[str] = []

    def replay(scenario: Scenario, outcome: Outcome) -> Attribution:
        replays.append(scenario.name)
        return PRODUCT

    reductions = {index: Reduced(ALWAYS_EMPTY, diverged, index == 5) for index in range(6)}
    reduced = attribute(reductions, [], replay).reduced
    assert len(replays) == 1
    assert {result.outcome.outcome for result in reduced.values()} == {OutcomeClass.PRODUCT_FAILURE}


def test_only_divergences_are_replayed(diverged: Outcome) -> None:
    failed = replace(diverged, outcome=OutcomeClass.PRODUCT_FAILURE)
    reductions = {0: Reduced(ALWAYS_EMPTY, failed, True)}
    assert attribute(reductions, [], no_replay) == Attributed(reductions, [], [])
    assert attribute({0: Reduced(ALWAYS_EMPTY, diverged, True)}, [], None).reduced[0].outcome is diverged


def test_failures_are_attributed_before_they_are_grouped_and_written(
    diverged: Outcome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report, "replay_elsewhere", lambda spec, seconds: giving(PRODUCT))
    failed = {index: FailedScenario(ALWAYS_EMPTY, diverged) for index in (0, 1)}
    result = report_failures(failed, RULES, 2, tmp_path, ShrinkBudget(failures=0), IgnoreRules())
    assert [outcome.outcome for outcome in result.outcomes.values()] == [OutcomeClass.PRODUCT_FAILURE] * 2
    assert [(g.fingerprint.outcome, g.indices) for g in result.groups] == [
        (OutcomeClass.PRODUCT_FAILURE, (0, 1))
    ]
    readme = (tmp_path / "failures" / "000000" / "README.md").read_text()
    assert f"| verdict | {MISREAD} |" in readme


@pytest.fixture
def failure_folder(tmp_path: Path) -> str:
    path = tmp_path / "scenario.json"
    path.write_text(scenario_to_json(ALWAYS_EMPTY))
    return str(path)


def test_dvs_replay_attributes_too(
    diverged: Outcome, failure_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attribution, "replay_elsewhere", lambda spec: giving(PRODUCT))
    done = CliRunner().invoke(main, ["replay", failure_folder, "--json"])
    assert done.exit_code == ExitCode.FAILED
    assert json.loads(done.output)["findings"][0]["votes"]["verdict"] == MISREAD


def test_dvs_shrink_attributes_too(
    diverged: Outcome, failure_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attribution, "replay_elsewhere", lambda spec: giving(PRODUCT))
    done = CliRunner().invoke(main, ["shrink", failure_folder])
    assert done.exit_code == ExitCode.OK
    assert "product_failure: oracle equality: there too" in done.output
