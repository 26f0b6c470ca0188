"""Which files of a table become files of its copy, and when none can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.rows.vectors import new_vector, read_vector
from dynamic_tables.store.tables.linked import linked


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "x%y").mkdir()
    (tmp_path / "a" / "x%y" / "part 1.parquet").write_text("rows")
    return str(tmp_path / "a"), str(tmp_path / "b")


FILE: dict[str, Any] = {"path": "x%25y/part%201.parquet", "size": 4, "dataChange": False, "stats": "{}"}


def test_a_file_has_a_second_name_and_outlives_the_first(folders: tuple[str, str]) -> None:
    first, second = folders
    assert linked([FILE], first, second) == [{"add": {**FILE, "dataChange": True}}]
    original, copy = (Path(each) / "x%y" / "part 1.parquet" for each in folders)
    assert original.stat().st_ino == copy.stat().st_ino
    original.unlink()
    assert copy.read_text() == "rows"


def test_deleted_rows_stay_deleted(folders: tuple[str, str]) -> None:
    first, second = folders
    positions = BitMap64([1, 5])
    vector = new_vector(first, positions, LocalFiles())
    actions = linked([{**FILE, "deletionVector": vector}], first, second)
    assert actions is not None
    assert read_vector(second, actions[0]["add"]["deletionVector"], LocalFiles()) == positions


@pytest.mark.parametrize(
    "file",
    [
        {**FILE, "path": "/elsewhere/part.parquet"},
        {**FILE, "path": "s3://bucket/part.parquet"},
        {**FILE, "path": "../part.parquet"},
        {**FILE, "path": "removed.parquet"},
        {**FILE, "deletionVector": {"storageType": "p", "pathOrInlineDv": "file:/elsewhere/v.bin"}},
    ],
    ids=["absolute", "another store", "outside", "missing", "a vector elsewhere"],
)
def test_files_that_cannot_be_shared(folders: tuple[str, str], file: dict[str, Any]) -> None:
    assert linked([file], *folders) is None
