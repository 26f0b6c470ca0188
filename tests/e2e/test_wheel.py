"""The wheel, used from a foreign project in a fresh virtual environment.

The project may have folders named as packages of ours. It then gets working software, or one line that names
the folder and the remedy; and its own pytest runs work as before.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from dvs.packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]

HISTORY = "w1(x1) c1 d3(y3 | x1) c3 w2(x2) c2 r5(y3) r5(x2) c5\n[x1 << x2]\n"

JUDGE = f"import dvs; print(dvs.check(dvs.parse({HISTORY!r})).levels[dvs.Level.PL_3])"

OWN_TEST = """
import reports.own

def test_own():
    assert reports.own.MINE
"""

TOY_TEST = """
import duckdb
import pytest
from dvs import Adapter, Capabilities, Dialect, assert_delayed_view_semantics


class Direct(Adapter):
    capabilities = Capabilities(dialect=Dialect.DUCKDB)

    def __init__(self):
        self.db = duckdb.connect(config={"disabled_optimizers": "statistics_propagation"})
        self.queries = {}

    def create_table(self, table, sql):
        self.db.execute(sql)

    def create_view(self, name, query):
        self.db.execute(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table, query):
        self.queries[table.name] = query
        self.db.execute(f"CREATE TABLE {table.name} AS {query}")

    def commit(self, transaction):
        for statement in transaction.sql:
            self.db.execute(statement)

    def refresh(self, table, timestamp):
        self.db.execute(f"DELETE FROM {table}")
        self.db.execute(f"INSERT INTO {table} {self.queries[table]}")

    def rows(self, name, columns):
        return self.db.table(name).fetchall()


@pytest.mark.dvs(engine=Direct, scenarios=2)
def test_direct(dvs_scenarios):
    for scenario in dvs_scenarios:
        assert_delayed_view_semantics(Direct, scenario)
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment that has the wheel, and every library by reference."""

    folder: Path

    def run(self, project: Path, program: str, *arguments: str, **variables: str) -> tuple[int, str, str]:
        """Runs a program of the environment in a project: exit status, standard output, standard error."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=project,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "dvs", "protocols"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(out), str(source)], check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment. A .pth file lends it the libraries of this one, but not its editable install."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*command, str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # Python does not read the .pth files of a folder that a .pth file names: the editable install stays out.
    lent = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "lent.pth").write_text("\n".join(lent) + "\n", encoding="utf-8")
    pytest_program = folder / "bin" / "pytest"
    pytest_program.write_text(f"#!{python}\nimport sys, pytest\nsys.exit(pytest.main())\n", encoding="utf-8")
    pytest_program.chmod(0o755)
    return Environment(folder)


def project(folder: Path, *files: str) -> Path:
    """A project with a history, a test with a toy adapter, and these files of its own."""
    (folder / "history.adya").write_text(HISTORY, encoding="utf-8")
    (folder / "test_toy.py").write_text(TOY_TEST, encoding="utf-8")
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("MINE = True\n", encoding="utf-8")
    return folder


PACKAGE_FILES = ("reports/__init__.py", "reports/own.py", "oracle/__init__.py", "generators/__init__.py")
"""A hostile project: its folders hide packages of ours where Python looks into the project first."""

PLAIN_FILES = ("reports/own.py", "oracle/own.py", "generators/own.py", "tests/__init__.py")
"""A harmless project: folders without __init__.py hide nothing; none of our packages is named `tests`."""

HARMLESS = {
    "clean": ((), ("dvs",), ("pytest",)),
    "plain folders": (PLAIN_FILES, ("python", "-m", "dvs"), ("python", "-m", "pytest")),
}


@pytest.mark.nightly
@pytest.mark.parametrize(("files", "dvs", "run_tests"), HARMLESS.values(), ids=HARMLESS)
def test_everything_works(
    environment: Environment,
    tmp_path: Path,
    files: tuple[str, ...],
    dvs: tuple[str, ...],
    run_tests: tuple[str, ...],
) -> None:
    folder = project(tmp_path, *files)
    assert environment.run(folder, "python", "-c", JUDGE)[1].startswith("Violated(")
    status, out, err = environment.run(folder, *dvs, "check", "history.adya")
    assert (status, err) == (1, ""), err
    assert "history.adya: PL-3 violated" in out
    fuzz(environment, folder, *dvs)
    status, out, err = environment.run(folder, *run_tests, "test_toy.py", "-p", "no:cacheprovider")
    assert (status, "1 passed" in out) == (0, True), out + err


