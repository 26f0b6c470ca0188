"""A run that is interrupted keeps what it has judged, and is no pass."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "from campaign.cli import main; main()"


@pytest.mark.nightly
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_what_was_judged_is_written_down(sent: signal.Signals, tmp_path: Path) -> None:
    arguments = ("fuzz", "--profile", "quick", "--budget", "5m", "--workers", "1", "--out", str(tmp_path))
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts the tests in the background lets every process below it ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert run.stderr is not None
    for line in run.stderr:
        if "scenarios," in line:
            break
    run.send_signal(sent)
    stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 3, stderr
    assert "interrupted" in stdout
    assert "Traceback" not in stderr
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["interrupted"] is True
    assert summary["scenarios"] == sum(summary["outcomes"].values()) > 0
    assert "Interrupted" in (tmp_path / "report.html").read_text(encoding="utf-8")
