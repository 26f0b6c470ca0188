"""A JVM that is killed in the middle of a campaign costs time, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, subprocess
from campaign.lanes import LaneSpec
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


@pytest.mark.spark
def test_a_killed_jvm_is_replaced() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=500)
    assert done.stdout.split("\n")[:3] == ["passed", "passed", "replaced True"], done.stdout + done.stderr
