"""Another version of this program as something that runs scenarios."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from campaign.errors import CampaignError
from workload.codec import decode, scenario_to_json
from workload.scenario import SCENARIO_VERSION, Scenario
from workload.trace import Event, Trace

PROGRAM = "from campaign.versions.serve import main; main()"


class BrokenElsewhere(RuntimeError):
    """The other version could not run a scenario, or is gone."""


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """A process of another version, as `campaign.versions.serve` answers."""

    process: subprocess.Popen[str]

    def run(self, scenario: Scenario) -> Trace:
        """The trace of a scenario, without what the engine tells beyond contents. Raises BrokenElsewhere."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(scenario_to_json(scenario)) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise BrokenElsewhere("it is gone") from error
        answer = self.answer()
        if "broken" in answer:
            raise BrokenElsewhere(str(answer["broken"]))
        return Trace(decode(answer["events"], tuple[Event, ...], "events"))

    def answer(self) -> dict[str, Any]:
        """The next line. Raises BrokenElsewhere where there is none."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise BrokenElsewhere("it is gone")
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def other_version(folder: Path, configuration: str) -> Iterator[OtherVersion]:
    """The version in a folder: a checkout, with or without a `.venv`, or a virtual environment.

    A checkout without a `.venv` runs on this process's Python and libraries. Raises CampaignError where it
    does not start, or knows other scenarios than this version.
    """
    command = [str(python_of(folder)), "-P", "-c", PROGRAM, configuration]
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve())} if is_checkout(folder) else None
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            encoding="utf-8",
            env=environment,
        ) as process,
    ):
        try:
            other = OtherVersion(process)
            greet(other, folder, said)
            yield other
        finally:
            process.kill()


def is_checkout(folder: Path) -> bool:
    """Whether this program's source is there."""
    return (folder / "campaign").is_dir()


def python_of(folder: Path) -> Path:
    """The Python that runs a folder's version. Raises CampaignError where there is no version."""
    for environment in (folder, folder / ".venv"):
        if (environment / "bin" / "python").exists():
            return environment / "bin" / "python"
    if is_checkout(folder):
        return Path(sys.executable)
    raise CampaignError(
        f"{folder} holds no version: give a checkout of this program, or an environment with it"
    )


def greet(other: OtherVersion, folder: Path, said: IO[str]) -> None:
    """Waits until the other version is ready. Raises CampaignError."""
    try:
        hello = other.answer()
    except (BrokenElsewhere, ValueError) as error:
        other.process.wait()
        said.seek(0)
        last = (said.read().strip().splitlines() or ["it said nothing"])[-1]
        raise CampaignError(f"the version in {folder} does not start: {last}") from error
    if "refused" in hello:
        raise CampaignError(f"the version in {folder} refuses: {hello['refused']}")
    if hello.get("scenarios") != SCENARIO_VERSION:
        raise CampaignError(
            f"the version in {folder} reads scenarios of version {hello.get('scenarios')}, this one writes "
            f"{SCENARIO_VERSION}: versions can be compared whose scenarios are the same"
        )
