"""The assertion that the regression tests in failure folders call."""

from __future__ import annotations

from pathlib import Path

from campaign.failures.folders import read_scenario
from campaign.lanes.spec import LaneSpec
from reports.difference import diff_block
from reports.findings import by_diagnosis, summary_text
from workload.outcomes.results import Outcome, OutcomeClass


def assert_passes(path: Path, *, tier: str = "rules") -> None:
    """Judges the scenario of a file or failure folder; each refresh compares its row ids with fresh ones.

    Raises AssertionError with the differing rows unless it passes, also where it cannot be judged.
    """
    assert_passed(LaneSpec(tier=tier, fresh_percent=100).build().judge(read_scenario(path)))


def assert_passed(outcome: Outcome) -> None:
    """Raises AssertionError with the differing rows unless the outcome is a pass."""
    blocks = [diff_block(f.difference) for f in by_diagnosis(outcome) if f.difference is not None]
    if outcome.outcome is not OutcomeClass.PASSED:
        raise AssertionError("\n".join([f"{outcome.outcome.value}: {summary_text(outcome)}", *blocks]))
