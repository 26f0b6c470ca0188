"""Asking for help is instant: no heavy library is loaded before a command needs it."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dynamic_tables.session.jars import DELTA, INSTALL_SPARK
from reports.reproduction import REQUIREMENTS

ROOT = Path(__file__).parents[2]

HEAVY = (
    "deltalake",
    "duckdb",
    "hypothesis",
    "jinja2",
    "networkx",
    "numpy",
    "py4j",
    "pyarrow",
    "pyspark",
    "scipy",
    "sqlglot",
)

LOADED_BY = """
import sys
{statement}
sys.stderr.write(" ".join(sorted(sys.modules)))
"""


def loaded_by(statement: str) -> set[str]:
    """The top-level modules a fresh interpreter has after a statement."""
    outcome = subprocess.run(
        [sys.executable, "-c", LOADED_BY.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in outcome.stderr.split()}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_dvs_loads_nothing_heavy(option: str) -> None:
    loaded = loaded_by(f"from campaign.cli import main; main(['{option}'], standalone_mode=False)")
    assert "click" in loaded
    assert loaded & set(HEAVY) == set()


def test_importing_the_public_face_loads_the_standard_library_only() -> None:
    loaded = loaded_by("import dvs; dir(dvs)")
    assert loaded - loaded_by("pass") - sys.stdlib_module_names == {"dvs"}


def test_the_pytest_plugin_loads_nothing_but_pytest() -> None:
    loaded = loaded_by("import pytest; import dvs.pytest_plugin")
    assert loaded - loaded_by("import pytest") - sys.stdlib_module_names == {"dvs"}


def test_judging_histories_needs_neither_spark_nor_duckdb() -> None:
    loaded = loaded_by("import dvs; dvs.check(dvs.parse('w1(x1) c1'))")
    assert loaded & set(HEAVY) <= {"numpy", "scipy"}


def test_checking_a_small_file_loads_what_judges_it_alone() -> None:
    file = "examples/histories/refresh-hides-read-skew.adya"
    loaded = loaded_by(f"from campaign.cli import main; main(['check', {file!r}], standalone_mode=False)")
    assert loaded & set(HEAVY) <= {"numpy", "scipy"}
    assert loaded.isdisjoint({"rich", "generators", "engines", "oracle", "dynamic_tables"})


def test_importing_the_session_loads_no_spark() -> None:
    loaded = loaded_by("import dynamic_tables.session, dynamic_tables.session.probe")
    assert loaded & set(HEAVY) == set()


def test_setup_needs_only_the_standard_library() -> None:
    """The pre-flight check and the fetching of jars import these before a library is installed."""
    loaded = loaded_by("import dynamic_tables.session.java, dynamic_tables.session.launch")
    before = loaded_by("pass")
    assert loaded - before - sys.stdlib_module_names == {"dynamic_tables"}


WITHOUT_SPARK = """
import sys
sys.modules |= dict.fromkeys(("pyspark", "delta", "py4j"))
from campaign.cli import main
main(sys.argv[1:])
"""
"""Runs a command as where Spark is not installed: a module that is None cannot be imported."""


@pytest.mark.parametrize(
    "command", ["fuzz --tier spark --scenarios 1", "verify evolution --stories 1"], ids=lambda c: c.split()[0]
)
def test_without_spark_a_line_says_so(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *command.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "pip install pyspark" in done.stderr


def test_the_versions_of_spark_and_delta_are_those_of_the_project() -> None:
    """Rooms that may not import each other name them: the engine, and the programs that reports write."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pair = " ".join(each for each in project["dependencies"] if "spark" in each)
    assert f"pip install {pair}" == INSTALL_SPARK
    assert REQUIREMENTS.startswith(f"{pair} ")
    _, artifact, version = DELTA.split(":")
    assert f"delta-spark=={version}" in pair
    assert f"pyspark=={artifact.split('_')[1]}." in pair


def test_without_spark_campaigns_in_memory_run(tmp_path: Path) -> None:
    command = ["fuzz", "--scenarios", "1", "--workers", "1", "--out", str(tmp_path), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *command], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["outcomes"]["passed"] == 1, done.stderr
