"""SQL types and the Python values that stand for them."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any, assert_never

from workload.errors import WorkloadError


class Kind(Enum):
    """The families of types; each is exactly comparable between Spark and DuckDB."""

    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    TIMESTAMP = "TIMESTAMP"
    """An instant. All sessions are in UTC, so its value is the UTC date and time, without a zone."""
    ARRAY = "ARRAY"
    STRUCT = "STRUCT"
    MAP = "MAP"
    VARIANT = "VARIANT"
    """A document. Its value is the text of its JSON as `document_text` writes it."""

    # Types are looked up for every value; the hash of Enum is a function of Python, this one is C's.
    __hash__ = object.__hash__


NESTED = frozenset({Kind.ARRAY, Kind.STRUCT, Kind.MAP, Kind.VARIANT})
"""The kinds of types whose values hold other values. They pass through queries; no statement and no drawn
query calculates from them, and rows are not matched by them.
"""

SCALAR = frozenset(Kind) - NESTED

DRAWN = tuple(kind for kind in Kind if kind is not Kind.VARIANT)
"""The kinds of types that random tables have. Documents are drawn for definitions of users alone: without a
definition that takes parts of them there is nothing to put into them."""

ESTIMATE_NAME = "DOUBLE~"
"""How `ESTIMATE` is written: it is no type of SQL."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """One SQL type. `precision` and `scale` count decimal digits and are 0 except for DECIMAL.

    `parts`: the names and types that a nested type is made of. An ARRAY has one, `element`, a MAP has two,
    `key` and `value`, and a STRUCT has its fields.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    parts: tuple[tuple[str, SqlType], ...] = ()

    @property
    def stored(self) -> SqlType:
        """The type that engines have: DOUBLE for ESTIMATE, and for a DOUBLE whose zeros have a sign."""
        return SqlType(self.kind) if self.kind in (Kind.FLOAT, Kind.DOUBLE) else self

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        if self == ESTIMATE:
            return ESTIMATE_NAME
        name: str = self.kind.value
        if self in SIGNED:
            return f"{name}{SIGNED_MARK}"
        if self.kind is Kind.STRUCT:
            return f"{name}<{','.join(f'{part}:{type_}' for part, type_ in self.parts)}>"
        if self.parts:
            return f"{name}<{','.join(str(type_) for _, type_ in self.parts)}>"
        return name


TINYINT = SqlType(Kind.TINYINT)
SMALLINT = SqlType(Kind.SMALLINT)
INT = SqlType(Kind.INT)
BIGINT = SqlType(Kind.BIGINT)
FLOAT = SqlType(Kind.FLOAT)
DOUBLE = SqlType(Kind.DOUBLE)
BOOLEAN = SqlType(Kind.BOOLEAN)
STRING = SqlType(Kind.STRING)
BINARY = SqlType(Kind.BINARY)
DATE = SqlType(Kind.DATE)
TIMESTAMP_NTZ = SqlType(Kind.TIMESTAMP_NTZ)
TIMESTAMP = SqlType(Kind.TIMESTAMP)

ESTIMATE = SqlType(Kind.DOUBLE, precision=20)
"""A DOUBLE whose last bits depend on the order in which rows are added, such as a standard deviation.

To every engine it is a DOUBLE. Judges compare its values on a grid of so many binary digits (`oracle.bag`).
Nothing is grouped by it, compared with it or calculated from it.
"""

SIGNED_MARK = "+-"
"""What is written after the name of a `SIGNED` type."""

SIGNED = (SqlType(Kind.FLOAT, scale=1), SqlType(Kind.DOUBLE, scale=1))
"""FLOAT and DOUBLE where judges tell -0.0 from 0.0, though SQL calls them equal (`oracle.zeros`).

To every engine they are FLOAT and DOUBLE; only the columns that are compared have these types.
"""


def with_signed_zero(type_: SqlType) -> SqlType:
    """Returns the type whose values are compared by the sign of a zero, too; the type itself if no float."""
    return replace(type_, scale=1) if type_ in (FLOAT, DOUBLE) else type_


