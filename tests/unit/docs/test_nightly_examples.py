"""The examples for a build server and for cron: they parse, and what they call exists."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from campaign.cli import gate

FOLDER = Path(__file__).parents[3] / "examples" / "nightly"
WORKFLOW = (FOLDER / "github-workflow.yml").read_text(encoding="utf-8")
CRON = (FOLDER / "crontab").read_text(encoding="utf-8").splitlines()[-1]


def scripts() -> list[str]:
    """Every piece of shell, cron's escapes undone."""
    parsed: dict[str, Any] = yaml.safe_load(WORKFLOW)
    steps = parsed["jobs"]["gate"]["steps"]
    return [step["run"] for step in steps if "run" in step] + [CRON.split(maxsplit=5)[5].replace("\\%", "%")]


def test_the_workflow_has_a_night_a_gate_and_uploads_what_it_leaves() -> None:
    parsed = yaml.safe_load(WORKFLOW)
    assert parsed[True]["schedule"], "YAML 1.1 reads `on` as true, as GitHub knows"
    steps = parsed["jobs"]["gate"]["steps"]
    uploads = [step for step in steps if "upload" in step.get("uses", "")]
    assert len(uploads) == 2
    assert all("always()" in step["if"] for step in uploads)
    assert {"report.html", "junit.xml", "gate.json"} <= {
        Path(line).name for line in uploads[0]["with"]["path"].split()
    }


@pytest.mark.parametrize("script", scripts())
def test_the_shell_parses(script: str) -> None:
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr


def test_every_call_has_options_that_exist() -> None:
    calls = [
        line[line.index("dvs gate") :]
        for script in scripts()
        for line in script.splitlines()
        if "dvs gate" in line
    ]
    assert len(calls) == 2
    command = gate.command
    known = {option for parameter in command.params for option in parameter.opts}
    for call in calls:
        used = set(re.findall(r"--[a-z-]+", call))
        assert used, call
        assert used <= known


def test_cron_has_five_fields_and_a_profile_that_exists() -> None:
    minute, hour, *rest = CRON.split(maxsplit=5)[:5]
    assert (minute.isdigit(), hour.isdigit(), rest) == (True, True, ["*"] * 3)
    (profile,) = (p for p in gate.command.params if p.name == "profile")
    assert isinstance(profile.type, click.Choice)
    words = shlex.split(CRON.replace("$(", "").replace(")", ""))
    assert words[words.index("--profile") + 1] in profile.type.choices
