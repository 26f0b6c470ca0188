"""README and the pages beside it show what is: commands exist, tables are current, snippets run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import dvs
from benchmarks.all import ROWS, page_text, read_rows, rows_text
from campaign.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
LINE_LIMIT = 150


def between(page: str, marker: str) -> str:
    block = re.search(rf"<!-- {marker} -->\n(.*?)<!-- /{marker} -->", page, re.DOTALL)
    assert block is not None, marker
    return block[1].strip()


def snippets(page: str, language: str = "python") -> list[str]:
    """The fenced blocks of a language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [text for name, text in blocks if name == language]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= LINE_LIMIT


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        *(f"docs/{name}" for name in sorted(PAGES)),
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ],
)
def test_every_link_leads_to_a_file(name: str) -> None:
    page = ROOT / name
    targets = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    local = [target.partition("#") for target in targets if "://" not in target]
    assert [file for file, _, _ in local if not (page.parent / file).exists()] == []
    assert [
        f"{file}#{place}"
        for file, _, place in local
        if place and place not in places(page.parent / file if file else page)
    ] == []


def places(page: Path) -> set[str]:
    """The places of a page that links can lead to: its headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_support_matrix_is_the_registry() -> None:
    printed = CliRunner().invoke(main, ["operators", "--markdown"]).stdout
    matrix = "\n".join(line for line in printed.splitlines() if line.startswith("|"))
    assert between(PAGES["operators.md"], "operators") == matrix


@pytest.mark.parametrize("page", ["README.md", "commands.md"])
def test_every_command_named_exists(page: str) -> None:
    named = set(re.findall(r"(?:bin/|`)dvs ([a-z]+)", PAGES.get(page, README)))
    shown = {"fuzz", "replay", "mutants", "gate", "doctor", "check"}
    assert shown <= named <= set(COMMANDS)


def test_every_command_is_on_its_page() -> None:
    assert set(COMMANDS) == set(re.findall(r"bin/dvs ([a-z]+)", PAGES["commands.md"]))


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_results_are_the_rows_of_the_file(page: str) -> None:
    """`python -m benchmarks.all --write` writes both pages."""
    rows = read_rows()
    assert (ROOT / page).read_text(encoding="utf-8") == page_text(page, rows)
    assert rows_text(rows) == ROWS.read_text(encoding="utf-8")
    assert sum(row.front for row in rows) > 10


def test_the_demo_is_shown() -> None:
    shown = between(README, "demo")
    assert "report:" in shown
    steps = re.findall(r'@echo "(.*)"', (ROOT / "Makefile").read_text(encoding="utf-8").partition("demo:")[2])
    assert len(steps) == 4
    assert [step for step in steps if step not in shown] == []


def test_the_history_is_judged_as_shown() -> None:
    file = "examples/histories/refresh-hides-read-skew.adya"
    printed = CliRunner().invoke(main, ["check", file]).stdout
    assert between(PAGES["histories.md"], "check") == f"```\n{printed.rstrip()}\n```"


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_program_prints_what_is_shown(number: int, tmp_path: Path) -> None:
    page = re.split(r"^## ", PAGES["python.md"], flags=re.MULTILINE)
    program = snippets(PAGES["python.md"])[number]
    (section,) = (each for each in page if program in each)
    shown = snippets(section, "")[snippets(section).index(program)]
    file = tmp_path / "shown.py"
    file.write_text(program, encoding="utf-8")
    command = [sys.executable, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == shown


def test_an_engine_is_tested_from_python_as_shown(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(
        (ROOT / "examples" / "toy_engine" / "toy.py").read_text(encoding="utf-8")
    )
    (tmp_path / "test_shown.py").write_text(snippets(PAGES["python.md"])[2], encoding="utf-8")
    # The conformance class is the same as in tests/conformance, and takes longer.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "seeded or drawn"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_page_on_python_names_the_public_names() -> None:
    table = PAGES["python.md"].partition("| to | names |")[2].partition("##")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(dvs.__all__)


@pytest.mark.spark
def test_the_engine_runs_alone_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (snippet,) = snippets(PAGES["engine.md"])
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "engine.md", "exec"), {})  # noqa: S102  # that is the test
    assert "Action.INCREMENTAL" in capsys.readouterr().out
