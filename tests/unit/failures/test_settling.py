"""Where plan and oracle differ and only the engine's plan has voted, another tier tells whose fault it is."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from campaign import failures, settling
from campaign.cli import main, replay, shrink
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget, understand
from campaign.grouping import Likeness
from campaign.ignore import IgnoreRules
from campaign.lanes import LaneSpec
from campaign.runner import Judged, Plan
from campaign.settling import (
    DIVERGES,
    DUCKDB_ONLY,
    MISREAD,
    OPEN,
    Answer,
    Ask,
    answer_of,
    asked_elsewhere,
    settle,
    settled,
)
from campaign.triage import Reduced
from generators.profiles import SMOKE
from reports.findings import summary_text
from tests.ir import columns, count_star, named, select
from tests.misread import ALWAYS_EMPTY, misread_groups
from workload.codec import scenario_to_json
from workload.results import SPARK_VOTE, Outcome, OutcomeClass
from workload.scenario import DynamicTable, Scenario

RULES = LaneSpec(tier="rules")
PRODUCT = Answer("agrees with the oracle, not with the engine's plan", MISREAD, "oracle equality: there too")
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


def answering(answer: Answer) -> Ask:
    return lambda scenario, outcome: answer


def nobody(scenario: Scenario, outcome: Outcome) -> Answer:
    raise AssertionError("nobody is to be asked")


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
def test_what_the_other_tier_says(there: dict[str, Any], verdict: str, diverged: Outcome) -> None:
    answer = answer_of(diverged, there)
    assert answer.verdict == verdict
    outcome = settled(diverged, answer)
    assert (outcome.outcome is OutcomeClass.PRODUCT_FAILURE) == (verdict == MISREAD)
    assert {finding.votes["verdict"] for finding in outcome.findings} == {verdict}
    assert ("no proof against" in summary_text(outcome)) == (verdict != MISREAD)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (subprocess.TimeoutExpired("dvs", 60), "could not be asked: the time was up"),
        (OSError("no space left"), "could not be asked: no space left"),
        (ValueError("error: Spark needs Java"), "could not be asked: error: Spark needs Java"),
    ],
)
def test_where_nobody_can_be_asked_it_stays_open_and_says_so(
    said: Exception, answer: str, diverged: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(scenario: Scenario, spec: LaneSpec, seconds: float) -> dict[str, Any]:
        assert (spec.tier, spec.faults, seconds <= 5) == ("spark", ("nulls-join",), True)
        raise said

    monkeypatch.setattr(settling, "replayed", fails)
    ask = asked_elsewhere(replace(RULES, faults=("nulls-join",)), 5.0)
    assert ask is not None
    outcome = settled(diverged, ask(ALWAYS_EMPTY, diverged))
    assert outcome.outcome is OutcomeClass.DIVERGENCE
    assert outcome.findings[0].votes[SPARK_VOTE] == answer
    assert outcome.findings[0].votes["verdict"] == OPEN
    assert f"Spark, on the query's own text, {answer}." in summary_text(outcome)


def test_a_process_that_says_no_json_is_told_by_its_last_words(diverged: Outcome) -> None:
    ask = asked_elsewhere(replace(RULES, faults=("no-such-fault",)), 60.0)
    assert ask is not None
    answer = ask(ALWAYS_EMPTY, diverged)
    assert answer.verdict == OPEN
    assert "no planted fault named 'no-such-fault'" in answer.vote


def test_a_process_is_cut_when_the_time_is_up(diverged: Outcome) -> None:
    ask = asked_elsewhere(RULES, 0.05)
    assert ask is not None
    assert ask(ALWAYS_EMPTY, diverged).vote == "could not be asked: the time was up"


def test_only_a_tier_whose_vote_is_the_engines_own_is_settled_elsewhere() -> None:
    assert asked_elsewhere(LaneSpec(tier="spark")) is None
    assert asked_elsewhere(LaneSpec(tier="delta")) is None


def twice_grouped(diverged: Outcome) -> tuple[Scenario, Outcome]:
    """A larger failure with a cause of its own, which the small one's operators are part of."""
    table = ALWAYS_EMPTY.tables[0]
    key = columns(table)["k"]
    once = DynamicTable("d1", select({"k": key, "n": count_star()}, named("r1"), group_by=[key]))
    both = replace(ALWAYS_EMPTY, definitions=(once, *ALWAYS_EMPTY.definitions))
    first = diverged.findings[0]
    return both, replace(diverged, findings=(first, replace(first, table="d1")))


