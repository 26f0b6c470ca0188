"""Deletion vectors: which rows of a data file are deleted, by their positions in the file.

The format is that of the Delta protocol ("Deletion Vector Format"): a magic number, then a set of 64-bit
positions as a portable Roaring bitmap. Its storage type is "i" (inline: in the log itself, in base 85), "u"
(a file whose name is a UUID, relative to the table) or "p" (a file by its absolute path).
"""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from collections.abc import Mapping
from typing import Any

from pyroaring import BitMap64

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.places import absolute

MAGIC = 1681511377
"""The number before a bitmap in the portable format."""

# Python's base 85 and Z85, which Delta uses, differ only in their digits.
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
FROM_Z85 = str.maketrans(Z85, B85)
TO_Z85 = str.maketrans(B85, Z85)


def read_vector(folder: str, vector: Mapping[str, Any] | None, files: Files) -> BitMap64:
    """Returns the positions of the deleted rows; none for a file without a vector.

    `folder`: the table's folder. Raises CorruptTable: for a vector that cannot be read.
    """
    if vector is None:
        return BitMap64()
    encoded, size = str(vector["pathOrInlineDv"]), int(vector["sizeInBytes"])
    try:
        match vector["storageType"]:
            case "i":
                data = base64.b85decode(encoded.translate(FROM_Z85))[:size]
            case ("u" | "p") as kind:
                data = _stored(files.read_bytes(vector_place(folder, kind, encoded)), vector, size)
            case kind:
                raise ValueError(f"storage type {kind!r}")
        (magic,) = struct.unpack_from("<i", data)
        if magic != MAGIC:
            raise ValueError(f"magic number {magic}")
        return BitMap64.deserialize(data[4:])
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise CorruptTable(f"{folder}: the deletion vector {encoded} cannot be read ({error})") from error


def _stored(content: bytes, vector: Mapping[str, Any], size: int) -> bytes:
    """Returns the bytes of a vector from its file. Raises ValueError: their number is not `size`."""
    # In a file, `offset` is the place of the size (4 bytes, big-endian); the vector and its CRC-32 follow.
    start = int(vector.get("offset") or 0) + 4
    (stored,) = struct.unpack_from(">i", content, start - 4)
    if stored != size:
        raise ValueError(f"{stored} bytes where {size} were expected")
    return content[start : start + size]


def new_vector(folder: str, positions: BitMap64, files: Files) -> Mapping[str, object]:
    """Returns a deletion vector in a new file of the table in a folder. Raises OSError.

    Delta's format also has small vectors in the log itself, but its VACUUM fails on them.
    """
    positions.run_optimize()
    data = struct.pack("<i", MAGIC) + positions.serialize()
    name = uuid.uuid4()
    # The first byte is the version of the file format.
    content = b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    files.write(f"{folder}/deletion_vector_{name}.bin", content)
    return {
        "storageType": "u",
        "pathOrInlineDv": z85(name.bytes),
        "offset": 1,
        "sizeInBytes": len(data),
        "cardinality": len(positions),
    }


def z85(data: bytes) -> str:
    """Returns bytes, a multiple of four, as Delta writes them in base 85."""
    return base64.b85encode(data).decode().translate(TO_Z85)


def vector_place(folder: str, kind: str, encoded: str) -> str:
    """Returns the path of the file of a deletion vector that is stored relative (u) or by its path (p)."""
    return f"{folder}/{vector_file(encoded)}" if kind == "u" else absolute(folder, encoded)


def vector_file(encoded: str) -> str:
    """Returns the relative path of a deletion vector from Delta's encoding of it.

    The encoding is an optional folder, then a UUID in 20 digits of base 85 (Z85).
    """
    prefix, digits = encoded[:-20], encoded[-20:]
    name = f"deletion_vector_{uuid.UUID(bytes=base64.b85decode(digits.translate(FROM_Z85)))}.bin"
    return f"{prefix}/{name}" if prefix else name
