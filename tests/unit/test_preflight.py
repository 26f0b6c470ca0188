"""The pre-flight check of `make setup`: one line with the remedy, on any Python 3, and never a traceback."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "setup" / "preflight.py"


def load(script: Path) -> ModuleType:
    """A script of `setup/` as a module. The folder is no package: each script finds the others beside it."""
    if str(script.parent) not in sys.path:
        sys.path.append(str(script.parent))
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


def test_a_user_without_java_reads_the_command_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = load(ROOT / "setup" / "java.py")
    monkeypatch.setattr(java, "can_install", lambda: False)
    problem = java.ensure({"JAVA_HOME": str(tmp_path), "PATH": ""}, jvm_roots=())
    assert "bin/java does not exist; no java on PATH" in problem
    assert re.search(r"`sudo apt-get install -y openjdk-(17|21)-jre-headless`, then run make again", problem)
    assert "\n" not in problem


def test_root_gets_a_missing_java_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release of this made-up machine has Java 21 only."""
    java = load(ROOT / "setup" / "java.py")
    programs, home, recorded = tmp_path / "bin", tmp_path / "jvm" / "java-21", tmp_path / "asked"
    programs.mkdir()
    (home / "bin").mkdir(parents=True)
    answer = f"echo 'java.home = {home}\njava.specification.version = 21' >&2"
    installed = home / "bin" / "java"
    apt_get = programs / "apt-get"
    apt_get.write_text(f"""#!/bin/sh
echo "$*" >> {recorded}
case "$*" in
  *openjdk-17*) exit 100;;
  *--simulate*) ;;
  install*) /bin/chmod +x {installed};;
esac
""")
    apt_get.chmod(0o755)
    installed.write_text(f"#!/bin/sh\n{answer}\n")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert java.ensure({"PATH": str(programs)}, jvm_roots=(tmp_path / "jvm",)) is None
    calls = recorded.read_text().splitlines()
    assert [call for call in calls if "--simulate" not in call] == [
        "update -qq",
        "install -y -qq --no-install-recommends openjdk-21-jre-headless",
    ]


def test_a_java_that_cannot_be_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    java = load(ROOT / "setup" / "java.py")
    monkeypatch.setattr(java, "can_install", lambda: True)
    monkeypatch.setattr(java, "update", lambda: "")
    monkeypatch.setattr(java, "install", lambda package: "E: no network")
    problem = java.ensure({"PATH": ""}, jvm_roots=())
    assert "cannot be installed (E: no network). Install Java 17 or 21" in problem


def test_a_java_that_fits_passes_in_silence(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'java.home = {tmp_path}\njava.specification.version = 21' >&2\n")
    java.chmod(0o755)
    env = {"JAVA_HOME": str(tmp_path), "PATH": ""}
    outcome = subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("... NewConnectionError: ...", "The package index cannot be reached"),
        ("ERROR: No space left on device", "No space left on device"),
        ("", "no reason given"),
    ],
)
def test_a_failed_pip_is_one_line_with_the_remedy(log: str, message: str) -> None:
    text = load(ROOT / "setup" / "install.py").diagnose(log)
    assert message in text
    assert "run make again" in text
    assert "\n" not in text
