"""Another version of this program as something that runs scenarios."""

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
from workload.scenario import SCENARIO_VERSION, Scenario
from workload.trace import Event, Trace

PROGRAM = "from campaign.versions.serve import main; main()"
SERVER = Path("campaign", "versions", "serve.py")
HERE = Path(__file__).resolve().parents[2]
"""Where this version's source is."""

START_LIMIT_S = 180.0
"""A JVM takes half a minute on a busy machine."""

END_LIMIT_S = 20.0


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
        if "events" not in answer:
            raise BrokenElsewhere(str(answer.get("broken")))
        return Trace(decode(answer["events"], tuple[Event, ...], "events"))

    def answer(self) -> dict[str, Any]:
        """The next line. Raises BrokenElsewhere where there is none, or one that is no answer."""
        assert self.process.stdout is not None
        try:
            found = json.loads(self.process.stdout.readline())
        except ValueError as error:
            raise BrokenElsewhere("it is gone, or answers no JSON") from error
        if not isinstance(found, dict):
            raise BrokenElsewhere("it answers no object")
        return found

    def end(self) -> None:
        """Lets it go: without more to read it ends by itself, and takes its temporary files with it."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()


@contextmanager
def other_version(folder: Path, configuration: str) -> Iterator[OtherVersion]:
    """The version in a folder: a checkout, with or without a `.venv`, or a virtual environment.

    A checkout without a `.venv` runs on this process's Python and libraries. Raises CampaignError where it
    does not start, is this very version, or knows other scenarios.
    """
    command = [str(python_of(folder)), "-P", "-c", PROGRAM, configuration]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": source_path(folder, os.environ.get("PYTHONPATH", ""))},
            )
        except OSError as error:
            raise CampaignError(f"the version in {folder} does not start: {error}") from error
        with process:
            other = OtherVersion(process)
            try:
                greet(other, folder, said)
                yield other
            finally:
                other.end()


def is_checkout(folder: Path) -> bool:
    """Whether this program's source is there."""
    return (folder / "campaign").is_dir()


def source_path(folder: Path, mine: str) -> str:
    """PYTHONPATH for the other version: as it is `mine`, without this version and with that checkout."""
    others = [part for part in mine.split(os.pathsep) if part and Path(part).resolve() != HERE]
    return os.pathsep.join([str(folder.resolve()), *others] if is_checkout(folder) else others)


def python_of(folder: Path) -> Path:
    """The Python that runs a folder's version. Raises CampaignError where there is none that can serve."""
    if is_checkout(folder) and not (folder / SERVER).is_file():
        raise CampaignError(
            f"the version in {folder} is too old to be compared: it has no {SERVER}; take a later one"
        )
    for environment in (folder, folder / ".venv"):
        if (environment / "bin" / "python").exists():
            return environment / "bin" / "python"
    if is_checkout(folder):
        return Path(sys.executable)
    raise CampaignError(
        f"{folder} holds no version: give a checkout of this program, or an environment that has it"
    )


def greet(other: OtherVersion, folder: Path, said: IO[str]) -> None:
    """Waits until the other version is ready, and is the one that is meant. Raises CampaignError."""
    late = threading.Timer(START_LIMIT_S, other.process.kill)
    late.start()
    try:
        hello = other.answer()
    except BrokenElsewhere as error:
        other.process.kill()
        other.process.wait()
        said.seek(0)
        last = (said.read().strip().splitlines() or [str(error)])[-1]
        raise CampaignError(f"the version in {folder} does not start: {last}") from error
    finally:
        late.cancel()
    if "refused" in hello:
        raise CampaignError(f"the version in {folder} refuses: {hello['refused']}")
    if "source" not in hello:
        raise CampaignError(f"the version in {folder} is too old to be compared; take a later one")
    if hello.get("scenarios") != SCENARIO_VERSION:
        raise CampaignError(
            f"the version in {folder} reads scenarios of version {hello.get('scenarios')}, this one writes "
            f"{SCENARIO_VERSION}: versions can be compared whose scenarios are the same"
        )
    source = Path(str(hello["source"])).resolve()
    meant = (
        source.is_relative_to(folder.resolve()) if is_checkout(folder) else not source.is_relative_to(HERE)
    )
    if not meant:
        raise CampaignError(f"{folder} would run the source in {source}, which is not what it holds")
