"""Reading Delta tables without Spark; the tables are written by delta-rs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from oracle.arrow import to_arrow
from oracle.bag import Bag
from oracle.delta_reader import frequencies, newest_version, read_rows
from oracle.errors import OracleError
from tests.unit.oracle.words import columns, rows
from workload.schema import Column
from workload.types import Row

EVERY = columns(
    "$ROW_ID STRING, i INT, l BIGINT, d DECIMAL(10,2), x DOUBLE, b BOOLEAN, Mixed STRING, dt DATE,"
    " t TIMESTAMP_NTZ"
)
FIRST = rows(EVERY, "k|1 1 2 3.25 nan true ü 2024-02-29 2024-02-29T12:00:00.000001")
SECOND = rows(
    EVERY, "NULL NULL NULL NULL NULL NULL NULL NULL NULL; k|3 0 0 -0.01 -0.0 false '' 0001-01-01 9999-12-31"
)


def bag(content: tuple[Row, ...], of: tuple[Column, ...]) -> Bag:
    return Bag.of(content, [column.type for column in of])


@pytest.fixture
def every(tmp_path: Path) -> Path:
    """Versions: 0 one row, 1 three rows, 2 none."""
    write_deltalake(tmp_path, to_arrow(EVERY, FIRST, ""))
    stamped = CommitProperties(
        custom_metadata={"userMetadata": '{"at": 7}'}, app_transactions=[Transaction("sales", 7)]
    )
    write_deltalake(tmp_path, to_arrow(EVERY, SECOND, ""), mode="append", commit_properties=stamped)
    DeltaTable(tmp_path).delete()
    return tmp_path


def test_rows_of_every_type_at_every_version(every: Path) -> None:
    assert bag(read_rows(every, 0, EVERY), EVERY) == bag(FIRST, EVERY)
    assert bag(read_rows(every, 1, EVERY), EVERY) == bag(FIRST + SECOND, EVERY)
    assert read_rows(every, 2, EVERY) == ()


def test_the_most_frequent_values_are_counted(tmp_path: Path) -> None:
    held = columns("Kind STRING, at TIMESTAMP, l ARRAY<INT>")
    noon = dt.datetime.fromisoformat("2024-02-29T12:00:00")
    written = [("b", noon, ()), ("b", None, ()), ("a", None, ()), ("c", None, ())]
    write_deltalake(tmp_path, to_arrow(held, written, ""))
    assert frequencies(tmp_path, 2) == {"kind": (0, {"b": 2, "a": 1}), "at": (75, {noon: 1})}
    with pytest.raises(OracleError, match="delta-rs cannot read it"):
        frequencies(tmp_path / "none", 2)


def test_columns_are_read_by_name_in_the_given_order(every: Path) -> None:
    some = columns("Mixed STRING, $ROW_ID STRING")
    assert read_rows(every, 0, some) == (("ü", "k|1"),)


@pytest.mark.parametrize(
    ("version", "listed", "message"),
    [
        (0, "i BIGINT", "the columns are i int32, but declared are i int64"),
        (0, "nothing INT", "delta-rs cannot read it"),
        (0, "mixed STRING", "delta-rs cannot read it"),
        (9, "i INT", "at version 9: delta-rs cannot read it"),
    ],
)
def test_a_version_or_column_that_does_not_exist_is_an_error(
    every: Path, version: int, listed: str, message: str
) -> None:
    with pytest.raises(OracleError, match=message):
        read_rows(every, version, columns(listed))


def test_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="delta-rs cannot read it"):
        read_rows(tmp_path, 0, EVERY)
    with pytest.raises(OracleError, match="delta-rs cannot read it"):
        newest_version(tmp_path)


def test_the_newest_version_is_the_last_commit_also_one_without_files(every: Path) -> None:
    assert newest_version(every) == 2
    # As every refresh without changes does: a commit that carries a `txn` action and no file.
    stamped = CommitProperties(app_transactions=[Transaction("sales", 8)])
    write_deltalake(every, to_arrow(EVERY, (), ""), mode="append", commit_properties=stamped)
    assert newest_version(every) == 3


def test_a_log_that_lacks_a_version_has_no_newest_one(every: Path) -> None:
    (every / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(OracleError, match="gap"):
        newest_version(every)


def test_a_log_file_that_is_cut_short_is_an_error(every: Path) -> None:
    log = every / "_delta_log" / f"{1:020d}.json"
    log.write_text(log.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    with pytest.raises(OracleError, match="delta-rs cannot read it"):
        read_rows(every, 2, EVERY)
