"""`dvs record` on PostgreSQL: what it promises is kept, the rest is seen, and nothing is left behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from servers.postgres import PostgresMissing, programs, started


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    try:
        programs()
    except PostgresMissing as missing:
        pytest.skip(str(missing))
    with started() as server:
        yield server.address


def url(address: str) -> str:
    parts = dict(part.split("=", 1) for part in address.split())
    return f"postgresql://{parts['user']}@{parts['host']}:{parts['port']}/{parts['dbname']}"


def dvs_record(folder: Path, *arguments: str) -> Result:
    out = ["--out", str(folder / "history.edn")]
    return CliRunner().invoke(main, ["record", *arguments, *out, "--transactions", "400", "--seconds", "60s"])


def levels(result: Result) -> dict[str, str]:
    document = json.loads(result.stdout.splitlines()[-1])
    return {name: each["verdict"] for name, each in document["levels"].items()}


def test_serializable_is(address: str, tmp_path: Path) -> None:
    result = dvs_record(tmp_path, url(address))
    assert result.exit_code == 0, result.output
    assert "PL-3, serializable without sessions holds" in result.output
    assert ':error "40001"' in (tmp_path / "history.edn").read_text()


def test_repeatable_read_has_write_skew(address: str, tmp_path: Path) -> None:
    arguments = (url(address), "--isolation", "repeatable-read")
    assert dvs_record(tmp_path, *arguments).exit_code == 0
    result = dvs_record(tmp_path, *arguments, "--level", "PL-3")
    assert result.exit_code == 1
    assert "write skew" in result.output


def test_read_committed_loses_updates_and_money(address: str, tmp_path: Path) -> None:
    arguments = (url(address), "--isolation", "read-committed")
    result = dvs_record(tmp_path, *arguments, "--level", "PL-2+")
    assert result.exit_code == 1
    assert "lost update" in result.output
    assert "read skew" in result.output
    bank = dvs_record(tmp_path, *arguments, "--workload", "bank")
    assert bank.exit_code == 0, bank.output
    assert "saw another total than 800" in bank.output
    assert not bank.output.splitlines()[1].startswith("0 of")


def test_broken_connections_leave_transactions_without_an_answer(address: str, tmp_path: Path) -> None:
    result = dvs_record(tmp_path, url(address), "--kill", "0.2s")
    assert result.exit_code == 0, result.output
    assert "connection lost" in result.output


def test_a_schema_of_that_name_is_not_touched(address: str, tmp_path: Path) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        assert connection.execute("SELECT to_regnamespace('dvs_recording')").fetchall() == [(None,)]
        connection.execute("CREATE SCHEMA dvs_recording CREATE TABLE items (mine INT)")
        result = dvs_record(tmp_path, url(address))
        assert result.exit_code == 2
        assert "has a schema dvs_recording already" in result.output
        assert connection.execute("SELECT count(mine) FROM dvs_recording.items").fetchall() == [(0,)]
        connection.execute("DROP SCHEMA dvs_recording CASCADE")


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (("postgresql://dvs@127.0.0.1:1/x",), "PostgreSQL cannot be reached"),
        (("postgresql", "--isolation", "chaos"), "has no isolation level chaos"),
        (("postgresql", "--level", "PL-9"), "there is no level PL-9"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], fact: str, tmp_path: Path) -> None:
    result = dvs_record(tmp_path, *arguments)
    assert result.exit_code == 2
    assert fact in result.output
    assert len(result.output.splitlines()) == 1
