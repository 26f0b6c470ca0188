"""One campaign from plan to folder: run, count, shrink what failed, write it all down."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from campaign import folders
from campaign.lanes import LaneSpec
from campaign.runner import Judged, Plan, run
from campaign.tally import Tally
from campaign.triage import smallest
from generators.generate import scenario_at
from workload.results import Failure, OutcomeClass, RunSummary

SHRUNK = 5
"""Failures that are shrunk and kept; the others are counted."""

ATTEMPTS = {"rules": 400, "delta": 30}
"""Runs that shrinking one failure may take."""


def run_campaign(
    plan: Plan, spec: LaneSpec, out: Path | None, progress: Callable[[Tally], None] = lambda tally: None
) -> RunSummary:
    """Runs a plan. With `out`, failures get folders there, and summary and report are written.

    Interrupted (KeyboardInterrupt), it ends with what has been judged so far.
    """
    if out is not None:
        folders.ensure_writable(out)
    start = time.perf_counter()
    tally = Tally()
    failed: list[Judged] = []
    interrupted = False
    try:
        for judged in run(plan, spec):
            tally.add(judged.outcome, judged.coverage)
            if judged.outcome.outcome is not OutcomeClass.PASSED:
                failed.append(judged)
            progress(tally)
    except KeyboardInterrupt:
        # What has been judged is kept, and told as what it is: a part.
        interrupted = True
    seconds = time.perf_counter() - start
    failed.sort(key=lambda judged: judged.index)
    kept = tuple(keep(judged, plan, spec, out) for judged in failed[:SHRUNK])
    summary = tally.summary(plan.seed, spec.tier, plan.profile, seconds, kept)
    summary = replace(summary, interrupted=interrupted)
    if out is not None:
        folders.write_run(out, summary)
    return summary


def keep(judged: Judged, plan: Plan, spec: LaneSpec, out: Path | None) -> Failure:
    """Shrinks a failure and writes its folder."""
    scenario = scenario_at(plan.seed, plan.profile, judged.index)
    shrunk, outcome = smallest(spec.build(), scenario, judged.outcome, ATTEMPTS.get(spec.tier, 200))
    folder = ""
    if out is not None:
        path = out / "failures" / f"{judged.index:06d}"
        folders.write_failure(path, shrunk, scenario, outcome, spec.tier)
        folder = str(path)
    return Failure(index=judged.index, scenario=scenario, shrunk=shrunk, outcome=outcome, folder=folder)
