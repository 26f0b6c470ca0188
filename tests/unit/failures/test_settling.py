"""Where plan and oracle differ and only the engine's plan has voted, another tier tells whose fault it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign import failures
from campaign.cli import main, replay
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget, understand
from campaign.grouping import Likeness
from campaign.ignore import IgnoreRules
from campaign.lanes import LaneSpec
from campaign.runner import Judged, Plan
from campaign.settling import MISREAD, OPEN, judge_of, settle, settled
from campaign.triage import Reduced
from dynamic_tables.errors import SessionError
from generators.profiles import SMOKE
from reports.findings import summary_text
from tests.misread import GROUPED_BY_A_CONSTANT, KEPT, misread_groups
from workload.results import SPARK_VOTE, Outcome, OutcomeClass
from workload.scenario import Scenario

RULES = LaneSpec(tier="rules")


@pytest.fixture
def diverged(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    misread_groups(monkeypatch)
    outcome = RULES.build().judge(GROUPED_BY_A_CONSTANT)
    assert outcome.outcome is OutcomeClass.DIVERGENCE
    return outcome


def elsewhere(outcome: OutcomeClass) -> Outcome:
    return Outcome(scenario="elsewhere", outcome=outcome, reason=f"it was {outcome.value}")


@pytest.mark.parametrize(
    ("there", "here", "verdict"),
    [
        (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.PRODUCT_FAILURE, MISREAD),
        (OutcomeClass.DIVERGENCE, OutcomeClass.DIVERGENCE, "divergence of the engines"),
        (OutcomeClass.PASSED, OutcomeClass.DIVERGENCE, "divergence of the engines"),
        (OutcomeClass.UNSUPPORTED, OutcomeClass.DIVERGENCE, OPEN),
        (OutcomeClass.INFRASTRUCTURE_FAILURE, OutcomeClass.DIVERGENCE, OPEN),
    ],
)
def test_a_divergence_is_what_the_other_tier_says(
    there: OutcomeClass, here: OutcomeClass, verdict: str, diverged: Outcome
) -> None:
    outcome = settled(diverged, GROUPED_BY_A_CONSTANT, lambda scenario: elsewhere(there))
    assert outcome.outcome is here
    assert {finding.votes["verdict"] for finding in outcome.findings} == {verdict}
    assert all(finding.votes[SPARK_VOTE] for finding in outcome.findings)


@pytest.mark.parametrize(
    "error",
    [CampaignError("the time was up"), SessionError("Spark needs Java", found="none", remedy="Install it.")],
)
def test_where_nobody_can_be_asked_it_stays_open_and_says_so(error: Exception, diverged: Outcome) -> None:
    def judge(scenario: Scenario) -> Outcome:
        raise error

    outcome = settled(diverged, GROUPED_BY_A_CONSTANT, judge)
    assert outcome.outcome is OutcomeClass.DIVERGENCE
    assert outcome.findings[0].votes["verdict"] == OPEN
    assert f"Whose fault that is, is open: Spark could not be asked: {error}" in summary_text(outcome)


def test_what_was_not_shrunk_goes_with_what_explains_it(diverged: Outcome) -> None:
    found = {3: Reduced(GROUPED_BY_A_CONSTANT, diverged, True)}
    other = replace(elsewhere(OutcomeClass.FLAKY), findings=diverged.findings)
    unshrunk = [
        Likeness.of(7, GROUPED_BY_A_CONSTANT, diverged),
        Likeness.of(9, GROUPED_BY_A_CONSTANT, other),
    ]
    reduced, likened, misread = settle(
        found, unshrunk, lambda scenario: elsewhere(OutcomeClass.PRODUCT_FAILURE)
    )
    assert reduced[3].outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert misread == [7]
    assert {cause.outcome for cause in likened[0].causes} == {OutcomeClass.PRODUCT_FAILURE}
    assert likened[1] is unshrunk[1]


def test_nothing_else_is_settled(diverged: Outcome) -> None:
    def judge(scenario: Scenario) -> Outcome:
        raise AssertionError("nobody is to be asked")

    failed = replace(diverged, outcome=OutcomeClass.PRODUCT_FAILURE)
    found = {0: Reduced(GROUPED_BY_A_CONSTANT, failed, True)}
    assert settle(found, [], judge) == (found, [], [])


def test_an_interrupt_leaves_the_rest_as_it_is(diverged: Outcome) -> None:
    def judge(scenario: Scenario) -> Outcome:
        raise KeyboardInterrupt

    found = {0: Reduced(GROUPED_BY_A_CONSTANT, diverged, True)}
    assert settle(found, [], judge)[0] == found


def test_only_a_tier_whose_vote_is_the_engines_own_is_settled_elsewhere() -> None:
    assert judge_of(LaneSpec(tier="spark")) is None
    assert judge_of(LaneSpec(tier="delta")) is None
    late = judge_of(RULES, deadline=0.0)
    assert late is not None
    with pytest.raises(CampaignError, match="the time was up"):
        late(GROUPED_BY_A_CONSTANT)


def test_a_campaign_settles_before_it_groups_ignores_and_writes(
    diverged: Outcome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def judge(scenario: Scenario) -> Outcome:
        asked.append(scenario.name)
        return elsewhere(OutcomeClass.PRODUCT_FAILURE)

    monkeypatch.setattr(failures, "judge_of", lambda spec, deadline: judge)
    failed = [
        Judged(index, replace(diverged, reproduction=GROUPED_BY_A_CONSTANT), Counter()) for index in (0, 1)
    ]
    nothing_shrunk = ShrinkBudget(failures=0)
    understood = understand(
        failed, Plan(seed=1, profile=SMOKE), RULES, tmp_path, nothing_shrunk, IgnoreRules()
    )
    assert asked == [GROUPED_BY_A_CONSTANT.name]
    assert {index: o.outcome for index, o in understood.outcomes.items()} == {
        0: OutcomeClass.PRODUCT_FAILURE,
        1: OutcomeClass.PRODUCT_FAILURE,
    }
    assert [(g.fingerprint.outcome, g.indices) for g in understood.groups] == [
        (OutcomeClass.PRODUCT_FAILURE, (0, 1))
    ]
    readme = (tmp_path / "failures" / "000000" / "README.md").read_text()
    assert f"| verdict | {MISREAD} |" in readme


def test_a_replay_settles_too(diverged: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        replay, "judge_of", lambda spec: lambda scenario: elsewhere(OutcomeClass.PRODUCT_FAILURE)
    )
    done = CliRunner().invoke(main, ["replay", str(KEPT)])
    assert done.exit_code == ExitCode.FAILED
    assert "no proof against" not in done.output
