"""`dvs runs`: the runs below a folder, oldest first, each with its speed against the run before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from campaign.errors import CampaignError
from campaign.runs import journal
from campaign.runs.result_files import SUMMARY_FILE, StoredRun, read_object, stored_run
from reports.documents import PastRunDocument
from reports.json_summary import SUMMARY_FORMAT, SUMMARY_VERSION
from workload.outcomes.run_verdict import spoiled


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run and its folder.

    `change`: how much faster it was than the run before of the same tier and profile, as a share (0.1 for
    10 %); None where there is no such run.
    """

    folder: Path
    run: StoredRun
    change: float | None = None

    @property
    def failures(self) -> int:
        """Scenarios that keep the run from being a pass."""
        return spoiled(self.run.outcomes)


@dataclass(frozen=True, slots=True)
class PastRuns:
    """The runs below a folder, oldest first. `unreadable`: why a folder's run cannot be listed."""

    runs: tuple[PastRun, ...]
    unreadable: Mapping[Path, str]


def past_runs(folder: Path) -> PastRuns:
    """Returns the runs below a folder. Raises CampaignError: there is no such folder."""
    if not folder.is_dir():
        raise CampaignError(f"no folder {folder}; give one below which `dvs fuzz` or `dvs gate` has run")
    runs: dict[Path, StoredRun] = {}
    unreadable: dict[Path, str] = {}
    files = (path for name in (SUMMARY_FILE, journal.JOURNAL_FILE) for path in folder.rglob(name))
    for path in sorted({file.parent for file in files}):
        try:
            runs[path] = run_of(path)
        except CampaignError as error:
            unreadable[path] = str(error)
    oldest_first = sorted(runs.items(), key=lambda item: (item[1].started, str(item[0])))
    return PastRuns(tuple(with_changes(oldest_first)), unreadable)


def run_of(folder: Path) -> StoredRun:
    """Returns the run in a folder; of a run that was killed, what its journal has. Raises CampaignError."""
    path = folder / SUMMARY_FILE
    if path.is_file():
        return stored_run(read_object(path, {SUMMARY_FORMAT: SUMMARY_VERSION}), path)
    contents = journal.read(folder / journal.JOURNAL_FILE)
    outcomes = [entry.judged.outcome for entry in contents.entries]
    return StoredRun(
        started=str(contents.head["started"]),
        tier=str(contents.head["lane"]["tier"]),
        profile=str(contents.head["profile"]),
        seed=int(contents.head["seed"]),
        scenarios=len(outcomes),
        definitions=sum(outcome.definitions for outcome in outcomes),
        seconds=max((entry.elapsed for entry in contents.entries), default=0.0),
        interrupted=True,
        outcomes=Counter(outcome.outcome.value for outcome in outcomes),
    )


def with_changes(runs: Iterable[tuple[Path, StoredRun]]) -> Iterable[PastRun]:
    """Yields each run with its change of speed. `runs`: oldest first."""
    rates: dict[tuple[str, str], float] = {}
    for folder, run in runs:
        before = rates.get((run.tier, run.profile))
        yield PastRun(folder, run, run.rate / before - 1 if before else None)
        if run.rate:
            rates[run.tier, run.profile] = run.rate


def run_object(past: PastRun) -> PastRunDocument:
    """Returns a run as JSON data; `change` is a share, 0.1 for a tenth faster."""
    figures = {
        name: value for name, value in asdict(past.run).items() if name not in ("outcomes", "coverage")
    }
    document = {
        "folder": str(past.folder),
        **figures,
        "definitions_per_second": round(past.run.rate, 3),
        "change": None if past.change is None else round(past.change, 3),
        "failures": past.failures,
    }
    return cast("PastRunDocument", document)
