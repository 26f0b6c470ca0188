"""The sessions of one process: their settings, and what a JVM that is killed in a campaign costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = """
import sys
from pathlib import Path
from dynamic_tables.errors import SessionError
from dynamic_tables.session import Settings, open_session

def shown(session):
    return [session.conf.get("spark.sql." + name) for name in ("shuffle.partitions", "session.timeZone")]

first = open_session(settings=Settings.TUNED, scratch=Path("scratch"))
assert shown(first) == ["1", "UTC"]
assert shown(open_session(settings=Settings.STOCK)) == ["200", "UTC"]
assert shown(open_session(settings=Settings.TUNED)) == shown(first) == shown(first.newSession())
try:
    open_session(master="spark://elsewhere:7077")
except SessionError as error:
    assert "it runs on local[*]" in str(error)
else:
    raise AssertionError("a second master was accepted")
first.stop()
assert open_session(settings=Settings.TUNED, scratch=Path("scratch")).range(3).count() == 3
assert [path.name for path in Path().iterdir()] == ["scratch"]
print("settings kept", file=sys.stderr, flush=True)
"""

KILLED = """
import os, signal, subprocess
from campaign.lanes.spec import LaneSpec
from generators.profiles import QUICK
from generators.generate import scenario_at

def jvms():
    shown = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True).stdout
    rows = [line.split() for line in shown.splitlines()[1:]]
    return [int(pid) for pid, parent, name in rows if int(parent) == os.getpid() and name == "java"]

short = min((scenario_at(1, QUICK, index) for index in range(12)), key=lambda found: len(found.steps))
lane = LaneSpec(tier="spark", fresh_percent=0).build()
print(lane.judge(short).outcome.value)
(first,) = jvms()
os.kill(first, signal.SIGKILL)
print(lane.judge(short).outcome.value)
(second,) = [jvm for jvm in jvms() if jvm != first]
print("replaced", first != second)
"""


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.own_jvm
def test_sessions_keep_to_their_own_settings_and_a_killed_jvm_is_replaced(tmp_path: Path) -> None:
    """One process for both, since each JVM takes many seconds to start."""
    command = [sys.executable, "-c", SETTINGS + KILLED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    # Spark is silent until its JVM is killed.
    assert done.stderr.startswith("settings kept\n"), done.stderr
    assert done.stdout.splitlines()[:3] == ["passed", "passed", "replaced True"], done.stdout + done.stderr
