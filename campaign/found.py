"""Bugs that were found in engines that others wrote: data and programs in a folder, and what they do now.

`found/ENGINE/engine.toml` says what the engine is, `found/ENGINE/BUG/found.toml` what is wrong, and
`program.py` beside it shows it by the engine's own client, without this harness: it prints a line `seen: ..`
and a line `expected: ..`, which comes from the engine's own full computation or from its documentation.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from campaign.errors import CampaignError

SECONDS = 60
"""How long a program may run."""

SEEN, EXPECTED = "seen: ", "expected: "


class Standing(Enum):
    """What a program says about the installed version of its engine."""

    THERE = "still there"
    FIXED = "fixed"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBug:
    """A bug. `first`: the scenario that found it first, or "by hand". `checked`: who says what is right.

    `upstream`: the engine's issue about it, where one is known. `fixed`: the version that has it no more.
    """

    engine: str
    name: str
    folder: Path
    what: str
    version: str
    seen: str
    expected: str
    first: str
    checked: str
    upstream: str = ""
    fixed: str = ""

    @property
    def program(self) -> Path:
        """The program that shows it."""
        return self.folder / "program.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEngine:
    """An engine with its bugs. `package`: what is installed to run the programs."""

    key: str
    name: str
    package: str
    what: str
    bugs: tuple[FoundBug, ...]


def read_found(folder: Path) -> tuple[FoundEngine, ...]:
    """The engines in a folder, by name. Raises CampaignError, naming the file, for what cannot be read."""
    if not folder.is_dir():
        raise CampaignError(f"{folder}: there is no such folder; run this in the project's folder")
    engines = []
    for head in sorted(folder.glob("*/engine.toml")):
        about = _table(head)
        bugs = tuple(_bug(file, head.parent.name) for file in sorted(head.parent.glob("*/found.toml")))
        engines.append(_made(FoundEngine, head, key=head.parent.name, bugs=bugs, **about))
    if not any(engine.bugs for engine in engines):
        raise CampaignError(f"{folder}: there is no bug in this folder; bugs lie in ENGINE/BUG/found.toml")
    return tuple(engines)


def _bug(file: Path, engine: str) -> FoundBug:
    about = {key: value for key, value in _table(file).items() if key != "date"}
    return _made(FoundBug, file, engine=engine, name=file.parent.name, folder=file.parent, **about)


Made = TypeVar("Made", FoundBug, FoundEngine)


def _made(of: type[Made], file: Path, **values: Any) -> Made:
    try:
        return of(**values)
    except TypeError as error:
        raise CampaignError(f"{file}: {str(error).partition(') ')[2]}") from error


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CampaignError(f"{file} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What the program of a bug did. `told`: what it printed, or why it said nothing."""

    bug: FoundBug
    standing: Standing
    told: str


def check_found(bugs: Sequence[FoundBug], python: str = sys.executable) -> Iterator[ProgramRun]:
    """Runs the program of each bug in a process of its own."""
    return (_run(bug, python) for bug in bugs)


def _run(bug: FoundBug, python: str) -> ProgramRun:
    try:
        done = subprocess.run(
            [python, str(bug.program)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ProgramRun(bug, Standing.UNKNOWN, f"no answer within {SECONDS} s")
    except OSError as error:
        return ProgramRun(bug, Standing.UNKNOWN, str(error))
    lines = done.stdout.splitlines()
    seen = [line.removeprefix(SEEN) for line in lines if line.startswith(SEEN)]
    expected = [line.removeprefix(EXPECTED) for line in lines if line.startswith(EXPECTED)]
    if len(seen) != 1 or len(expected) != 1:
        last = (done.stderr.strip().splitlines() or ["it printed no answer"])[-1]
        return ProgramRun(bug, Standing.UNKNOWN, last)
    if seen == expected:
        return ProgramRun(bug, Standing.FIXED, seen[0])
    return ProgramRun(bug, Standing.THERE, f"{seen[0]}, expected {expected[0]}")


def page(engines: Sequence[FoundEngine]) -> str:
    """The page docs/found-bugs.md: for each engine a table of its bugs."""
    count = sum(len(engine.bugs) for engine in engines)
    parts = [HEAD.format(bugs=count, engines=", ".join(engine.name for engine in engines))]
    for engine in engines:
        parts.append(f"## {engine.name}\n\n{engine.what[0].upper()}{engine.what[1:]}.\n")
        parts.append(
            "| what is wrong | seen | expected | version | first found by | who says what is right | known |"
        )
        parts.append("|---|---|---|---|---|---|---|")
        for bug in engine.bugs:
            known = bug.upstream or "not that we know"
            fixed = f"; fixed in {bug.fixed}" if bug.fixed else ""
            program = f"[{bug.what}](../{bug.program.as_posix()})"
            cells = (
                program,
                f"`{bug.seen}`",
                f"`{bug.expected}`",
                bug.version + fixed,
                bug.first,
                bug.checked,
                known,
            )
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


HEAD = """# Bugs found in engines that others wrote

{bugs} bugs in {engines}. Each has a program of 10 to 20 lines that shows it by the engine's own
client, without this harness. What is right is said by the engine's own full computation or by its
documentation: no bug is a matter of taste.

```sh
.venv/bin/dvs found                     # what was found
.venv/bin/dvs found turso --check       # is it still there in the installed version?
```

This page is made from the files in found/ by `dvs found --write docs/found-bugs.md`. pg_ivm's bugs, found
earlier, are in [adapters](adapters.md#what-was-found).
"""
