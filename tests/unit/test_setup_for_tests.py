"""The packages that `make test` installs where it can, and never insists on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_preflight import ROOT, load

for_tests = load(ROOT / "setup" / "for_tests.py")


def program(folder: Path, name: str, text: str) -> None:
    """A shell script in a folder of programs."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only programs there are; who runs them is root."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(tmp_path, "initdb", "exit 0")
    program(tmp_path, "mariadbd", "exit 0")
    monkeypatch.setattr(for_tests, "install_apart", lambda *_: None)
    return tmp_path


def test_what_is_there_is_enough(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(programs, "chromium-browser", "exit 1")
    program(programs, "apt-get", "exit 1")
    assert for_tests.main() == 0
    assert capsys.readouterr().err == ""


def test_it_is_installed(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(programs, "apt-get", f'echo "$*" >> {programs}/asked')
    assert for_tests.main() == 0
    calls = (programs / "asked").read_text(encoding="utf-8").splitlines()
    assert calls == ["update -qq", "install -y -qq --no-install-recommends chromium"]
    assert "skipped" not in capsys.readouterr().err


def test_only_the_environments_that_are_named_are_made(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(programs, "chromium", "exit 1")
    made: list[str] = []
    monkeypatch.setattr(for_tests, "install_apart", lambda folder, *_: made.append(folder.name))
    assert [for_tests.main(named) for named in ([], ["dbt"], ["dbt", "s3"])] == [0, 0, 0]
    assert made == ["dbt", "dbt", "s3"]


def test_what_goes_wrong_is_said_and_stops_nothing(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(programs, "apt-get", "echo 'W: old' >&2; echo 'E: no such package' >&2; echo bye >&2; exit 100")
    assert for_tests.main() == 0
    assert "chromium is not installed (E: no such package); without it" in capsys.readouterr().err


def test_one_that_hangs_is_given_up(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sleep = shutil.which("sleep", path="/bin:/usr/bin")
    program(programs, "apt-get", f"exec {sleep} 60")
    monkeypatch.setattr(sys.modules["apt_get"], "LIMIT_S", 0.2)
    assert for_tests.main() == 0
    assert "timed out" in capsys.readouterr().err


def test_only_root_installs(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(programs, "apt-get", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it ran something"))
    assert for_tests.main() == 0
    assert "there is no chromium; install it: `sudo apt-get install chromium`" in capsys.readouterr().err


def test_two_packages_are_installed_one_by_one(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [("chromium", ("chromium",), "tests of the pages"), ("other", ("none",), "other tests")]
    monkeypatch.setattr(for_tests, "PACKAGES", wanted)
    program(programs, "apt-get", f'echo "$*" >> {programs}/asked')
    assert for_tests.main() == 0
    calls = (programs / "asked").read_text(encoding="utf-8").splitlines()
    assert [call.split()[-1] for call in calls] == ["-qq", "chromium", "other"]
    assert "installing for tests: chromium, other" in capsys.readouterr().err


def test_a_pattern_of_paths_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(for_tests, "POSTGRESQL", tmp_path)
    assert not for_tests.there("*/initdb")
    (tmp_path / "15").mkdir()
    program(tmp_path / "15", "initdb", "exit 0")
    assert for_tests.there("*/initdb")


def test_dbt_gets_an_environment_of_its_own_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    versions, folder = tmp_path / "versions.txt", tmp_path / "dbt"
    versions.write_text("")
    monkeypatch.setattr(for_tests, "VERSIONS", versions)
    for_tests.install_dbt(folder)
    assert (folder / "bin" / "python").exists()
    assert "installing dbt" in capsys.readouterr().err
    for_tests.install_dbt(folder)
    assert capsys.readouterr().err == ""


@pytest.mark.nightly
def test_a_dbt_that_cannot_be_installed_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = tmp_path / "versions.txt"
    versions.write_text(f"{tmp_path}/no-such-wheel.whl\n")
    monkeypatch.setattr(for_tests, "VERSIONS", versions)
    for_tests.install_dbt(tmp_path / "dbt")
    assert "dbt is not installed (" in capsys.readouterr().err
    assert not (tmp_path / "dbt" / ".installed").exists()
