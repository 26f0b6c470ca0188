"""One campaign from plan to folder: run, count, shrink what failed, write it all down."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from campaign import folders
from campaign.failures import ShrinkBudget, understand
from campaign.ignore import IgnoreRules
from campaign.lanes import LaneSpec
from campaign.runner import Judged, Plan, run
from campaign.tally import Tally
from workload.results import OutcomeClass, RunSummary

AFTER_INTERRUPT = 10.0
"""Seconds that shrinking may take of someone who has just ended a run; `dvs shrink` goes on from there."""


def run_campaign(
    plan: Plan,
    spec: LaneSpec,
    out: Path | None,
    progress: Callable[[Tally], None] = lambda tally: None,
    *,
    shrinking: ShrinkBudget = ShrinkBudget(),
    ignored: IgnoreRules = IgnoreRules(),
    told: Callable[[str], None] = lambda text: None,
) -> RunSummary:
    """Runs a plan. With `out`, failures get folders there, and summary and report are written.

    `shrinking` bounds what is spent on failures afterwards; `ignored` are the failures that are known.
    `told` hears what is done when all has been judged.

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
    allowed = allowance(shrinking, len(failed), interrupted, told)
    understood = understand(failed, plan, spec, out, allowed, ignored)
    for judged in failed:
        if judged.index in understood.outcomes:
            tally.reclassify(judged.outcome.outcome, understood.outcomes[judged.index].outcome)
    summary = replace(
        tally.summary(plan.seed, spec.tier, plan.profile, seconds, understood.failures),
        interrupted=interrupted,
        groups=understood.groups,
        rule_notes=understood.notes,
    )
    if out is not None:
        folders.write_run(out, summary)
    return summary


def allowance(
    wanted: ShrinkBudget, failures: int, interrupted: bool, told: Callable[[str], None]
) -> ShrinkBudget:
    """What may be spent on shrinking, and says so."""
    if interrupted:
        wanted = replace(wanted, seconds=min(wanted.seconds, AFTER_INTERRUPT))
    most = min(failures, wanted.failures)
    if most:
        told(f"shrinking {most} of {failures} failures, for {wanted.seconds:g} s at most ...")
    return wanted
