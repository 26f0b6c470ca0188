"""What got worse against a baseline, and what only looks like it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.errors import CampaignError
from campaign.gate.baseline import Baseline, read_baseline, regressions, slower
from campaign.gate.checks import CHECKS
from campaign.gate.document import gate_object
from campaign.gate.profiles import GATES
from campaign.gate.stage import GatePlan, Stage
from campaign.gate.stages import baseline
from campaign.mutants.kinds import KINDS
from campaign.mutants.verdict import HuntVerdict
from campaign.runs.result_files import stored_run
from engines.registry import TIERS
from generators.profiles import PROFILES
from reports.documents import GateDocument
from reports.json_summary import summary_object
from reports.junit import CaseVerdict
from tests.schemas import unlike
from tests.unit.runs.sample import RUN
from workload.outcomes.decision import Decision
from workload.outcomes.results import RunSummary
from workload.outcomes.run_verdict import worst

BEFORE = Baseline(
    Path("last"), (stored_run(summary_object(RUN), Path("last")),), frozenset({"join-both-at-t1"})
)


def worse(now: RunSummary, hunted: dict[str, HuntVerdict] | None = None) -> list[str]:
    return list(regressions(BEFORE, [now], hunted or {}))


def lost(now: RunSummary, slowdown: float = 0.3) -> list[str]:
    return list(slower(BEFORE, [now], slowdown))


def with_coverage(**kinds: dict[str, int]) -> RunSummary:
    return replace(RUN, coverage=replace(RUN.coverage, **kinds))  # type: ignore[arg-type]


def test_the_same_again_is_not_worse() -> None:
    assert worse(RUN, {"join-both-at-t1": HuntVerdict.KILLED}) == []
    assert lost(RUN) == []


def test_coverage_that_is_gone_is_lost() -> None:
    assert worse(with_coverage(intents={})) == [
        "rules, smoke: coverage lost: intent: null keys: 0, about 60 expected"
    ]
    assert worse(with_coverage(pairs={"filter > left join": 19})) == [
        "rules, smoke: coverage lost: pair: filter > left join: 19, about 80 expected"
    ]


def test_less_is_expected_of_a_shorter_run() -> None:
    shorter = replace(RUN, scenarios=100, definitions=200, seconds=10.0)
    fewer = replace(
        shorter.coverage,
        operators={"left join": 38},
        pairs={},
        intents={},
        states={"group emptied": 20},
        actions={"FULL": 31},
    )
    assert worse(replace(shorter, coverage=fewer)) == []


def test_a_little_less_is_chance() -> None:
    assert worse(with_coverage(intents={"null keys": 40})) == []


def test_speed_may_be_lost_up_to_the_share() -> None:
    assert lost(replace(RUN, seconds=140.0)) == []
    (message,) = lost(replace(RUN, seconds=150.0))
    assert message == (
        "rules, smoke: throughput lost: 13.3 dynamic tables/s, 20.0 before (at most 30% may be lost)"
    )
    assert lost(replace(RUN, seconds=150.0), slowdown=0.5) == []


def test_lost_speed_is_the_word_of_the_clock_and_leaves_the_gate_undecided() -> None:
    run = Stage("", Decision.PASSED, "", (), summary=replace(RUN, seconds=9999.0))
    compared = baseline(BEFORE, [run], 0.3)
    assert compared.verdict is Decision.UNDECIDED
    assert "throughput lost" in compared.message
    assert [case.verdict for case in compared.cases] == [CaseVerdict.ERROR]
    both = replace(run, summary=replace(with_coverage(intents={}), seconds=9999.0))
    assert baseline(BEFORE, [both], 0.3).verdict is Decision.FAILED


def test_a_fault_that_lives_again() -> None:
    survived = {"join-both-at-t1": HuntVerdict.SURVIVED, "never-killed": HuntVerdict.SURVIVED}
    assert worse(RUN, survived) == ["fault alive again: join-both-at-t1"]
    assert worse(RUN, {"join-both-at-t1": HuntVerdict.UNDECIDED}) == []


def test_only_like_is_compared_with_like() -> None:
    other = replace(RUN, profile="nightly", seconds=9999.0)
    assert worse(other) == lost(other) == []
    assert BEFORE.campaign_like(other) is None
    assert BEFORE.campaign_like(RUN) == BEFORE.campaigns[0]
    stage = baseline(BEFORE, [Stage("", Decision.PASSED, "", (), summary=other)], 0.3)
    assert stage.verdict is Decision.UNDECIDED
    assert "no campaign of the same tier and profile" in stage.message


def test_what_got_worse_shuts_the_gate() -> None:
    stage = Stage("", Decision.PASSED, "", (), summary=with_coverage(intents={}))
    compared = baseline(BEFORE, [stage], 0.3)
    assert worst(each.verdict for each in (stage, compared)) is Decision.FAILED
    assert "intent: null keys" in compared.message
    good = baseline(BEFORE, [Stage("", Decision.PASSED, "", (), summary=RUN)], 0.3)
    assert good.verdict is Decision.PASSED


def test_a_long_list_is_cut_in_the_table_and_whole_in_the_cases() -> None:
    many = {f"state {number}": 100 for number in range(9)}
    run = stored_run(summary_object(with_coverage(states=many)), Path("last"))
    before = replace(BEFORE, campaigns=(run,))
    compared = baseline(before, [Stage("", Decision.PASSED, "", (), summary=with_coverage(states={}))], 0.3)
    assert compared.message.endswith("; and 3 more")
    assert len(compared.cases) == 9


def gate_file(folder: Path) -> GateDocument:
    plan = GatePlan(gate=GATES["pr"], seed=1, workers=1, corpus=folder, out=folder, faults=())
    stages = [
        Stage("campaign", Decision.PASSED, "", (), summary=RUN, look=str(folder / "rules-smoke/report.html")),
        Stage("faults", Decision.FAILED, "", (), hunted={"a": HuntVerdict.KILLED, "b": HuntVerdict.SURVIVED}),
    ]
    document = gate_object(plan, stages, Decision.FAILED, "now")
    assert unlike("gate", json.dumps(document)) == ""
    return document


@pytest.mark.parametrize("name", ["gate.json", "summary.json"])
def test_a_gate_or_a_run_is_a_baseline(name: str, tmp_path: Path) -> None:
    content = gate_file(tmp_path) if name == "gate.json" else summary_object(RUN)
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    for path in (tmp_path, tmp_path / name):
        compared = read_baseline(path)
        assert compared.campaigns == BEFORE.campaigns
        assert compared.killed == ({"a"} if name == "gate.json" else set())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot read"),
        ("[]", "is no result of a run or gate"),
        ('{"format": "dvs-scenario"}', "is no result of a run or gate"),
        ('{"format": "dvs-run", "version": 99}', "is of version 99, this program reads 1"),
        ('{"format": "dvs-run", "version": 1}', "lacks figures"),
        ('{"format": "dvs-gate", "version": 1, "faults": {}, "campaigns": [7]}', "lacks figures"),
    ],
)
def test_a_baseline_that_is_none(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "gate.json").write_text(text, encoding="utf-8")
    with pytest.raises(CampaignError, match=message):
        read_baseline(tmp_path)


def test_no_baseline_there(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"neither gate.json nor summary.json"):
        read_baseline(tmp_path)


def test_every_gate_names_tiers_and_profiles_that_exist() -> None:
    for gate in GATES.values():
        for campaign in gate.campaigns:
            assert campaign.tier in TIERS
            assert campaign.profile in PROFILES


def test_every_campaign_of_a_gate_has_a_floor_on_its_scenarios() -> None:
    for gate in GATES.values():
        assert gate.campaigns
        for campaign in gate.campaigns:
            assert (campaign.scenarios or campaign.least) >= 20, campaign


def test_a_pull_request_is_judged_in_scenarios_and_the_night_by_every_check() -> None:
    assert [campaign.scenarios for campaign in GATES["pr"].campaigns] == [300]
    assert all(GATES[name].rounds for name in ("nightly", "release"))
    assert {check.name for check in CHECKS} == {
        "soak",
        "rules in small worlds",
        "rules without a bound",
        "refresh protocol",
        "refresh groups",
        "changed columns on delta",
        "protocol models",
        "analysis of histories",
        *(f"faults in {kind.area}" for kind in KINDS.values()),
    }
