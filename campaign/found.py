"""Bugs that were found in engines that others wrote: data and programs in a folder, and what they do now.

`found/ENGINE/engine.toml` says what the engine is and what was run on it, `found/ENGINE/BUG/found.toml` what
is wrong, and `program.py` (or `program.cjs`, for Node.js) beside it shows it by the engine's own client,
without this harness: it prints a line `seen: ..` and a line `expected: ..`, which comes from the engine's own
full computation or from its documentation.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from campaign.errors import CampaignError
from engines.errors import EngineError
from engines.others.node.packages import needed, node
from engines.registry import find_adapter
from workload.operators import OPERATORS

SECONDS = 180
"""How long a program may run: most take a second, those that start a JVM a minute on a busy machine."""

SEEN, EXPECTED = "seen: ", "expected: "


class Standing(Enum):
    """What a program says about the installed version of its engine."""

    THERE = "still there"
    FIXED = "fixed"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBug:
    """A bug. `first`: the scenario that found it first, or "by hand". `checked`: who says what is right.

    `what`: what is wrong, in a sentence. `seen`, `expected`: what the program prints. `version`: the one in
    which it was found. `upstream`: the engine's issue about it, where one is known. `fixed`: the version
    that has it no more.
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
        script = self.folder / "program.cjs"
        return script if script.is_file() else self.folder / "program.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """A campaign on an engine. `failed`: scenarios with wrong rows or a failure; `not_judged`: refused."""

    version: str
    profile: str
    seed: int
    scenarios: int
    failed: int
    not_judged: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEngine:
    """An engine with its bugs.

    `package`: what is installed to run the programs, from `registry`: "pypi", "npm", or "debian" (not looked
    up). `beside`: further packages that the programs need, each at its version. `adapter`: by which name
    scenarios run on it; "" for one that is used otherwise. `install`: how.
    """

    key: str
    name: str
    package: str
    what: str
    bugs: tuple[FoundBug, ...]
    registry: str = "pypi"
    beside: Mapping[str, str] = field(default_factory=dict)
    adapter: str = ""
    install: str = ""
    runs: tuple[EngineRun, ...] = ()

    @property
    def installed(self) -> str | None:
        """The installed version of the package; None where it is not there with all that it needs."""
        if self.registry == "npm":
            try:
                about = modules() / self.package / "package.json"
                return str(json.loads(about.read_text(encoding="utf-8"))["version"])
            except (EngineError, OSError):
                return None
        try:
            for package, needed_version in self.beside.items():
                if importlib.metadata.version(package) != needed_version:
                    return None
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


def modules() -> Path:
    """Returns the folder of the engines' npm packages. Raises EngineError where they cannot be used."""
    return needed(os.environ).folder / "node_modules"


def read_found(folder: Path) -> tuple[FoundEngine, ...]:
    """Returns the engines in a folder, in order of their names. Raises CampaignError naming a wrong file."""
    if not folder.is_dir():
        raise CampaignError(f"{folder}: there is no such folder; run this in the project's folder")
    engines = []
    for head in sorted(folder.glob("*/engine.toml")):
        about = _table(head)
        runs = tuple(_record(EngineRun, head, **run) for run in about.pop("runs", ()))
        bugs = tuple(_bug(file, head.parent.name) for file in sorted(head.parent.glob("*/found.toml")))
        engines.append(_record(FoundEngine, head, key=head.parent.name, bugs=bugs, runs=runs, **about))
    if not any(engine.bugs for engine in engines):
        raise CampaignError(f"{folder}: there is no bug in this folder; bugs lie in ENGINE/BUG/found.toml")
    return tuple(engines)


def _bug(file: Path, engine: str) -> FoundBug:
    """Returns the bug in a file `found.toml`. Raises CampaignError."""
    about = {key: value for key, value in _table(file).items() if key != "date"}
    return _record(FoundBug, file, engine=engine, name=file.parent.name, folder=file.parent, **about)


Made = TypeVar("Made", FoundBug, FoundEngine, EngineRun)


def _record(of: type[Made], file: Path, **values: Any) -> Made:
    """Returns the values of a file as a dataclass. Raises CampaignError: one is missing, or is no field."""
    try:
        return of(**values)
    except TypeError as error:
        raise CampaignError(f"{file}: {str(error).partition(') ')[2]}") from error


def _table(file: Path) -> dict[str, Any]:
    """Returns the contents of a TOML file. Raises CampaignError."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CampaignError(f"{file} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What the program of a bug did. `told`: what it printed, or why it gave no answer."""

    bug: FoundBug
    standing: Standing
    told: str