def test_what_was_not_shrunk_goes_with_what_explains_it_best(diverged: Outcome) -> None:
    larger, outcome = twice_grouped(diverged)
    found = {3: Reduced(ALWAYS_EMPTY, diverged, True), 4: Reduced(larger, outcome, False)}
    flaky = replace(diverged, outcome=OutcomeClass.FLAKY)
    unshrunk = [
        Likeness.of(7, ALWAYS_EMPTY, diverged),
        Likeness.of(9, ALWAYS_EMPTY, flaky),
    ]
    reduced, likened, misread = settle(found, unshrunk, answering(PRODUCT))
    assert [result.outcome.outcome for result in reduced.values()] == [OutcomeClass.PRODUCT_FAILURE] * 2
    assert misread == [7]
    assert {cause.outcome for cause in likened[0].causes} == {OutcomeClass.PRODUCT_FAILURE}
    assert likened[1] is unshrunk[1]


def test_a_divergence_is_not_the_products_because_a_smaller_failure_is(diverged: Outcome) -> None:
    larger, outcome = twice_grouped(diverged)
    found = {3: Reduced(ALWAYS_EMPTY, diverged, True), 4: Reduced(larger, outcome, True)}
    answers = {ALWAYS_EMPTY: PRODUCT, larger: Answer("agrees with the plan", DIVERGES)}
    unshrunk = [Likeness.of(7, larger, outcome)]
    reduced, likened, misread = settle(found, unshrunk, lambda scenario, outcome: answers[scenario])
    assert reduced[3].outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert reduced[4].outcome.outcome is OutcomeClass.DIVERGENCE
    assert (likened, misread) == (unshrunk, [])


def test_one_cause_is_asked_about_once(diverged: Outcome) -> None:
    asked: list[str] = []

    def ask(scenario: Scenario, outcome: Outcome) -> Answer:
        asked.append(scenario.name)
        return PRODUCT

    found = {index: Reduced(ALWAYS_EMPTY, diverged, index == 5) for index in range(6)}
    reduced, _, _ = settle(found, [], ask)
    assert len(asked) == 1
    assert {result.outcome.outcome for result in reduced.values()} == {OutcomeClass.PRODUCT_FAILURE}


def test_nothing_else_is_settled(diverged: Outcome) -> None:
    failed = replace(diverged, outcome=OutcomeClass.PRODUCT_FAILURE)
    found = {0: Reduced(ALWAYS_EMPTY, failed, True)}
    assert settle(found, [], nobody) == (found, [], [])
    assert settle({0: Reduced(ALWAYS_EMPTY, diverged, True)}, [], None)[0][0].outcome is diverged


def test_an_interrupt_leaves_the_rest_as_it_is(diverged: Outcome) -> None:
    def ask(scenario: Scenario, outcome: Outcome) -> Answer:
        raise KeyboardInterrupt

    found = {0: Reduced(ALWAYS_EMPTY, diverged, True)}
    assert settle(found, [], ask)[0] == found


def test_a_campaign_settles_before_it_groups_and_writes(
    diverged: Outcome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(failures, "asked_elsewhere", lambda spec, seconds: answering(PRODUCT))
    failed = [Judged(index, replace(diverged, reproduction=ALWAYS_EMPTY), Counter()) for index in (0, 1)]
    plan, nothing_shrunk = Plan(seed=1, profile=SMOKE), ShrinkBudget(failures=0)
    understood = understand(failed, plan, RULES, tmp_path, nothing_shrunk, IgnoreRules())
    assert [outcome.outcome for outcome in understood.outcomes.values()] == [OutcomeClass.PRODUCT_FAILURE] * 2
    assert [(g.fingerprint.outcome, g.indices) for g in understood.groups] == [
        (OutcomeClass.PRODUCT_FAILURE, (0, 1))
    ]
    readme = (tmp_path / "failures" / "000000" / "README.md").read_text()
    assert f"| verdict | {MISREAD} |" in readme


@pytest.fixture
def kept(tmp_path: Path) -> str:
    path = tmp_path / "scenario.json"
    path.write_text(scenario_to_json(ALWAYS_EMPTY))
    return str(path)


def test_a_replay_settles_too(diverged: Outcome, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "asked_elsewhere", lambda spec: answering(PRODUCT))
    done = CliRunner().invoke(main, ["replay", kept, "--json"])
    assert done.exit_code == ExitCode.FAILED
    assert json.loads(done.output)["findings"][0]["votes"]["verdict"] == MISREAD


def test_so_does_a_shrink(diverged: Outcome, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink, "asked_elsewhere", lambda spec: answering(PRODUCT))
    done = CliRunner().invoke(main, ["shrink", kept])
    assert done.exit_code == ExitCode.OK
    assert "product_failure: oracle equality: there too" in done.output
