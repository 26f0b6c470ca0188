"""A gate as JSON data (`gate.json`): for scripts, and as the baseline of a later gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from campaign.exit_codes import EXIT_CODES
from campaign.gate.baseline import GATE_FORMAT, GATE_VERSION
from campaign.gate.stage import GatePlan, Stage, hunted_faults
from reports.documents import GateDocument
from reports.json_summary import summary_object
from workload.outcomes.decision import Decision

GATE_WORDS = {Decision.PASSED: "open", Decision.FAILED: "shut", Decision.UNDECIDED: "undecided"}


def gate_object(plan: GatePlan, stages: Sequence[Stage], verdict: Decision, started: str) -> GateDocument:
    """Returns the gate as JSON data. `started`: ISO 8601. Durations are seconds."""
    return {
        "format": GATE_FORMAT,
        "version": GATE_VERSION,
        "started": started,
        "profile": plan.gate.name,
        "seed": plan.seed,
        "verdict": GATE_WORDS[verdict],
        "exit_status": int(EXIT_CODES[verdict]),
        "seconds": round(sum(stage.seconds for stage in stages), 1),
        "baseline": None if plan.baseline is None else str(plan.baseline.path),
        "stages": [
            {
                "name": stage.name,
                "verdict": stage.verdict.value,
                "message": stage.message,
                "seconds": round(stage.seconds, 1),
                "look": stage.look,
                "report": _report_path(plan, stage),
                "cases": [
                    {
                        "name": case.name,
                        "verdict": case.verdict.value,
                        "message": case.message,
                        "details": case.details,
                    }
                    for case in stage.junit_cases
                ],
            }
            for stage in stages
        ],
        "campaigns": [summary_object(stage.summary) for stage in stages if stage.summary is not None],
        "faults": {fault: verdict.value for fault, verdict in hunted_faults(stages).items()},
    }


def _report_path(plan: GatePlan, stage: Stage) -> str | None:
    """Returns the path of a campaign's report page, relative to the gate's folder.

    None for a stage that is no campaign.
    """
    if stage.summary is None:
        return None
    return str(Path(stage.look).relative_to(plan.out))
