"""The runs below a folder, oldest first, and how they compare with the run before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign import journal
from campaign.baseline import SUMMARY_FILE, read_object
from campaign.errors import CampaignError
from reports.json_summary import SUMMARY_FORMAT, SUMMARY_VERSION
from workload.results import OutcomeClass

FINE = (OutcomeClass.PASSED.value, OutcomeClass.UNSUPPORTED.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run as it is listed. `rate`: dynamic tables a second. `unmet`: floors not met.

    `change`: the rate against the run before of the same tier and profile, as a share; None without one.
    """

    folder: Path
    started: str
    tier: str
    profile: str
    seed: int
    scenarios: int
    definitions: int
    seconds: float
    failures: int
    unmet: int
    interrupted: bool
    change: float | None = None

    @property
    def rate(self) -> float:
        """Dynamic tables a second."""
        return self.definitions / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder that holds a run which cannot be listed, and why."""

    folder: Path
    reason: str


def past_runs(folder: Path) -> tuple[list[PastRun], list[Unreadable]]:
    """The runs below a folder, and those that cannot be read. Raises CampaignError: there is no folder."""
    if not folder.is_dir():
        raise CampaignError(f"no folder {folder}; give one below which `dvs fuzz` or `dvs gate` has run")
    runs, unreadable = [], []
    found = {path.parent for name in (SUMMARY_FILE, journal.JOURNAL_FILE) for path in folder.rglob(name)}
    for path in sorted(found):
        try:
            runs.append(past_run(path))
        except CampaignError as error:
            unreadable.append(Unreadable(path, str(error)))
    return with_trend(sorted(runs, key=lambda run: (run.started, str(run.folder)))), unreadable


def past_run(folder: Path) -> PastRun:
    """The run of one folder; one that was killed is read off its journal. Raises CampaignError."""
    if not (folder / SUMMARY_FILE).is_file():
        return _killed(folder)
    data = read_object(folder / SUMMARY_FILE, {SUMMARY_FORMAT: SUMMARY_VERSION})
    try:
        return PastRun(
            folder=folder,
            started=str(data["started"]),
            tier=str(data["tier"]),
            profile=str(data["profile"]),
            seed=int(data["seed"]),
            scenarios=int(data["scenarios"]),
            definitions=int(data["definitions"]),
            seconds=float(data["seconds"]),
            failures=sum(int(n) for name, n in data["outcomes"].items() if name not in FINE),
            unmet=len(data["coverage"]["unmet"]),
            interrupted=bool(data["interrupted"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CampaignError(f"{folder / SUMMARY_FILE} lacks a figure ({error!r}); it was changed") from error


def _killed(folder: Path) -> PastRun:
    head, entries, _ = journal.read(folder / journal.JOURNAL_FILE)
    outcomes = [entry.judged.outcome for entry in entries]
    return PastRun(
        folder=folder,
        started=str(head["started"]),
        tier=str(head["lane"]["tier"]),
        profile=str(head["profile"]),
        seed=int(head["seed"]),
        scenarios=len(outcomes),
        definitions=sum(outcome.definitions for outcome in outcomes),
        seconds=max((entry.elapsed for entry in entries), default=0.0),
        failures=sum(outcome.outcome.value not in FINE for outcome in outcomes),
        unmet=0,
        interrupted=True,
    )


def with_trend(runs: Iterable[PastRun]) -> list[PastRun]:
    """The runs with their change of speed; they come oldest first."""
    last: dict[tuple[str, str], float] = {}
    told = []
    for run in runs:
        before = last.get((run.tier, run.profile))
        told.append(replace(run, change=run.rate / before - 1) if before else run)
        if run.rate:
            last[run.tier, run.profile] = run.rate
    return told


def run_object(run: PastRun) -> Mapping[str, Any]:
    """A run as JSON data; `change` is a share, 0.1 for a tenth faster."""
    return {
        "folder": str(run.folder),
        "started": run.started,
        "tier": run.tier,
        "profile": run.profile,
        "seed": run.seed,
        "scenarios": run.scenarios,
        "definitions": run.definitions,
        "seconds": run.seconds,
        "definitions_per_second": round(run.rate, 3),
        "change": None if run.change is None else round(run.change, 3),
        "failures": run.failures,
        "floors_unmet": run.unmet,
        "interrupted": run.interrupted,
    }
