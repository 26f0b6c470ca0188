"""The process of dbt in the user's Python: a child that runs `driver.py` and answers in JSON lines."""

from __future__ import annotations

import datetime as dt
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.dbt.rows import BASE
from campaign.errors import CampaignError
from servers.child import Child, ChildFailed, ChildMissing, child

DRIVER = Path(__file__).with_name("driver.py")

REQUEST_LIMIT_S = 300.0
"""Seconds that one request may take: a model that never ends must not hold the harness for ever."""


NOW = re.compile(r"\{now(?::([^{}]*))?\}")
"""The text that stands for the time of each run in `--vars`, with a format or without."""


class DbtBroken(RuntimeError):
    """Raised for a request without an answer: dbt, adapter or database failed, or the process has ended."""


@dataclass(frozen=True, slots=True)
class Target:
    """A project and its target, by name. `python`: that of dbt; `vars`: passed on to dbt (`vars_at`)."""

    project: Path
    python: str
    select: tuple[str, ...] = ()
    profiles_dir: str | None = None
    profile: str | None = None
    target: str | None = None
    vars: str | None = None


@dataclass(frozen=True, slots=True)
class Dbt:
    """A running driver with an open project. `opened`: its answer to the request `open`."""

    child: Child
    target: Target
    folder: Path
    opened: Mapping[str, Any]

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Sends the request `do` with its fields, and returns the answer. Raises DbtBroken, CampaignError."""
        return self._checked(lambda: self.child.ask({"do": do, **request}, REQUEST_LIMIT_S))

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.child.process.poll() is None

    def go_on(self) -> dict[str, Any]:
        """Lets a run that was paused go on, and returns its answer. Raises DbtBroken."""
        return self._checked(lambda: self.child.ask("go on", REQUEST_LIMIT_S))

    def execute(self, statements: Sequence[str]) -> None:
        """Executes SQL. Raises DbtBroken."""
        if statements:
            self.ask("execute", statements=list(statements))

    def _checked(self, answer_of: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = answer_of()
        except ChildFailed as error:
            raise DbtBroken(f"dbt's process failed: {self.child.last_words() or error}") from error
        if "refused" in answer:
            raise CampaignError(answer["refused"])
        if "broken" in answer:
            raise DbtBroken(answer["broken"])
        return answer


def vars_at(text: str | None, now: dt.datetime) -> str | None:
    """Returns the vars of a run with its time in place of `{now}`, or of `{now:%Y-%m-%d}` in this format.

    >>> vars_at("{day: '{now:%Y-%m-%d}'}", dt.datetime(2024, 2, 15))
    "{day: '2024-02-15'}"
    """
    return text and NOW.sub(lambda each: now.strftime(each[1] or "%Y-%m-%d %H:%M:%S"), text)


@contextmanager
def dbt_process(target: Target, beside: Dbt | None = None) -> Iterator[Dbt]:
    """Starts a driver, and yields it with the project open until the end of the block.

    `beside`: another process, whose databases it shares; else they are its own, in memory where the machine
    has such a file system. Raises CampaignError: there is no such Python, or dbt refuses the project.
    """
    memory = Path("/dev/shm")
    place = str(memory) if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="dvs-dbt-", dir=place) as own_folder:
        folder = Path(own_folder) if beside is None else beside.folder
        # -c, because the folder of a script would stand before the libraries of that Python.
        command = [target.python, "-c", DRIVER.read_text(encoding="utf-8")]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {} if beside is None else beside.opened["share"]
        try:
            with child(command, environment) as process:
                opening = Dbt(process, target, folder, {})
                try:
                    opened = opening.ask("open", work=str(folder), **request_of(target))
                except DbtBroken as error:
                    raise CampaignError(f"dbt cannot open {target.project}: {error}") from error
                yield Dbt(process, target, folder, opened)
        except ChildMissing as error:
            raise CampaignError(
                f"{target.python} does not start: {error}; name the Python of your dbt with --dbt-python"
            ) from error


def request_of(target: Target) -> dict[str, Any]:
    """Returns the fields of the request that opens a project."""
    return {
        "project": str(target.project),
        "select": list(target.select),
        "profiles_dir": target.profiles_dir,
        "profile": target.profile,
        "dbt_target": target.target,
        "vars": vars_at(target.vars, dt.datetime.combine(BASE, dt.time())),
    }
