"""Roaring bitmaps and Z85 text, written by hand: what a deletion vector is made of."""

from __future__ import annotations

import base64
import struct

from oracle.deletion_vector import B85, PORTABLE_MAGIC, Z85


def z85(data: bytes) -> str:
    padded = data + b"\0" * (-len(data) % 4)
    return base64.b85encode(padded).decode().translate(str.maketrans(B85, Z85))


def roaring_array(*bitmaps: tuple[int, bytes]) -> bytes:
    """One 32-bit bitmap for each upper half."""
    parts = [struct.pack("<I", high) + bitmap for high, bitmap in bitmaps]
    return struct.pack("<Iq", PORTABLE_MAGIC, len(bitmaps)) + b"".join(parts)


def without_runs(*containers: tuple[int, int, bytes]) -> bytes:
    """A bitmap of (upper half, cardinality, container)."""
    header = struct.pack("<II", 12346, len(containers))
    header += b"".join(struct.pack("<HH", high, cardinality - 1) for high, cardinality, _ in containers)
    offsets = b"\xff\xff\xff\xff" * len(containers)
    return header + offsets + b"".join(container for _, _, container in containers)


def array(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}H", *numbers)
