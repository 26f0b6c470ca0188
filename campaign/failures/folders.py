"""The files that a run writes: its summary, its reports, and a folder for each failure."""

from __future__ import annotations

import json
from pathlib import Path

from campaign.errors import CampaignError
from campaign.failures.reproduction import adapter_reproduction, reproduction
from campaign.failures.triage import Progress
from campaign.files import write_text
from campaign.lanes.spec import LaneSpec
from engines.registry import limits_of
from reports.failure_page import failure_markdown
from reports.findings import replay_command, summary_text
from reports.json_summary import summary_object
from reports.reproduction import identifier, regression_test, reproduce_script
from reports.run_junit import run_junit
from reports.run_page import run_page
from reports.run_sarif import run_sarif
from reports.text import summary_markdown
from workload.codec import scenario_from_json, scenario_to_json
from workload.errors import WorkloadError
from workload.outcomes.results import Failure, Outcome, RunSummary
from workload.scenario import Scenario

SCENARIO_FILE = "scenario.json"
ORIGINAL_FILE = "original.json"
PROGRESS_FILE = "shrinking.json"


def ensure_writable(out: Path) -> None:
    """Raises CampaignError before anything runs if the output folder cannot be written."""
    probe = out / ".writable"
    write_text(probe, "")
    probe.unlink()


def write_failure(folder: Path, failure: Failure, spec: LaneSpec) -> None:
    """Writes a failure's folder: its smallest and its original scenario, a page, a script and a test."""
    write_text(folder / ORIGINAL_FILE, scenario_to_json(failure.scenario))
    _write_shown(folder, failure.shrunk, failure.scenario, failure.outcome, spec)


def update_failure(folder: Path, scenario: Scenario, outcome: Outcome, spec: LaneSpec) -> None:
    """Writes a failure folder again with a smaller scenario; the original scenario stays."""
    original = folder / ORIGINAL_FILE
    _write_shown(folder, scenario, read_scenario(original) if original.exists() else scenario, outcome, spec)


def _write_shown(
    folder: Path, scenario: Scenario, original: Scenario, outcome: Outcome, spec: LaneSpec
) -> None:
    """Writes the files that depend on the shrunk scenario: itself, the page, the test and the script."""
    replay = replay_command(str(folder), spec.options)
    write_text(folder / SCENARIO_FILE, scenario_to_json(scenario))
    page = failure_markdown(
        scenario,
        outcome,
        original=original,
        replay=replay,
        dialect=spec.dialect,
        of_adapter=bool(spec.adapter),
        keyed=limits_of(spec.tier).keys,
    )
    write_text(folder / "README.md", page)
    test = regression_test(scenario.name, summary_text(outcome), spec.tier)
    write_text(folder / f"test_{identifier(scenario.name)}.py", test)
    program = (
        adapter_reproduction(scenario, outcome, replay, spec)
        if spec.adapter
        else reproduction(scenario, outcome, replay)
    )
    if program is not None:
        write_text(folder / "reproduce.py", reproduce_script(program))


def write_progress(folder: Path, spec: LaneSpec, progress: Progress) -> None:
    """Writes what a search for a smaller scenario has tried, so that the next search goes on from there."""
    tried = {
        "lane": spec.options,
        "tried_for_check": sorted(key.hex() for key in progress.tried_for_check),
        "tried_for_class": sorted(key.hex() for key in progress.tried_for_class),
    }
    write_text(folder / PROGRESS_FILE, json.dumps(tried) + "\n")


def read_progress(folder: Path, spec: LaneSpec, scenario: Scenario) -> Progress:
    """Returns the progress of the last search on this lane.

    The progress is empty if its file is missing, cannot be read, or belongs to another lane.
    """
    try:
        tried = json.loads((folder / PROGRESS_FILE).read_text(encoding="utf-8"))
        if tried["lane"] == list(spec.options):
            return Progress(
                scenario,
                tried_for_check={bytes.fromhex(key) for key in tried["tried_for_check"]},
                tried_for_class={bytes.fromhex(key) for key in tried["tried_for_class"]},
            )
    except (OSError, ValueError, KeyError, TypeError):
        # The file only saves time: without it, the search starts from the beginning.
        pass
    return Progress(scenario)


def write_run(out: Path, summary: RunSummary) -> Path:
    """Writes the summary and the reports of a run; returns the path of the HTML page."""
    write_text(out / "summary.json", json.dumps(summary_object(summary), indent=2) + "\n")
    write_text(out / "report.md", summary_markdown(summary))
    write_text(out / "report.sarif", run_sarif(summary))
    write_text(out / "junit.xml", run_junit(summary))
    report = out / "report.html"
    write_text(report, run_page(summary))
    return report


def read_scenario(path: Path) -> Scenario:
    """Returns the scenario of a file or failure folder.

    Raises CampaignError or WorkloadError; the text names the file.
    """
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
