"""Runs scenarios on another version of this program, for `dvs compare ... in=FOLDER`.

The other version runs in a process of its own and answers in JSON lines (see campaign.compare.serve).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from campaign.errors import CampaignError
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
"""What the Python of the other version runs; an older version has its server in `campaign/versions`."""

SERVERS = (Path("campaign", "compare", "serve.py"), Path("campaign", "versions", "serve.py"))
"""Where versions have their server; the second place is that of older versions."""

OUR_SOURCE = Path(__file__).resolve().parents[2]
"""The folder with the source of this version."""

START_LIMIT_S = 180.0
"""Seconds until the other version must be ready: on a busy machine the start of a JVM takes half a minute."""

END_LIMIT_S = 20.0
"""Seconds that the other version may take to remove its temporary files."""


class OtherVersionFailed(RuntimeError):
    """The other version could not run a scenario, or its process has ended."""


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """A process of another version, with which `campaign.compare.serve` talks to this one."""

    process: subprocess.Popen[str]

    def run(self, scenario: Scenario) -> Trace:
        """The trace of a scenario. Raises OtherVersionFailed: the scenario cannot be run there."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(scenario_to_json(scenario)) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise OtherVersionFailed("its process has ended") from error
        answer = self.answer()
        if "events" not in answer:
            raise OtherVersionFailed(str(answer.get("broken")))
        return Trace(decode(answer["events"], tuple[Event, ...], "events"))

    def answer(self) -> dict[str, Any]:
        """The next answer. Raises OtherVersionFailed where there is none, or it is no JSON object."""
        assert self.process.stdout is not None
        try:
            answer = json.loads(self.process.stdout.readline())
        except ValueError as error:
            raise OtherVersionFailed("its process has ended, or its answer is no JSON") from error
        if not isinstance(answer, dict):
            raise OtherVersionFailed("its answer is no JSON object")
        return answer

    def end(self) -> None:
        """Ends the process: when its input is closed it stops and removes its temporary files."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()


@contextmanager
def other_version(folder: Path, configuration: str) -> Iterator[OtherVersion]:
    """The version in a folder, running until the end of the block.

    The folder is a checkout, with or without a `.venv`, or a virtual environment. A checkout without a
    `.venv` runs on the Python and libraries of this process. Raises CampaignError: the version does not
    start, is this very version, or reads another version of scenarios.
    """
    command = [str(python_of(folder)), "-P", "-c", PROGRAM, configuration]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": source_path(folder, os.environ.get("PYTHONPATH", ""))},
            )
        except OSError as error:
            raise CampaignError(f"the version in {folder} does not start: {error}") from error
        with process:
            other = OtherVersion(process)
            try:
                check_greeting(other, folder, stderr)
                yield other
            finally:
                other.end()


def is_checkout(folder: Path) -> bool:
    """Whether a folder holds the source of this program."""
    return (folder / "campaign").is_dir()


def source_path(folder: Path, ours: str) -> str:
    """PYTHONPATH of the other version: `ours` without the source of this one, with that checkout first."""
    others = [part for part in ours.split(os.pathsep) if part and Path(part).resolve() != OUR_SOURCE]
    return os.pathsep.join([str(folder.resolve()), *others] if is_checkout(folder) else others)


def python_of(folder: Path) -> Path:
    """The Python that runs the version in a folder. Raises CampaignError where no version can run there."""
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


def check_greeting(other: OtherVersion, folder: Path, stderr: IO[str]) -> None:
    """Waits until the other version is ready. Raises CampaignError where it is not the one of the folder."""
    timer = threading.Timer(START_LIMIT_S, other.process.kill)
    timer.start()
    try:
        greeting = other.answer()
    except OtherVersionFailed as error:
        other.process.kill()
        other.process.wait()
        stderr.seek(0)
        last = (stderr.read().strip().splitlines() or [str(error)])[-1]
        raise CampaignError(f"the version in {folder} does not start: {last}") from error
    finally:
        timer.cancel()
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
