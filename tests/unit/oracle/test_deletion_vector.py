"""Deletion vectors from bytes: every container of the Roaring format, inline and in files."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

import pytest

from oracle.deletion_vector import deleted_positions
from oracle.delta_log import DeletionVectorDescriptor
from oracle.errors import OracleError
from tests.unit.oracle.roaring import array, roaring_array, without_runs, z85

NOWHERE = Path("nowhere")


def inline(data: bytes, cardinality: int) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor("i", z85(data), 0, len(data), cardinality)


def test_an_empty_vector() -> None:
    assert deleted_positions(inline(roaring_array(), 0), NOWHERE) == frozenset()


def test_array_containers() -> None:
    bitmap = without_runs((0, 3, array(0, 5, 65535)), (2, 1, array(7)))
    found = deleted_positions(inline(roaring_array((0, bitmap)), 4), NOWHERE)
    assert found == {0, 5, 65535, 2 * 65536 + 7}


def test_a_bitmap_container() -> None:
    bits = bytearray(8192)
    members = set(range(0, 65536, 13))
    for number in members:
        bits[number // 8] |= 1 << number % 8
    vector = inline(roaring_array((0, without_runs((0, len(members), bytes(bits))))), len(members))
    assert deleted_positions(vector, NOWHERE) == members


@pytest.mark.parametrize("containers", [1, 3, 4, 9])
def test_run_containers_with_and_without_offsets(containers: int) -> None:
    """Container i: a run of 10 from 100 on if i is even, else the single number 1."""
    flags = bytearray((containers + 7) // 8)
    body, expected = b"", set()
    headers = b""
    for i in range(containers):
        if i % 2 == 0:
            flags[i // 8] |= 1 << i % 8
            body += struct.pack("<HHH", 1, 100, 9)
            headers += struct.pack("<HH", i, 9)
            expected |= {i * 65536 + n for n in range(100, 110)}
        else:
            body += array(1)
            headers += struct.pack("<HH", i, 0)
            expected.add(i * 65536 + 1)
    offsets = b"\0\0\0\0" * containers if containers >= 4 else b""
    cookie = struct.pack("<I", 12347 | containers - 1 << 16)
    vector = inline(roaring_array((0, cookie + bytes(flags) + headers + offsets + body)), len(expected))
    assert deleted_positions(vector, NOWHERE) == expected


def test_positions_beyond_32_bits() -> None:
    one = without_runs((0, 1, array(1)))
    assert deleted_positions(inline(roaring_array((0, one), (3, one)), 2), NOWHERE) == {1, (3 << 32) + 1}


@pytest.mark.parametrize("prefix", ["", "ab"])
def test_a_vector_in_a_file_beside_others(tmp_path: Path, prefix: str) -> None:
    data = roaring_array((0, without_runs((0, 2, array(3, 4)))))
    other = b"\x01" + struct.pack(">I", 3) + b"abc" + b"\0\0\0\0"
    content = other + struct.pack(">I", len(data)) + data + b"\0\0\0\0"
    name = uuid.UUID(int=12345)
    (tmp_path / prefix).mkdir(exist_ok=True)
    file = tmp_path / prefix / f"deletion_vector_{name}.bin"
    file.write_bytes(content)
    by_id = DeletionVectorDescriptor("u", prefix + z85(name.bytes), len(other), len(data), 2)
    by_path = DeletionVectorDescriptor("p", f"file:{file}", len(other), len(data), 2)
    assert deleted_positions(by_id, tmp_path) == deleted_positions(by_path, tmp_path) == {3, 4}


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (inline(struct.pack("<Iq", 1, 0), 0), "magic number 1"),
        (inline(roaring_array((0, struct.pack("<I", 7))), 0), "cookie 7"),
        (inline(roaring_array((0, b"")), 0), "unreadable"),
        (inline(roaring_array((0, without_runs((0, 1, array(1))))), 2), "of 1 rows, the log says 2"),
        (DeletionVectorDescriptor("x", "", 0, 0, 0), "storage type 'x'"),
        (DeletionVectorDescriptor("p", "nowhere/at/all", 0, 0, 0), "unreadable"),
    ],
)
def test_what_is_no_vector_is_refused(vector: DeletionVectorDescriptor, message: str) -> None:
    with pytest.raises(OracleError, match=message):
        deleted_positions(vector, NOWHERE)
