"""Compares a gate with an earlier gate or run, the baseline: lost coverage, lost speed, surviving faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from campaign.errors import CampaignError
from campaign.mutants.verdict import HuntVerdict
from campaign.runs.result_files import COVERAGE_KINDS, SUMMARY_FILE, StoredRun, read_object, stored_run
from reports.json_summary import SUMMARY_FORMAT, SUMMARY_VERSION
from workload.outcomes.results import RunSummary

GATE_FILE = "gate.json"
GATE_FORMAT = "dvs-gate"
GATE_VERSION = 1

MIN_EXPECTED = 10
"""The least expected count that can be lost: where fewer are expected, they may be missing by chance."""

LOST_SHARE = 0.25
"""A count below this share of the expected one is lost."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier gate or run: its campaigns, and the names of the faults that it killed."""

    path: Path
    campaigns: tuple[StoredRun, ...]
    killed: frozenset[str]

    def campaign_like(self, run: RunSummary) -> StoredRun | None:
        """Returns the last campaign of the same tier and profile as a run; None where there is none."""
        same = [c for c in self.campaigns if (c.tier, c.profile) == (run.tier, run.profile)]
        return same[-1] if same else None


def read_baseline(path: Path) -> Baseline:
    """Returns the gate or run in a folder, or in a JSON file. Raises CampaignError naming what is wrong."""
    files = [path / name for name in (GATE_FILE, SUMMARY_FILE)] if path.is_dir() else [path]
    file = next((file for file in files if file.is_file()), None)
    if file is None and path.is_dir():
        raise CampaignError(
            f"no baseline at {path}: there is neither {GATE_FILE} nor {SUMMARY_FILE}; "
            "give the --out folder of an earlier gate or run"
        )
    file = file or path
    data = read_object(file, {GATE_FORMAT: GATE_VERSION, SUMMARY_FORMAT: SUMMARY_VERSION})
    match data:
        case {"campaigns": list(campaigns), "faults": dict(faults)}:
            killed = frozenset(name for name, verdict in faults.items() if verdict == "killed")
        case _:
            campaigns, killed = [data], frozenset()
    return Baseline(file, tuple(stored_run(campaign, file) for campaign in campaigns), killed)


def regressions(
    baseline: Baseline, campaigns: Iterable[RunSummary], hunted: Mapping[str, HuntVerdict]
) -> Iterator[str]:
    """Yields a sentence for each loss of coverage, and for each fault that was killed and now survives.

    `hunted`: the verdict on each fault that this gate hunted.
    """
    for run in campaigns:
        before = baseline.campaign_like(run)
        if before is not None:
            for problem in coverage_lost(before, run):
                yield f"{run.tier}, {run.profile}: {problem}"
    for fault, verdict in hunted.items():
        if fault in baseline.killed and verdict is HuntVerdict.SURVIVED:
            yield f"fault alive again: {fault}"


def slower(baseline: Baseline, campaigns: Iterable[RunSummary], slowdown: float) -> Iterator[str]:
    """Yields a sentence for each campaign that lost more than the share `slowdown` of its speed."""
    for run in campaigns:
        before = baseline.campaign_like(run)
        if before is not None:
            for problem in speed_lost(before, run, slowdown):
                yield f"{run.tier}, {run.profile}: {problem}"


def coverage_lost(before: StoredRun, run: RunSummary) -> Iterator[str]:
    """Yields a sentence for each coverage count far below that of `before`, scaled to the scenarios run."""
    scale = run.scenarios / before.scenarios if before.scenarios else 0.0
    for kind in COVERAGE_KINDS:
        counts: Mapping[str, int] = getattr(run.coverage, kind)
        for name, count in before.coverage[kind].items():
            expected = count * scale
            reached = counts.get(name, 0)
            if expected >= MIN_EXPECTED and reached < expected * LOST_SHARE:
                what = f"{kind.removesuffix('s')}: {name}"
                yield f"coverage lost: {what}: {reached}, about {expected:.0f} expected"


def speed_lost(before: StoredRun, run: RunSummary, slowdown: float) -> Iterator[str]:
    """Yields a sentence if the run judged fewer dynamic tables per second than `slowdown` allows."""
    rate = run.definitions / run.seconds if run.seconds else before.rate
    if rate < before.rate * (1 - slowdown):
        yield (
            f"throughput lost: {rate:.1f} dynamic tables/s, {before.rate:.1f} before "
            f"(at most {slowdown:.0%} may be lost)"
        )