def fuzz(environment: Environment, folder: Path, *dvs: str) -> None:
    """Runs a scenario, and sees it pass."""
    options = ("--profile", "quick", "--scenarios", "1", "--seed", "1", "--workers", "1")
    status, out, err = environment.run(folder, *dvs, "fuzz", *options)
    assert status in (0, 3), err  # 3: one scenario may be too few for a floor of coverage
    assert re.search(r"│ passed +│ 1 ", out)
    assert "Traceback" not in out + err


def is_the_line(text: str, folder: Path) -> bool:
    """Whether a text is the one line: which folders hide packages, and what to do."""
    names = " and ".join(str(folder.resolve() / name) for name in ("generators", "oracle", "reports"))
    return (
        text.count("\n") <= 1
        and f"{names} hide the packages of the same name of dvs-harness. Rename them, or" in text
    )


@pytest.mark.nightly
def test_hidden_packages_are_named_in_one_line(environment: Environment, tmp_path: Path) -> None:
    folder = project(tmp_path, *PACKAGE_FILES)

    # What judges a history needs dvs_model alone, which nothing hides.
    assert environment.run(folder, "python", "-c", JUDGE)[1].startswith("Violated(")
    status, _, err = environment.run(folder, "python", "-c", "import dvs; dvs.scenarios")
    last = err.splitlines()[-1]
    assert (status, last.startswith("ImportError: ")) == (1, True), err
    assert is_the_line(last, folder)
    for program, variables in ((("python", "-m", "dvs"), {}), (("dvs",), {"PYTHONPATH": str(folder)})):
        status, out, err = environment.run(folder, *program, "check", "history.adya", **variables)
        assert (status, out, err.startswith("error: ")) == (2, "", True), err
        assert is_the_line(err, folder)


@pytest.mark.nightly
def test_the_remedies_work(environment: Environment, tmp_path: Path) -> None:
    folder = project(tmp_path, *PACKAGE_FILES)

    assert environment.run(folder, "python", "-P", "-c", JUDGE)[1].startswith("Violated(")
    assert "PL-3 violated" in environment.run(folder, "python", "-P", "-m", "dvs", "check", "history.adya")[1]
    # The command itself never looks into the current folder.
    assert "PL-3 violated" in environment.run(folder, "dvs", "check", "history.adya")[1]
    fuzz(environment, folder, "dvs")
    status, out, err = environment.run(folder, "pytest", "--import-mode=importlib", "test_toy.py")
    assert (status, "1 passed" in out) == (0, True), out + err


@pytest.mark.nightly
@pytest.mark.parametrize("program", [("pytest",), ("python", "-m", "pytest")], ids=" ".join)
def test_pytest_names_hidden_packages_and_runs_the_projects_own_tests(
    environment: Environment, tmp_path: Path, program: tuple[str, ...]
) -> None:
    folder = project(tmp_path, *PACKAGE_FILES, "campaign/__init__.py", "engines.py")
    (folder / "test_own.py").write_text(OWN_TEST, encoding="utf-8")

    status, out, err = environment.run(folder, *program, "test_own.py", "-p", "no:cacheprovider")
    assert (status, "1 passed" in out) == (0, True), out + err
    status, out, _ = environment.run(folder, *program, "test_toy.py", "-p", "no:cacheprovider")
    lines = [line for line in out.splitlines() if line.startswith("E  ")]
    assert status == 2
    (line,) = lines
    assert f"{folder.resolve() / 'campaign'} and {folder.resolve() / 'engines.py'} and" in line
    assert "hide the packages of the same name of dvs-harness. Rename them, or" in line
    assert "pytest --import-mode=importlib" in line


def test_a_plain_folder_of_the_project_keeps_its_modules(environment: Environment, tmp_path: Path) -> None:
    folder = project(tmp_path, *(f"{name}/mine.py" for name in PACKAGES if "_" not in name))
    names = [name for name in PACKAGES if "_" not in name]
    program = "; ".join(f"import {name}.mine; assert {name}.mine.MINE" for name in names)
    assert environment.run(folder, "python", "-c", f"{JUDGE}; {program}")[::2] == (0, "")


def test_the_wheel_holds_the_packages_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert folders == {*PACKAGES, "dvs", "protocols"}
    for name in ("dvs/py.typed", "reports/templates/regression_test.py.j2", "engines/others/node/pglite.mjs"):
        assert name in names
