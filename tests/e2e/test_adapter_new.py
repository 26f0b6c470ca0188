"""`dvs adapter`: the beginning of an adapter runs, and the check says what an engine refuses."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from campaign.cli.adapter import LIKE, called_as
from campaign.exit_codes import ExitCode


def dvs(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(Path.cwd())])
    command = [sys.executable, "-m", "dvs", "adapter", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}
    )


@pytest.mark.nightly
@pytest.mark.parametrize("engine", LIKE)
def test_the_beginning_of_an_adapter_keeps_the_contract(engine: str, tmp_path: Path) -> None:
    made = dvs("new", "MyEngine", "--engine", engine, "--out", str(tmp_path), folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_engine.py", "test_my_engine.py"]
    again = dvs("new", "MyEngine", "--out", str(tmp_path), folder=tmp_path)
    assert (again.returncode, again.stderr.count("\n")) == (ExitCode.MISUSE, 1)
    checked = dvs("check", "my_engine:MyEngine", "--scenarios", "8", folder=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "every operator it claims is maintained" in checked.stdout

    if engine == "sqlite-like":
        module = tmp_path / "my_engine.py"
        refusing = module.read_text().replace(
            "        return",
            "        if text.startswith('CREATE TABLE') and 'JOIN' in text:\n"
            "            raise sqlite3.OperationalError('no joins yet')\n"
            "        return",
        )
        module.write_text(refusing)
        checked = dvs("check", "my_engine:MyEngine", "--scenarios", "30", folder=tmp_path)
        assert checked.returncode == ExitCode.FAILED
        assert "inner join" in checked.stdout
        assert "suggested: operators without 'inner join'" in checked.stdout

        module.write_text(module.read_text().replace('"DELETE FROM {name}"', '"SELECT 1"'))
        checked = dvs("check", "my_engine:MyEngine", "--scenarios", "30", folder=tmp_path)
        assert "failed: random scenarios pass: quick-7-" in checked.stdout
        command = "  dvs fuzz --tier adapter:my_engine:MyEngine --profile"
        assert f"{command} quick --seed 7 --first " in checked.stdout
        assert f"{command} smoke --seed 11 --first 0 --scenarios 30\n" in checked.stdout


@pytest.mark.parametrize(("name", "module"), [("Sqlite3", "sqlite3_adapter"), ("Class", "class_adapter")])
def test_the_module_hides_no_other_and_the_next_line_can_be_pasted(
    name: str, module: str, tmp_path: Path
) -> None:
    """A module `sqlite3` would import itself, and not the engine; `class` cannot be imported at all."""
    out = tmp_path / "a folder"
    made = dvs("new", name, "--out", str(out), folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert sorted(path.name for path in out.iterdir()) == [f"{module}.py", f"test_{module}.py"]
    assert f"from {module} import {name}" in (out / f"test_{module}.py").read_text()
    line = made.stdout.splitlines()[-1].removeprefix("next: ")
    assert line.endswith(f"adapter check {module}:{name}")
    shown = line.replace("PYTHONPATH=.", f"PYTHONPATH=.:{shlex.quote(str(Path.cwd()))}") + " --help"
    pasted = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert pasted.returncode == 0, pasted.stderr
    again = dvs("new", name, "--out", str(out), folder=out)
    assert (again.returncode, again.stderr.count("\n")) == (ExitCode.MISUSE, 1)


def test_a_program_that_is_not_on_the_path_is_called_by_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dvs"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert called_as(program) == str(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert called_as(program) == "dvs"
    # Another `dvs` on the path is another program.
    assert called_as(tmp_path / "other" / "dvs") == str(tmp_path / "other" / "dvs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new", "2nd"), "'2nd' is no name of a class"),
        (("new", "None"), "'None' is no name of a class"),
        (("check", "nowhere:Nothing"), "No module named 'nowhere'"),
        (("check", "tests.unit.engines.sample:shop"), "has no class shop derived from Adapter"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = dvs(*arguments, folder=tmp_path)
    assert result.returncode == ExitCode.MISUSE
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
