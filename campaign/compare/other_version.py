"""The run of scenarios on another version of this program, for `dvs compare ... in=FOLDER`.

The other version runs in a process of its own and answers in JSON lines (see campaign.compare.serve).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaign.errors import CampaignError
from servers.child import Child, ChildFailed, ChildMissing, child
from workload.codec import decode, scenario_to_json
from workload.outcomes.trace import Event, Trace
from workload.scenario import SCENARIO_VERSION, Scenario

PROGRAM = """\
try:
    from campaign.compare.serve import main
except ModuleNotFoundError as error:
    if not error.name.startswith("campaign.compare"):
        raise
    from campaign.versions.serve import main
main()
"""
"""The program that the Python of the other version runs; older versions have `campaign/versions`."""

SERVERS = (Path("campaign", "compare", "serve.py"), Path("campaign", "versions", "serve.py"))
"""The places where versions have their server; the second place is that of older versions."""

OUR_SOURCE = Path(__file__).resolve().parents[2]
"""The folder with the source of this version."""

START_LIMIT_S = 180.0
"""Seconds until the other version must be ready: on a busy machine the start of a JVM takes half a minute."""


class OtherVersionFailed(RuntimeError):
    """Raised where the other version cannot run a scenario, or its process has ended."""


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """A process of another version, with which `campaign.compare.serve` talks to this one."""

    child: Child

    def run(self, scenario: Scenario) -> Trace:
        """Runs a scenario, and returns its trace. Raises OtherVersionFailed: it cannot be run there."""
        try:
            answer = self.child.ask(scenario_to_json(scenario))
        except ChildFailed as error:
            raise OtherVersionFailed(str(error)) from error
        if "events" not in answer:
            raise OtherVersionFailed(str(answer.get("broken")))
        return Trace(decode(answer["events"], tuple[Event, ...], "events"))


@contextmanager
def other_version(folder: Path, configuration: str) -> Iterator[OtherVersion]:
    """Starts the version in a folder, and yields it, running until the end of the block.

    The folder is a checkout, with or without a `.venv`, or a virtual environment. A checkout without a
    `.venv` runs on the Python and libraries of this process. Raises CampaignError: the version does not
    start, is this very version, or reads another version of scenarios.
    """
    command = [str(python_of(folder)), "-P", "-c", PROGRAM, configuration]
    path = source_path(folder, os.environ.get("PYTHONPATH", ""))
    try:
        with child(command, {**os.environ, "PYTHONPATH": path}) as process:
            check_greeting(process, folder)
            yield OtherVersion(process)
    except ChildMissing as error:
        raise CampaignError(f"the version in {folder} does not start: {error}") from error


def is_checkout(folder: Path) -> bool:
    """Returns whether a folder holds the source of this program."""
    return (folder / "campaign").is_dir()


def source_path(folder: Path, ours: str) -> str:
    """Returns the other version's PYTHONPATH: its checkout, and `ours` without the source of this version."""
    others = [part for part in ours.split(os.pathsep) if part and Path(part).resolve() != OUR_SOURCE]
    return os.pathsep.join([str(folder.resolve()), *others] if is_checkout(folder) else others)


def python_of(folder: Path) -> Path:
    """Returns the Python that runs the version in a folder. Raises CampaignError: none can run there."""
    if is_checkout(folder) and not any((folder / server).is_file() for server in SERVERS):
        raise CampaignError(
            f"the version in {folder} is too old to be compared: it has no {SERVERS[-1]}; give a later one"
        )
    for environment in (folder, folder / ".venv"):
        if (environment / "bin" / "python").exists():
            return environment / "bin" / "python"
    if is_checkout(folder):
        return Path(sys.executable)
    raise CampaignError(
        f"{folder} holds no version: give a checkout of this program, or a virtual environment with it"
    )


def check_greeting(process: Child, folder: Path) -> None:
    """Waits until the other version is ready. Raises CampaignError: it is not the version of the folder."""
    try:
        greeting = process.answer(START_LIMIT_S)
    except ChildFailed as error:
        raise CampaignError(
            f"the version in {folder} does not start: {process.last_words() or error}"
        ) from error
    if "refused" in greeting:
        raise CampaignError(f"the version in {folder} refuses: {greeting['refused']}")
    if "source" not in greeting:
        raise CampaignError(f"the version in {folder} is too old to be compared; give a later one")
    if greeting.get("scenarios") != SCENARIO_VERSION:
        raise CampaignError(
            f"the version in {folder} reads scenarios of version {greeting.get('scenarios')}, this one "
            f"writes version {SCENARIO_VERSION}; give a version that reads the same scenarios"
        )
    source = Path(str(greeting["source"])).resolve()
    expected = (
        source.is_relative_to(folder.resolve())
        if is_checkout(folder)
        else not source.is_relative_to(OUR_SOURCE)
    )
    if not expected:
        raise CampaignError(
            f"{folder} would run the source in {source}, which is not what the folder holds; "
            "give a folder with another version"
        )
