"""Accounts on a server that speaks like S3: all that an account does there, two processes at once, a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import ObjectStore, SessionError, StoreError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session.jars import S3A
from dynamic_tables.session.launch import fetch_jars
from dynamic_tables.store.log.files import LocalFiles
from servers.own import Server, ServerMissing
from tests.s3_server import UNCONDITIONAL, make_bucket, started

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

PROGRAM = Path(__file__).with_name("object_store_program.py")
LIMIT_S = 900


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    """A server with two buckets, one of which knows no conditions."""
    try:
        fetch_jars(os.environ, S3A)
        with started() as server:
            make_bucket(server.address, "lake")
            make_bucket(server.address, UNCONDITIONAL)
            yield server
    except (ServerMissing, SessionError) as missing:
        pytest.skip(str(missing))


def environment(s3: Server) -> Mapping[str, str]:
    """The variables by which Amazon's own tools would find the server, too."""
    return {
        **os.environ,
        "AWS_ENDPOINT_URL_S3": s3.address,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }


@contextmanager
def process(s3: Server, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program in a process of its own."""
    command = [sys.executable, str(PROGRAM), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(s3)
    ) as made:
        try:
            yield made
        finally:
            made.kill()


def line(running: subprocess.Popen[str]) -> str:
    """Returns the next line that a process prints."""
    assert running.stdout is not None
    return running.stdout.readline().strip()


def test_an_account_lives_on_an_object_store(s3: Server) -> None:
    with process(s3, "life", "s3a://lake/life") as running:
        out, _ = running.communicate(timeout=LIMIT_S)
    assert json.loads(out) == {
        "said": [
            "s3a://lake/life is on an object store, which cannot rename a folder at once: `rename` and "
            "`swap` are refused, and `clone` copies rows"
        ],
        "actions": ["INITIALIZE", "INCREMENTAL", "NO_DATA", "INCREMENTAL", "FULL"],
        "writers": ["Apache-Spark", *["dynamic-tables"] * 4],
        "contents": [[1, 18], [2, 12]],
        "of the clone": [[1, 18], [2, 12]],
        "dropped": ["copy", "r"],
        "no table comes back": "no dropped table or view x; there are: t, whole",
        "back": [[1, 18], [2, 12]],
        "renamed": "r keeps its name: an object store cannot rename a folder at once; clone the table under "
        "the other name, and drop this one",
        "made anew": [[1], [1], [2], [2]],
        "second writer": [True, False, "first\n"],
        "without conditions": "s3a://unconditional/account: no account can be here, because this store has "
        "no conditional writes (If-None-Match), or cannot be reached: a file was created twice; take a store "
        "that has them",
    }


def test_two_processes_and_a_kill(s3: Server) -> None:
    place = "s3a://lake/shared"
    with process(s3, "first", place) as first, process(s3, "second", place) as second:
        assert second.stdin is not None
        assert line(first) == "made"
        second.stdin.write("begin\n")
        second.stdin.flush()
        # Both write and refresh at once until the second has done its part; then the first is in the middle.
        assert line(second) == "done"
        first.kill()
        out, _ = first.communicate()
        done = [int(word) for word in out.split()]
        left, _ = second.communicate("end\n", timeout=LIMIT_S)
    found = json.loads(left)
    assert found["contents"] == found["of the query"]
    rows = found["rows"]
    assert sorted(rows["second"]) == list(range(2))
    # What the first has reported is there once; what it was about to write may be.
    assert sorted(rows["first"]) in (list(range(len(done))), list(range(len(done) + 1)))
    assert len(done) > 0
    assert found["gaps"] == []


def test_a_drop_without_a_rename_that_was_cut_short_is_finished(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine's disk, as if it could not rename folders."""
    monkeypatch.setattr(LocalFiles, "renames", False)
    with pytest.warns(ObjectStore, match="`rename` and `swap` are refused"):
        account, other = (Account.open(str(tmp_path), spark, WallClock()) for _ in range(2))
    account.create_base_table("r", {"k": "INT"})
    account.execute("INSERT INTO r VALUES (1), (2)")
    account.create_dynamic_table("t", "SELECT k FROM r")
    table = other.dynamic_table("t")
    with monkeypatch.context() as dies:
        dies.setattr(LocalFiles, "remove", lambda *_: (_ for _ in ()).throw(OSError("it is killed")))
        with pytest.raises(StoreError, match="it is killed"):
            other.store.drop(table, for_good=True)
    assert list(account.store.definitions()) == ["r"]
    assert account.dynamic_tables().num_rows == 0
    account.create_dynamic_table("t", "SELECT k + 1 AS k FROM r")
    assert sorted(row.k for row in account.read("t").collect()) == [2, 3]
    assert sorted(row.k for row in other.read("t").collect()) == [2, 3]
    account.drop("t")
    account.undrop("t")
    assert sorted(row.k for row in other.read("t").collect()) == [2, 3]


def test_the_command_opens_an_account_on_an_object_store(s3: Server) -> None:
    command = [str(Path(sys.executable).with_name("dvs-tables")), "status", "s3a://lake/nothing"]
    told = subprocess.run(
        command, env=environment(s3), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert told.returncode == 1
    note, error = told.stderr.splitlines()
    assert note.startswith("note: s3a://lake/nothing is on an object store")
    assert error == "error: s3a://lake/nothing holds no account: there is no table in it"