BITS: Mapping[Kind, int] = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
"""The kinds of integers, narrowest first, with their binary digits, the sign included."""

MAX_DECIMAL_PRECISION = 38

type_pattern = re.compile(r"^(?P<kind>[A-Z_]+)(?:\((?P<precision>\d{1,4}),\s*(?P<scale>\d{1,4})\))?$")


field_pattern = re.compile(r"[a-z][a-z0-9_]{0,62}")

TYPE_WORDS = {kind.value.lower() for kind in Kind} | {
    "integer",
    "timestamp",
    "varchar",
    "text",
    "bool",
    "blob",
}
"""Words that stand in quotes where a field has them as its name, as keywords do."""


def decimal(precision: int, scale: int) -> SqlType:
    """Returns DECIMAL(precision, scale). Raises WorkloadError where SQL allows no such type."""
    if not (0 <= scale <= precision and 1 <= precision <= MAX_DECIMAL_PRECISION):
        raise WorkloadError(
            f"no such type: DECIMAL({precision},{scale}); use 1 <= precision <= 38, scale <= precision"
        )
    return SqlType(Kind.DECIMAL, precision, scale)


def array_of(element: SqlType) -> SqlType:
    """Returns the ARRAY of elements of a type."""
    return SqlType(Kind.ARRAY, parts=(("element", element),))


def struct_of(**fields: SqlType) -> SqlType:
    """Returns the STRUCT with the given fields."""
    return SqlType(Kind.STRUCT, parts=tuple(fields.items()))


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """Returns the MAP from keys of one type to values of another one. Raises WorkloadError: nested keys."""
    if key.kind in NESTED:
        raise WorkloadError(f"no such type: MAP with keys of type {key}")
    return SqlType(Kind.MAP, parts=(("key", key), ("value", value)))


def parse_type(text: str) -> SqlType:
    """Returns the type written as `str(type)` writes it; case does not matter. Raises WorkloadError."""
    name, _, inner = text.strip().partition("<")
    if inner.endswith(">"):
        return _parse_nested(name.strip().upper(), inner[:-1], text)
    if text == ESTIMATE_NAME:
        return ESTIMATE
    if text.endswith(SIGNED_MARK):
        return with_signed_zero(parse_type(text.removesuffix(SIGNED_MARK)))
    match = type_pattern.match(text.strip().upper())
    names = {kind.value: kind for kind in Kind if kind not in NESTED or kind is Kind.VARIANT}
    if match is None or match["kind"] not in names:
        raise WorkloadError(f"unknown type {text!r}; known: {', '.join(names)}, ARRAY<>, STRUCT<>, MAP<>")
    kind = names[match["kind"]]
    if (match["precision"] is not None) != (kind is Kind.DECIMAL):
        raise WorkloadError(f"type {text!r}: only DECIMAL takes (precision, scale), and it needs both")
    return decimal(int(match["precision"]), int(match["scale"])) if kind is Kind.DECIMAL else SqlType(kind)


def _parse_nested(name: str, inner: str, text: str) -> SqlType:
    parts = _split(inner)
    match name, len(parts):
        case "ARRAY", 1:
            return array_of(parse_type(parts[0]))
        case "MAP", 2:
            return map_of(*map(parse_type, parts))
        case "STRUCT", _ if all(":" in part for part in parts):
            # A name may stand in the quotes of Spark.
            pairs = [part.replace("`", "").lower().split(":", 1) for part in parts]
            fields = [(field.strip(), type_) for field, type_ in pairs]
            names = [field for field, _ in fields]
            if all(map(field_pattern.fullmatch, names)) and len(set(names)) == len(names):
                return struct_of(**{field: parse_type(type_) for field, type_ in fields})
        case _:
            pass
    raise WorkloadError(f"unknown type {text!r}; write ARRAY<INT>, MAP<STRING,INT>, STRUCT<a:INT,b:STRING>")


