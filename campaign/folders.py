"""What a run leaves on disk: its summary, its report, a folder per failure. Nothing is ever half-written."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path

from campaign.errors import CampaignError
from reports.failure_page import failure_markdown
from reports.findings import replay_command
from reports.json_summary import summary_object
from reports.run_page import run_page
from workload.codec import scenario_from_json, scenario_to_json
from workload.errors import WorkloadError
from workload.results import Outcome, RunSummary
from workload.scenario import Scenario

SCENARIO_FILE = "scenario.json"
NUMBERS = count()


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all. Raises CampaignError naming the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened as any file is, so that the user's umask decides who may read it.
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(NUMBERS)}")
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CampaignError(
            f"cannot write {path}: {error.strerror or error}; choose another place for it"
        ) from error


def ensure_writable(out: Path) -> None:
    """Raises CampaignError before anything runs if the output folder cannot be written."""
    probe = out / ".writable"
    write_text(probe, "")
    probe.unlink()


def write_failure(
    folder: Path, shrunk: Scenario, original: Scenario, outcome: Outcome, tier: str = "rules"
) -> None:
    """A failure's folder: the scenario that fails, the one it was found in, and a page to read."""
    write_text(folder / SCENARIO_FILE, scenario_to_json(shrunk))
    write_text(folder / "original.json", scenario_to_json(original))
    page = failure_markdown(shrunk, outcome, original=original, replay=replay_command(str(folder), tier))
    write_text(folder / "README.md", page)


def write_run(out: Path, summary: RunSummary) -> Path:
    """Summary and report of a run; returns the report's path."""
    write_text(out / "summary.json", json.dumps(summary_object(summary), indent=2) + "\n")
    report = out / "report.html"
    write_text(report, run_page(summary))
    return report


def read_scenario(path: Path) -> Scenario:
    """The scenario of a file or failure folder. Raises WorkloadError or CampaignError naming the file."""
    file = path / SCENARIO_FILE if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CampaignError(f"no scenario at {file}; give a scenario file or a failure folder") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"cannot read {file}: {error}") from error
    try:
        return scenario_from_json(text)
    except WorkloadError as error:
        raise WorkloadError(f"{file}: {error}") from error
