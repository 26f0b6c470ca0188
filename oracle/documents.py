"""Documents in Parquet's encoding of VARIANT, as texts of JSON: read here, since Spark must not judge itself.

A document is two blobs: `metadata` lists the keys of all objects, `value` is a tree of values, each behind a
byte that tells its kind (apache/parquet-format, VariantEncoding.md).
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Any

from oracle.errors import OracleError
from workload.types import document_text

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # of values without a zone

SIZED: Mapping[int, Callable[[bytes], Any]] = {
    0: lambda at: None,
    1: lambda at: True,
    2: lambda at: False,
    3: lambda at: _integer(at[:1]),
    4: lambda at: _integer(at[:2]),
    5: lambda at: _integer(at[:4]),
    6: lambda at: _integer(at[:8]),
    7: lambda at: struct.unpack("<d", at[:8])[0],
    8: lambda at: _decimal(at[:5]),
    9: lambda at: _decimal(at[:9]),
    10: lambda at: _decimal(at[:17]),
    11: lambda at: str((EPOCH + dt.timedelta(days=_integer(at[:4]))).date()),
    12: lambda at: f"{EPOCH + dt.timedelta(microseconds=_integer(at[:8]))}+00:00",
    13: lambda at: str(EPOCH + dt.timedelta(microseconds=_integer(at[:8]))),
    14: lambda at: struct.unpack("<f", at[:4])[0],
    15: lambda at: base64.b64encode(at[4 : 4 + _size(at[:4])]).decode(),
    16: lambda at: at[4 : 4 + _size(at[:4])].decode(),
}
"""Number of a primitive type -> the function that reads its value from the bytes behind the header."""


def json_text(metadata: bytes, value: bytes) -> str:
    """Returns a document as a text of JSON. Raises OracleError: the bytes are no document."""
    try:
        return document_text(_value(value, _keys(metadata)))
    except (IndexError, KeyError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise OracleError(f"a VARIANT cannot be read: {error!r} in {value!r} with {metadata!r}") from error


def _keys(metadata: bytes) -> list[str]:
    """Returns the keys of all objects, which objects name by their numbers."""
    width = (metadata[0] >> 6) + 1
    count = _size(metadata[1 : 1 + width])
    offsets = _sizes(metadata, 1 + width, count + 1, width)
    start = 1 + width * (count + 2)
    return [metadata[start + first : start + end].decode() for first, end in pairwise(offsets)]


def _value(at: bytes, keys: list[str]) -> Any:
    """Returns the value that some bytes begin with."""
    # The last two bits tell a primitive, a short text, an object and an array apart.
    kind, header, rest = at[0] & 3, at[0] >> 2, at[1:]
    match kind:
        case 0:
            return SIZED[header](rest)
        case 1:
            return rest[:header].decode()
        case 2:
            width, id_width = (header & 3) + 1, (header >> 2 & 3) + 1
            count_width = 4 if header >> 4 & 1 else 1
            count = _size(rest[:count_width])
            ids = _sizes(rest, count_width, count, id_width)
            offsets = _sizes(rest, count_width + count * id_width, count + 1, width)
            start = count_width + count * id_width + (count + 1) * width
            return {
                keys[number]: _value(rest[start + offset :], keys)
                for number, offset in zip(ids, offsets, strict=False)
            }
        case _:
            width = (header & 3) + 1
            count_width = 4 if header >> 2 & 1 else 1
            count = _size(rest[:count_width])
            offsets = _sizes(rest, count_width, count + 1, width)
            start = count_width + (count + 1) * width
            return [_value(rest[start + offset :], keys) for offset in offsets[:-1]]


def _size(at: bytes) -> int:
    """Returns an unsigned number of as many bytes as there are."""
    return int.from_bytes(at, "little")


def _sizes(at: bytes, start: int, count: int, width: int) -> list[int]:
    """Returns `count` unsigned numbers of `width` bytes each, from the place `start` on."""
    return [_size(at[start + n * width : start + (n + 1) * width]) for n in range(count)]


def _integer(at: bytes) -> int:
    return int.from_bytes(at, "little", signed=True)


def _decimal(at: bytes) -> float:
    return float(Decimal(_integer(at[1:])).scaleb(-at[0]))
