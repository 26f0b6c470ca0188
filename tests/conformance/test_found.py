"""Each bug in found/ is what its program shows, and docs/found-bugs.md is made from them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.found import FoundBug, FoundEngine, Standing, check_found, matrix, page, read_found
from engines.registry import ADAPTERS

ROOT = Path(__file__).resolve().parents[2]
ENGINES = read_found(ROOT / "found")
(SPARK,) = (engine for engine in ENGINES if engine.key == "spark")
BUGS = [
    # A program says something about an engine of others; of each engine the first shows that they are run.
    pytest.param(engine, bug, id=f"{engine.key}/{bug.name}", marks=[pytest.mark.nightly] * (place > 0))
    for engine in ENGINES
    for place, bug in enumerate(engine.bugs)
    if engine is not SPARK
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "bug"), BUGS)
def test_the_program_shows_the_bug(engine: FoundEngine, bug: FoundBug) -> None:
    installed = engine.installed
    if installed is None:
        pytest.skip(f"{engine.package} is not installed")
    (run,) = check_found([bug])
    if installed == bug.version:
        assert run.standing is Standing.THERE
        assert run.told == f"{bug.seen}, expected {bug.expected}"
    assert run.standing is not Standing.UNKNOWN, run.told


def test_an_engine_is_installed_only_beside_the_versions_that_its_programs_need() -> None:
    engine = FoundEngine(key="k", name="K", package="pytest", what="a package", bugs=())
    assert engine.installed == pytest.__version__
    assert replace(engine, beside={"pytest": pytest.__version__}).installed == pytest.__version__
    assert replace(engine, beside={"pytest": "0.1"}).installed is None
    assert replace(engine, beside={"no-such-package": "0.1"}).installed is None


ALL_IN_ONE = "import runpy, sys\nfor program in sys.argv[1:]:\n    runpy.run_path(program)\n"
"""A program that runs programs one after the other: one JVM serves them all."""


@pytest.mark.spark
@pytest.mark.own_jvm
@pytest.mark.nightly
def test_the_programs_of_spark_show_their_bugs() -> None:
    command = [sys.executable, "-c", ALL_IN_ONE, *(str(bug.program) for bug in SPARK.bugs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith(("seen: ", "expected: "))]
    assert len(told) == 2 * len(SPARK.bugs)
    if {SPARK.installed} == {bug.version for bug in SPARK.bugs}:
        assert told == [
            line for bug in SPARK.bugs for line in (f"seen: {bug.seen}", f"expected: {bug.expected}")
        ]


@pytest.mark.parametrize("bug", [bug for engine in ENGINES for bug in engine.bugs], ids=lambda bug: bug.name)
def test_a_program_is_short_and_needs_nothing_of_this_project(bug: FoundBug) -> None:
    lines = bug.program.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line]) <= 20
    assert not any("import" in line and ("dvs" in line or "engines" in line) for line in lines)


def test_the_page_of_engines_is_made_from_the_files() -> None:
    assert (ROOT / "docs" / "engines.md").read_text(encoding="utf-8") == matrix(ENGINES)
    keys = {engine.adapter for engine in ENGINES if engine.adapter}
    assert keys == ADAPTERS.keys() - {"built-in"}


def test_the_page_is_made_from_the_files() -> None:
    relative = read_found(Path("found")) if Path.cwd() == ROOT else ()
    assert relative, "run pytest in the project's folder"
    assert (ROOT / "docs" / "found-bugs.md").read_text(encoding="utf-8") == page(relative)


PROGRAMS = {
    "print('seen: 1'); print('expected: 2')": (Standing.THERE, "1, expected 2"),
    "print('seen: 2'); print('expected: 2')": (Standing.FIXED, "2"),
    "raise SystemExit('no such module')": (Standing.UNKNOWN, "no such module"),
    "pass": (Standing.UNKNOWN, "it printed no answer"),
}


@pytest.mark.parametrize(("program", "due"), PROGRAMS.items())
def test_what_a_program_says(tmp_path: Path, program: str, due: tuple[Standing, str]) -> None:
    folder = tmp_path / "engine" / "bug"
    folder.mkdir(parents=True)
    (folder / "program.py").write_text(program)
    (folder / "found.toml").write_text(
        'what = "w"\nversion = "1"\nseen = "1"\nexpected = "2"\nfirst = "f"\nchecked = "c"\n'
    )
    (folder.parent / "engine.toml").write_text('name = "E"\npackage = "e"\nwhat = "an engine"\n')
    ((bug,),) = (engine.bugs for engine in read_found(tmp_path))
    (run,) = check_found([bug])
    assert (run.standing, run.told) == due
    shown = CliRunner().invoke(main, ["found", "engine", "--check", "--folder", str(tmp_path)])
    assert f"bug: {due[0].value}: {due[1]}" in shown.output
    assert shown.exit_code == (ExitCode.UNKNOWN if due[0] is Standing.UNKNOWN else ExitCode.OK)


def test_a_folder_without_a_bug_is_no_answer(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["found", "--check", "--folder", str(tmp_path)])
    assert shown.exit_code == ExitCode.MISUSE
    assert "there is no bug in this folder" in shown.output


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="there is no such folder"):
        read_found(tmp_path / "none")
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "engine.toml").write_text('name = "E"\n')
    with pytest.raises(CampaignError, match=r"engine\.toml: missing .* 'package'"):
        read_found(tmp_path)