def check_found(bugs: Sequence[FoundBug], python: str = sys.executable) -> Iterator[ProgramRun]:
    """Yields what the program of each bug does, which runs in a process of its own."""
    return (_run(bug, python) for bug in bugs)


def _run(bug: FoundBug, python: str) -> ProgramRun:
    """Runs a program and compares its lines `seen` and `expected`; where they are equal, the bug is fixed."""
    try:
        command, environment = [python, str(bug.program)], dict(os.environ)
        if bug.program.suffix == ".cjs":
            environment["NODE_PATH"] = str(modules())
            command[0] = node(environment.get("PATH"))
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ProgramRun(bug, Standing.UNKNOWN, f"no answer within {SECONDS} s")
    except (OSError, EngineError) as error:
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
    """Returns the page docs/found-bugs.md: for each engine a table of its bugs."""
    with_bugs = [engine for engine in engines if engine.bugs]
    count = sum(len(engine.bugs) for engine in with_bugs)
    parts = [HEAD.format(bugs=count, engines=", ".join(engine.name for engine in with_bugs))]
    for engine in with_bugs:
        parts.append(f"## {engine.name}\n\n{engine.what[0].upper()}{engine.what[1:]}.\n")
        parts.append(
            "| what is wrong | seen | expected | version | first found by | who says what is right | known |"
        )
        parts.append("|---|---|---|---|---|---|---|")
        for bug in engine.bugs:
            known = bug.upstream or "not that we know"
            fixed = f"; fixed in {bug.fixed}" if bug.fixed else ""
            program = f"[{bug.what}](../{bug.program.as_posix()})"
            seen, expected = (f"`{text.replace('|', '/')}`" for text in (bug.seen, bug.expected))
            cells = (program, seen, expected, bug.version + fixed, bug.first, bug.checked, known)
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


HEAD = """# Bugs found in engines that others wrote

{bugs} bugs in {engines}. Each has a program of at most 20 lines that shows it by the engine's own
client, without this harness. What is right is said by the engine's own full computation or by its
documentation: no bug is a matter of taste.

```sh
.venv/bin/dvs found                     # what was found
.venv/bin/dvs found turso --check       # is it still there in the installed version?
```

This page is made from the files in found/ by `dvs found --write docs/found-bugs.md`. [Engines](engines.md)
says what was run.
"""


def matrix(engines: Sequence[FoundEngine]) -> str:
    """Returns the page docs/engines.md: each engine that scenarios run on, with its limits and its runs."""
    parts = [MATRIX]
    for engine in engines:
        if not engine.adapter:
            continue
        limits = find_adapter(engine.adapter).capabilities.limits
        lacking = sorted(OPERATORS - limits.operators)
        operators = ", ".join(sorted(limits.operators)) if len(lacking) > len(OPERATORS) // 3 else "all"
        if operators == "all" and lacking:
            operators = f"all but {', '.join(lacking)}"
        types = (
            ", ".join(sorted(kind.value for kind in limits.types))
            if len(limits.types) < 8
            else "all plain ones"
        )
        parts.append(f"## {engine.name}\n\n{engine.what[0].upper()}{engine.what[1:]}.\n")
        versions = ", ".join(dict.fromkeys(run.version for run in engine.runs)) or "none was run"
        rows = {
            "adapter": f"`adapter:{engine.adapter}`; {engine.install}",
            "version": versions,
            "maintains": operators,
            "types": types,
            "layered": "a view may read another one" if limits.layered else "a view reads base tables",
            "refreshed": TIMES[limits.timestamps.value],
            "bugs found": f"[{len(engine.bugs)}](found-bugs.md)" if engine.bugs else "0",
        }
        parts.append("| | |\n|---|---|\n" + "\n".join(f"| {name} | {text} |" for name, text in rows.items()))
        parts.append("\n| profile | seed | scenarios | failed | not judged | |\n|---|---|---|---|---|---|")
        for run in engine.runs:
            cells = (run.profile, run.seed, run.scenarios, run.failed, run.not_judged, run.note)
            parts.append(f"| {' | '.join(map(str, cells))} |")
        parts.append("")
    return "\n".join(parts)


TIMES = {
    "any": "to any data timestamp",
    "now": "by a command, to the present",
    "commit": "within every transaction",
}

MATRIX = """# Engines that others wrote

Scenarios run on each of these engines, one file in `engines/others` each:

```sh
.venv/bin/dvs fuzz --tier adapter:postgres --profile smoke --seed 2
.venv/bin/dvs fuzz --tier engines --budget 1h     # a share of the time for each one that is installed
```

*failed*: scenarios with wrong rows or an error, often by the same bug; *not judged*: refused by the engine,
or its dialect differs from the oracle's. This page is made from the files in found/ and from the limits of
the adapters by `dvs found --engines docs/engines.md`.
"""