def _split(text: str) -> list[str]:
    """Returns the parts between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


Value = None | bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | tuple[Any, ...]
"""A value of SQL. A tuple holds the elements of an ARRAY, the fields of a STRUCT, or the pairs of key and
value of a MAP, sorted by the text of the key."""

Row = tuple[Value, ...]


def distinct_objects(rows: Sequence[Row]) -> Iterator[Iterable[Value]]:
    """Yields the different objects in each column of some rows of one length: drawn rows share few of them.

    By identity, because equality is too wide: 1 equals True, and -0.0 equals 0.0.
    """
    return ({id(value): value for value in column}.values() for column in zip(*rows, strict=True))


def fits(value: Value, type_: SqlType) -> bool:
    """Tells whether the value is NULL or of the Python type (and range) that stands for the SQL type."""
    if value is None:
        return True
    match type_.kind:
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            bound = 2 ** (BITS[type_.kind] - 1)
            return type(value) is int and -bound <= value < bound
        case Kind.DECIMAL:
            return isinstance(value, Decimal) and value.is_finite() and _digits_fit(value, type_)
        case Kind.FLOAT:
            return type(value) is float and _fits_float(value)
        case Kind.DOUBLE:
            return type(value) is float
        case Kind.BOOLEAN:
            return type(value) is bool
        case Kind.STRING:
            return type(value) is str and _encodable(value)
        case Kind.BINARY:
            return type(value) is bytes
        case Kind.DATE:
            return type(value) is dt.date
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP:
            return type(value) is dt.datetime and value.tzinfo is None
        case Kind.ARRAY | Kind.STRUCT | Kind.MAP | Kind.VARIANT:
            return _nested_fits(value, type_)
        case _:
            assert_never(type_.kind)


def document_text(document: object) -> str:
    """Returns the text of a document of objects, lists, texts, numbers, booleans and None: keys in order.

    1.0 is written as 1, as Spark writes a decimal that it reads in JSON.
    """
    return json.dumps(_whole(document), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _whole(document: object) -> object:
    match document:
        case dict():
            return {key: _whole(value) for key, value in document.items()}
        case list():
            return [_whole(value) for value in document]
        case float() if document.is_integer():
            return int(document)
        case _:
            return document


def _is_document(text: str) -> bool:
    try:
        return document_text(json.loads(text)) == text
    except ValueError:
        return False


def _nested_fits(value: Value, type_: SqlType) -> bool:
    if type_.kind is Kind.VARIANT:
        return type(value) is str and _is_document(value)
    return type(value) is tuple and bool(type_.parts) and _parts_fit(value, type_)


def _parts_fit(value: tuple[Any, ...], type_: SqlType) -> bool:
    types = [part for _, part in type_.parts]
    match type_.kind:
        case Kind.ARRAY:
            return all(fits(element, types[0]) for element in value)
        case Kind.STRUCT:
            return len(value) == len(types) and all(map(fits, value, types))
        case _:
            pairs = all(
                type(pair) is tuple and len(pair) == 2 and all(map(fits, pair, types)) for pair in value
            )
            return pairs and None not in dict(value) and value == of_map(dict(value))


def of_map(pairs: Mapping[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """Returns the value of a MAP: its pairs of key and value, sorted by the text of the key."""
    return tuple(sorted(pairs.items(), key=lambda pair: repr(pair[0])))


def to_float(value: float) -> float:
    """Returns the FLOAT nearest to a number. Raises OverflowError: it is finite and larger than any FLOAT."""
    nearest: float = struct.unpack("f", struct.pack("f", value))[0]
    return nearest


def _fits_float(value: float) -> bool:
    try:
        return math.isnan(value) or to_float(value) == value
    except OverflowError:
        return False


def _encodable(value: str) -> bool:
    # A lone surrogate is a Python string, but no text that any engine could store.
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _digits_fit(value: Decimal, type_: SqlType) -> bool:
    # Counted on the digits themselves: decimal arithmetic rounds to the context's precision.
    sign_less = value.copy_abs()
    exponent = int(sign_less.as_tuple().exponent)
    digits = "".join(map(str, sign_less.as_tuple().digits)).lstrip("0")
    if not digits:
        return True
    needed_scale = max(0, -exponent - (len(digits) - len(digits.rstrip("0"))))
    return needed_scale <= type_.scale and len(digits) + exponent <= type_.precision - type_.scale
