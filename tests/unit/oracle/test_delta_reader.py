"""Reading Delta tables without Spark; the tables are written by delta-rs, or by hand where it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from oracle.arrow import to_arrow
from oracle.bag import Bag
from oracle.delta_log import CommitMetadata, commit_metadata, snapshot
from oracle.delta_reader import read_base_row_ids, read_rows
from oracle.errors import OracleError
from tests.unit.oracle.roaring import array, roaring_array, without_runs, z85
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


def bag(found: tuple[Row, ...], of: tuple[Column, ...]) -> Bag:
    return Bag.of(found, [column.type for column in of])


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


def test_columns_are_read_by_name_in_the_order_asked_for(every: Path) -> None:
    some = columns("Mixed STRING, $ROW_ID STRING")
    assert read_rows(every, 0, some) == (("ü", "k|1"),)


@pytest.mark.parametrize(
    ("version", "asked", "message"),
    [
        (0, "i BIGINT", "found the columns i int32, declared are i int64"),
        (0, "nothing INT", "delta-rs cannot read it"),
        (0, "mixed STRING", "delta-rs cannot read it"),
        (9, "i INT", "at version 9: delta-rs cannot read it"),
    ],
)
def test_what_is_not_there_is_an_error(every: Path, version: int, asked: str, message: str) -> None:
    with pytest.raises(OracleError, match=message):
        read_rows(every, version, columns(asked))


def test_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="delta-rs cannot read it"):
        read_rows(tmp_path, 0, EVERY)
    with pytest.raises(OracleError, match="no Delta log"):
        commit_metadata(tmp_path)


def test_commits_as_the_log_tells_them(every: Path) -> None:
    created, appended, deleted = commit_metadata(every)
    assert [c.version for c in (created, appended, deleted)] == [0, 1, 2]
    assert (appended.operation, appended.user_metadata) == ("WRITE", '{"at": 7}')
    assert dict(appended.transactions) == {"sales": 7}
    assert appended.data_change
    assert sorted(deleted.removed) == sorted(created.added + appended.added)
    assert (created.user_metadata, created.removed) == (None, ())


class HandMade:
    """A Delta table whose log is written line by line."""

    def __init__(self, path: Path, **properties: str) -> None:
        self.path = path
        self.version = 0
        (path / "_delta_log").mkdir()
        self.commit({"metaData": {"configuration": properties, "partitionColumns": []}})

    def commit(self, *actions: dict[str, Any]) -> None:
        log = self.path / "_delta_log" / f"{self.version:020d}.json"
        log.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
        self.version += 1

    def file(self, name: str, table: pa.Table) -> None:
        pq.write_table(table, self.path / name)


ORDERS = columns("id INT, city STRING")
TRACKED = {"delta.rowTracking.materializedRowIdColumnName": "_row-id"}


@pytest.fixture
def tracked(tmp_path: Path) -> HandMade:
    """Version 1: one file, ids 10 to 12. Version 2: its second row is gone, and a file has ids of its own."""
    made = HandMade(tmp_path, **TRACKED)
    made.file("one file.parquet", to_arrow(ORDERS, rows(ORDERS, "1 rome; 2 oslo; 3 bonn"), ""))
    first = {"path": "one%20file.parquet", "baseRowId": 10, "dataChange": True}
    made.commit({"commitInfo": {"operation": "WRITE"}}, {"add": first})
    moved = to_arrow(ORDERS, rows(ORDERS, "2 paris; 4 lima"), "")
    made.file("two.parquet", moved.append_column("_row-id", pa.array([11, None], pa.int64())))
    bits = roaring_array((0, without_runs((0, 1, array(1)))))
    vector = {"storageType": "i", "pathOrInlineDv": z85(bits), "sizeInBytes": len(bits), "cardinality": 1}
    made.commit(
        {"add": {"path": "two.parquet", "baseRowId": 20, "dataChange": True}},
        {"add": {**first, "deletionVector": vector}},
        {"remove": {"path": "one%20file.parquet", "dataChange": True}},
        {"commitInfo": {"operation": "MERGE", "userMetadata": "frontier"}},
    )
    return made


def test_row_ids_are_materialized_or_by_position(tracked: HandMade) -> None:
    assert read_base_row_ids(tracked.path, 1, ORDERS) == tuple(
        zip((10, 11, 12), rows(ORDERS, "1 rome; 2 oslo; 3 bonn"), strict=True)
    )


def test_rows_under_a_deletion_vector_are_gone_and_an_updated_row_keeps_its_id(tracked: HandMade) -> None:
    found = sorted(read_base_row_ids(tracked.path, 2, ORDERS))
    assert found == list(zip((10, 11, 12, 21), rows(ORDERS, "1 rome; 2 paris; 3 bonn; 4 lima"), strict=True))


def test_an_older_file_has_null_in_a_newer_column(tracked: HandMade) -> None:
    wider = (*ORDERS, *columns("note STRING"))
    assert read_base_row_ids(tracked.path, 1, wider)[0] == (10, (1, "rome", None))


def test_a_file_with_another_deletion_vector_is_added_and_removed(tracked: HandMade) -> None:
    assert commit_metadata(tracked.path)[2] == CommitMetadata(
        version=2,
        operation="MERGE",
        user_metadata="frontier",
        data_change=True,
        added=("two.parquet", "one file.parquet"),
        removed=("one file.parquet",),
        transactions={},
    )
    assert [file.path for file in snapshot(tracked.path, 2).files] == ["two.parquet", "one file.parquet"]


def test_a_commit_that_only_rewrites_changes_no_data(tracked: HandMade) -> None:
    tracked.commit(
        {"commitInfo": {"operation": "OPTIMIZE"}}, {"remove": {"path": "two.parquet", "dataChange": False}}
    )
    assert not commit_metadata(tracked.path)[3].data_change


def test_a_log_file_that_is_cut_short(tracked: HandMade) -> None:
    log = tracked.path / "_delta_log" / f"{2:020d}.json"
    log.write_text(log.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    with pytest.raises(OracleError, match="cut short"):
        commit_metadata(tracked.path)


def test_a_version_that_the_log_does_not_hold(tracked: HandMade) -> None:
    with pytest.raises(OracleError, match="no version 9 in the log; the last one is 2"):
        snapshot(tracked.path, 9)
    (tracked.path / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(OracleError, match="the log lacks version 1"):
        snapshot(tracked.path, 2)


@pytest.mark.parametrize(
    ("properties", "message"),
    [({}, "does not track rows"), ({**TRACKED, "delta.columnMapping.mode": "name"}, "column-mapped")],
)
def test_tables_whose_ids_cannot_be_told(tmp_path: Path, properties: dict[str, str], message: str) -> None:
    HandMade(tmp_path, **properties)
    with pytest.raises(OracleError, match=message):
        read_base_row_ids(tmp_path, 0, ORDERS)
