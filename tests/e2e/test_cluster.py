"""A campaign on a real standalone Spark cluster on loopback: a master and a worker as processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from dynamic_tables.session.java import find_java
from dynamic_tables.session.launch import spark_home

DVS = Path(sys.executable).with_name("dvs")


QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Flags of a JVM that lives for seconds."""


@dataclass(frozen=True)
class Standalone:
    """The processes of a cluster."""

    master: str
    processes: list[subprocess.Popen[bytes]]

    def kill(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(what: str, holds: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} within {seconds} s"
        time.sleep(0.3)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    home, port, ui = spark_home(), free_port(), free_port()
    # Without the Scala version, executors look for a source tree's build folders.
    env = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": sys.executable,
        # Executors have the environment of their worker.
        "JAVA_TOOL_OPTIONS": " ".join(QUICK),
    }
    deploy = "org.apache.spark.deploy"
    java = [str(find_java(os.environ).home / "bin" / "java"), "-Xmx300m", *QUICK, "-cp", f"{home}/jars/*"]
    url = f"spark://127.0.0.1:{port}"

    def start(*words: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"{words[0]}-{len(processes)}.log").open("wb")
        return subprocess.Popen(
            [*java, f"{deploy}.{words[0]}", *words[1:]],
            env=env,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
        )

    processes: list[subprocess.Popen[bytes]] = []
    processes.append(
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui))
    )
    until("a master", lambda: listens(port))
    # One worker with two cores: one executor JVM for each run, which has two tasks under way at once.
    work = ("--work-dir", str(tmp_path / "work"), "--webui-port", str(free_port()))
    processes.append(
        start("worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "1500m", *work, url)
    )
    running = Standalone(url, processes)
    try:
        yield running
    finally:
        running.kill()


def fuzz(out: Path, *words: str) -> list[str]:
    options = ("--seed", "5", "--profile", "smoke", "--json", "--out", str(out))
    return [str(DVS), "fuzz", *options, *words]


def in_process(*arguments: str) -> Result:
    """A command in this process, which starts no JVM."""
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def timeless(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key not in ("seconds", "time_split", "started")}


ALL_IN_ONE = """
import json, sys
from click.testing import CliRunner
from campaign.cli import main

for words in json.loads(sys.argv[1]):
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    print(json.dumps([result.exit_code, result.stdout, result.stderr]), flush=True)
"""
"""A program that runs commands one after the other: a driver and an executor for all of them take long to
start."""


@dataclass(frozen=True)
class Done:
    """What a command has left."""

    exit_code: int
    stdout: str
    stderr: str


class OneProcess:
    """Commands of `dvs` in another process, which has a driver for all of them."""

    def __init__(self, *commands: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ALL_IN_ONE, json.dumps(commands)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "JAVA_TOOL_OPTIONS": " ".join(QUICK)},
        )

    def next(self) -> Done:
        """Waits until the next command has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate(timeout=60)[1])
        return Done(*json.loads(line))


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.own_jvm
def test_a_cluster_judges_as_this_machine_does(cluster: Standalone, tmp_path: Path) -> None:
    history, damaged, out = a_history(tmp_path), a_folder_with_a_damaged_cell(tmp_path), tmp_path / "gone"
    there = OneProcess(
        fuzz(tmp_path / "there", "--scenarios", "3", "--master", cluster.master)[1:],
        ["check", "--json", "--master", cluster.master, str(history)],
        ["check", "--master", cluster.master, str(damaged)],
        fuzz(out, "--scenarios", "4000", "--master", cluster.master)[1:],
    )
    scenarios = there.next()
    assert scenarios.exit_code == 0, scenarios.stderr
    summary = json.loads(scenarios.stdout)
    here = in_process(*fuzz(tmp_path / "here", "--scenarios", "3")[1:])
    assert timeless(json.loads(here.stdout)) == timeless(summary)
    assert summary["outcomes"]["passed"] == 3

    here, checked = in_process("check", "--json", str(history)), there.next()
    assert checked.exit_code == here.exit_code == 1, checked.stderr
    mine, its = json.loads(here.stdout), json.loads(checked.stdout)
    for part in ("phenomena", "levels", "client_levels", "anomalies"):
        assert verdicts(its[part]) == verdicts(mine[part])
    assert its["anomalies"]
    refused = there.next()
    assert refused.exit_code == 2
    assert f"error: {damaged}: '?' is not a kind; it is one of w, append, r, r list" in refused.stderr

    # It goes away in the middle: one line says so, and what was judged is there.
    until("journal entries", lambda: entries(out) > 1, 120)
    cluster.kill()
    gone = there.next()
    assert gone.exit_code == 2
    assert f"the cluster at {cluster.master} does not answer any more" in gone.stderr
    assert "Traceback" not in gone.stderr
    judged = entries(out)
    again = in_process(*fuzz(out, "--resume", "--master", "", "--scenarios", str(judged + 1))[1:])
    assert json.loads(again.stdout)["scenarios"] >= judged
    there.process.communicate(timeout=120)


def a_history(folder: Path) -> Path:
    """Returns a history that holds a violation, as a file of Parquet."""
    lines = [
        "w(1,10,0,1)",
        "w(2,11,0,1)",
        "r(1,10,1,2)",
        "r(2,0,1,2)",
        "r(3,0,2,3)",
        "w(3,12,2,3)",
        "w(3,13,1,4)",
    ]
    text, path = folder / "h.txt", folder / "h.parquet"
    text.write_text("\n".join(lines))
    in_process("convert", "--to", "parquet", "--out", str(path), str(text))
    return path


def a_folder_with_a_damaged_cell(folder: Path) -> Path:
    """Returns a folder of files that somebody else has written, with a cell that is no kind of operation."""
    parts = folder / "parts"
    parts.mkdir()
    for number, kinds in enumerate((["w", "r"], ["r", "?"])):
        columns = {"transaction": [number, number], "kind": kinds, "key": ["x", "x"], "value": [number, None]}
        pq.write_table(pa.table(columns), parts / f"part-{number}.parquet")
    return parts


def verdicts(found: Any) -> Any:
    """Returns what is said, without places and reasons."""
    if isinstance(found, list):
        return [(each["name"], each["transactions"]) for each in found]
    return {name: row["verdict"] for name, row in found.items()}


def entries(out: Path) -> int:
    journal = out / "journal.jsonl"
    return len(journal.read_bytes().splitlines()) - 1 if journal.exists() else 0


def test_without_a_cluster_one_line_says_so(tmp_path: Path) -> None:
    for master, message in (
        (f"spark://127.0.0.1:{free_port()}", "no Spark master answers"),
        ("yarn", "is no address of a Spark master; write spark://host:7077"),
    ):
        refused = in_process(*fuzz(tmp_path, "--master", master)[1:])
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr
        assert refused.stderr.count("\n") == 1
