"""The pre-flight check of `make setup`: one line with the remedy, on any Python 3, and never a traceback."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "setup" / "preflight.py"


def load(script: Path) -> ModuleType:
    """A script of `setup/` as a module; the folder is no package."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_any_python_3_can_read_it() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 4))


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13)])
def test_an_old_python_is_told_how_to_name_a_newer_one(version: tuple[int, ...]) -> None:
    problem = load(SCRIPT).python_problem(version, "python3")
    assert f"python3 is Python {version[0]}.{version[1]}" in problem
    assert "make PYTHON=python3.11 setup" in problem


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 14, 1), (4, 0, 0)])
def test_a_new_enough_python_passes(version: tuple[int, ...]) -> None:
    assert load(SCRIPT).python_problem(version, "python3") is None


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    problem = load(SCRIPT).java_problem({"JAVA_HOME": str(tmp_path), "PATH": ""}, jvm_roots=())
    assert "bin/java does not exist; no java on PATH" in problem
    assert "apt-get install openjdk-17-jre-headless" in problem
    assert "\n" not in problem


def test_a_java_that_fits_passes_in_silence(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'java.home = {tmp_path}\njava.specification.version = 21' >&2\n")
    java.chmod(0o755)
    env = {"JAVA_HOME": str(tmp_path), "PATH": ""}
    outcome = subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("... NewConnectionError: ...", "The package index cannot be reached"),
        ("ERROR: No space left on device", "No space left on device"),
        ("", "no reason given"),
    ],
)
def test_a_failed_pip_is_one_line_with_the_remedy(log: str, told: str) -> None:
    text = load(ROOT / "setup" / "install.py").diagnose(log)
    assert told in text
    assert "run make again" in text
    assert "\n" not in text
