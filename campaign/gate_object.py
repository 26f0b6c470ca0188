"""A gate as JSON data: for machines, and as the baseline of a later gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from campaign.baseline import GATE_FORMAT, GATE_VERSION
from campaign.exit_codes import ExitCode
from campaign.gate import GatePlan, Stage
from reports.json_summary import summary_object

STAGE_WORDS = {ExitCode.OK: "passed", ExitCode.FAILED: "failed", ExitCode.UNKNOWN: "undecided"}
GATE_WORDS = {ExitCode.OK: "open", ExitCode.FAILED: "shut", ExitCode.UNKNOWN: "undecided"}


def gate_object(plan: GatePlan, stages: Sequence[Stage], verdict: ExitCode, started: str) -> dict[str, Any]:
    """`verdict`: open, shut or undecided; `faults`: killed or survived, each. Times are seconds."""
    return {
        "format": GATE_FORMAT,
        "version": GATE_VERSION,
        "started": started,
        "profile": plan.gate.name,
        "seed": plan.seed,
        "verdict": GATE_WORDS[verdict],
        "exit_status": int(verdict),
        "seconds": round(sum(stage.seconds for stage in stages), 1),
        "baseline": None if plan.baseline is None else str(plan.baseline.path),
        "stages": [
            {
                "name": stage.name,
                "verdict": STAGE_WORDS[stage.verdict],
                "said": stage.said,
                "seconds": round(stage.seconds, 1),
                "cases": [
                    {"name": case.name, "verdict": case.verdict.value, "message": case.message}
                    for case in stage.cases
                ],
            }
            for stage in stages
        ],
        "campaigns": [summary_object(stage.summary) for stage in stages if stage.summary is not None],
        "faults": {
            fault: "killed" if dead else "survived"
            for stage in stages
            for fault, dead in stage.killed.items()
        },
    }
