"""One campaign from plan to folder: run, count, shrink what failed, write it all down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from campaign import folders, journal
from campaign.errors import CampaignError
from campaign.failures import ShrinkBudget, Understood, understand
from campaign.floors import require_reachable_floors
from campaign.ignore import IgnoreRules
from campaign.journal import Journal
from campaign.lanes import LaneSpec
from campaign.lifting import reachable
from campaign.lock import locked
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
    resume: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    shrinking: ShrinkBudget = ShrinkBudget(),
    ignored: IgnoreRules = IgnoreRules(),
    told: Callable[[str], None] = lambda text: None,
    asked: Mapping[str, Any] = MappingProxyType({}),
) -> RunSummary:
    """Runs a plan. With `out`, what is judged is journalled there as it comes, failures get folders, and
    summary and report are written. `resume`: go on with the run that is journalled there.

    `shrinking` bounds what is spent on failures afterwards; `ignored` are the failures that are known.
    `told` hears what is done when all has been judged; `asked` is kept in the journal's head for who goes on.

    Interrupted (KeyboardInterrupt), it ends with what has been judged so far. Raises CampaignError: `out`
    is in use, cannot be written, or holds another run than the one that is to go on; a floor of the profile
    can never be met.
    """
    profile = replace(plan.profile, floors=reachable(plan.profile.floors, spec.lifted))
    require_reachable_floors(profile)
    started = now().isoformat(timespec="seconds")
    with journalled(plan, spec, out, started, resume=resume, asked=asked) as kept_in:
        counted = judge_all(plan, spec, kept_in, progress)
        tally, failed = counted.tally, counted.failed
        allowed = allowance(shrinking, len(failed), counted.interrupted, told)
        understood = understood_in(tally, failed, plan, spec, out, allowed, ignored)
        summary = replace(
            tally.summary(plan.seed, spec.name, profile, counted.seconds, understood.failures),
            interrupted=counted.interrupted,
            started=started if kept_in is None else kept_in.started,
            groups=understood.groups,
            rule_notes=understood.notes,
        )
        if out is not None:
            folders.write_run(out, summary)
        return summary


@dataclass(slots=True)
class Counted:
    """What a plan came to, what was journalled of it before included; `failed`: all that did not pass."""

    tally: Tally = field(default_factory=Tally)
    failed: list[Judged] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0

    def add(self, judged: Judged) -> None:
        """Counts one scenario."""
        self.tally.add(judged.outcome, judged.coverage)
        if judged.outcome.outcome is not OutcomeClass.PASSED:
            self.failed.append(judged)


def judge_all(
    plan: Plan, spec: LaneSpec, kept_in: Journal | None, progress: Callable[[Tally], None]
) -> Counted:
    """Judges what is left of a plan; interrupted (KeyboardInterrupt), it keeps what has been judged."""
    start = time.perf_counter() - (0.0 if kept_in is None else kept_in.elapsed)
    counted = Counted()
    for entry in () if kept_in is None else kept_in.entries:
        counted.add(entry.judged)
    progress(counted.tally)
    try:
        with closing(run(left_of(plan, kept_in), spec)) as results:
            for judged in results:
                if kept_in is not None:
                    kept_in.add(judged, time.perf_counter() - start)
                counted.add(judged)
                progress(counted.tally)
    except KeyboardInterrupt:
        # Told as what it is: a part.
        counted.interrupted = True
    counted.seconds = time.perf_counter() - start
    return counted


@contextmanager
def journalled(
    plan: Plan, spec: LaneSpec, out: Path | None, started: str, *, resume: bool, asked: Mapping[str, Any]
) -> Iterator[Journal | None]:
    """The journal of a run, its folder locked; None where the run has no folder. Raises CampaignError."""
    if out is None:
        if resume:
            raise CampaignError("a run without a folder leaves nothing to go on with")
        yield None
        return
    folders.ensure_writable(out)
    with locked(out), journal.opened(out, plan, spec, started, resume=resume, asked=asked) as opened:
        yield opened


def left_of(plan: Plan, kept_in: Journal | None) -> Plan:
    """What of a plan is not journalled yet; the time that went into what is counts."""
    if kept_in is None or not kept_in.entries:
        return plan
    return replace(
        plan,
        done=frozenset(entry.judged.index for entry in kept_in.entries),
        budget=None if plan.budget is None else max(0.0, plan.budget - kept_in.elapsed),
    )


def understood_in(
    tally: Tally,
    failed: list[Judged],
    plan: Plan,
    spec: LaneSpec,
    out: Path | None,
    shrinking: ShrinkBudget,
    ignored: IgnoreRules,
) -> Understood:
    """The failures shrunk and grouped; what they turned out to be, and the time, goes to the tally."""
    start = time.perf_counter()
    failed.sort(key=lambda judged: judged.index)
    understood = understand(failed, plan, spec, out, shrinking, ignored)
    for judged in failed:
        if judged.index in understood.outcomes:
            tally.reclassify(judged.outcome.outcome, understood.outcomes[judged.index].outcome)
    if failed:
        tally.times["shrink"] = time.perf_counter() - start
    return understood


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
