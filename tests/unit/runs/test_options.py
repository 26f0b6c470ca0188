"""Campaigns from Python: the same options as `dvs fuzz`, with the same defaults and the same refusals."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

import dvs
from campaign.cli.fuzz import command
from campaign.runs.options import journal_folder

OF_THE_COMMAND_ALONE = {"out", "resume", "as_json"}


def test_defaults_are_those_of_the_command() -> None:
    of_command = command.make_context("fuzz", []).params
    wanted = dvs.CampaignOptions()
    assert {name: of_command[name] for name in of_command if name not in OF_THE_COMMAND_ALONE} == {
        field.name: getattr(wanted, field.name) for field in fields(wanted)
    }


def test_a_campaign_from_python(tmp_path: Path) -> None:
    wanted = dvs.CampaignOptions(scenarios=6, seed=3, workers=1)
    summary = dvs.run_campaign(wanted, tmp_path / "run")
    assert (summary.scenarios, summary.outcomes["passed"]) == (6, 6)
    assert dvs.run_verdict(summary) in (dvs.RunVerdict.PASSED, dvs.RunVerdict.FLOORS_UNMET)
    assert (tmp_path / "run" / "journal.jsonl").exists()


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (dvs.CampaignOptions(scenarios=0), "scenarios is 0"),
        (dvs.CampaignOptions(budget=-1.0), "budget is -1.0"),
        (dvs.CampaignOptions(first=-1), "first is -1"),
        (dvs.CampaignOptions(budget=float("nan")), "budget is nan"),
        (dvs.CampaignOptions(shrink_budget=0.0), "shrink_budget is 0.0"),
        (dvs.CampaignOptions(lift="databases", worlds=0), "worlds is 0"),
        (dvs.CampaignOptions(worlds=5001), "worlds is 5001"),
        (dvs.CampaignOptions(scenarios="3"), "scenarios is '3'"),  # type: ignore[arg-type]
        (dvs.CampaignOptions(faults="join-both-at-t1"), "give a tuple of names"),  # type: ignore[arg-type]
        (dvs.CampaignOptions(profile="nope"), "nope"),
        (dvs.CampaignOptions(tier="adapter:nope", scenarios=1), "nope"),
        (dvs.CampaignOptions(lift="rows"), "choose one of none, intervals, databases"),
        (dvs.CampaignOptions(tier="all"), "one tier"),
        (dvs.CampaignOptions(faults=("none",)), "no planted fault named 'none'"),
    ],
)
def test_what_is_impossible_is_refused(wanted: dvs.CampaignOptions, message: str) -> None:
    with pytest.raises(dvs.CampaignError, match=message):
        dvs.run_campaign(wanted)


@pytest.mark.parametrize("tier", ["", "delta", "sqlite"])
def test_a_run_of_several_tiers_or_engines_goes_on_where_its_first_journal_is(
    tier: str, tmp_path: Path
) -> None:
    """That of `--tier engines` was never found."""
    assert journal_folder(tmp_path) == tmp_path
    (tmp_path / tier).mkdir(exist_ok=True)
    (tmp_path / tier / "journal.jsonl").touch()
    assert journal_folder(tmp_path) == tmp_path / tier
