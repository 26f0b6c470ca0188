"""Deletion vectors: what is written is read again, and a damaged one is named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from pyroaring import BitMap64

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.rows.vectors import MAGIC, new_vector, read_vector, z85


def in_the_log(positions: BitMap64) -> dict[str, object]:
    """A vector as other writers may put it into the log itself."""
    data = struct.pack("<i", MAGIC) + positions.serialize()
    text = z85(data + b"\0" * (-len(data) % 4))
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(data),
        "cardinality": len(positions),
    }


@given(st.sets(st.integers(0, 2**40), max_size=200))
def test_a_vector_in_the_log_is_read(positions: set[int]) -> None:
    vector = in_the_log(BitMap64(positions))
    assert set(read_vector("/nowhere", vector, LocalFiles())) == positions


@pytest.mark.parametrize("positions", [BitMap64(), BitMap64([7, 2**40]), BitMap64(range(0, 100_000, 3))])
def test_a_vector_is_a_file_and_is_read_again(tmp_path: Path, positions: BitMap64) -> None:
    vector = new_vector(str(tmp_path), positions, LocalFiles())
    assert (vector["storageType"], vector["offset"]) == ("u", 1)
    assert vector["cardinality"] == len(positions)
    assert read_vector(str(tmp_path), vector, LocalFiles()) == positions


def test_no_vector_deletes_nothing() -> None:
    assert not read_vector("/nowhere", None, LocalFiles())


@pytest.mark.parametrize("change", ["cut", "other magic number", "gone"])
def test_a_damaged_vector_is_named(tmp_path: Path, change: str) -> None:
    vector = new_vector(str(tmp_path), BitMap64(range(0, 100_000, 3)), LocalFiles())
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    match change:
        case "cut":
            file.write_bytes(content[:3])
        case "other magic number":
            file.write_bytes(content[:5] + b"\0\0\0\0" + content[9:])
        case _:
            file.unlink()
    with pytest.raises(CorruptTable, match=r"the deletion vector .* cannot be read"):
        read_vector(str(tmp_path), vector, LocalFiles())
