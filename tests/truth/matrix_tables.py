"""The small tables of the matrix: every kind of value that is known to make engines disagree."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal

from tests.ir import table
from tests.truth.bag_evaluator import Relation
from workload.schema import Column
from workload.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Row,
    SqlType,
    Value,
    decimal,
)

PRICE = decimal(10, 2)
RATE = decimal(12, 4)
NAN = math.nan

Values = tuple[Value, ...]


def decimals(text: str) -> Values:
    """NULL and the decimals of a text."""
    return (None, *map(Decimal, text.split()))


def dates(text: str) -> Values:
    """NULL and the dates of a text."""
    return (None, *map(dt.date.fromisoformat, text.split()))


def timestamps(text: str) -> Values:
    """NULL and the timestamps of a text, `T` between date and time."""
    return (None, *map(dt.datetime.fromisoformat, text.split()))


SPECIMENS: Mapping[str, tuple[SqlType, Values]] = {
    "id": (INT, tuple(range(9))),
    "i": (INT, (None, 0, 1, -1, 7, -7, 2, 40_000, 2)),
    "y": (TINYINT, (None, 0, 1, -1, 10, -10, 2, 7, 2)),
    "h": (SMALLINT, (None, 0, 1, -1, 100, -100, 2, 7, 2)),
    "l": (BIGINT, (None, 0, 1, -1, 3_000_000_000, -3_000_000_000, 2, 7, 2)),
    "d": (PRICE, decimals("0.00 1.50 -1.50 99999999.99 -99999999.99 0.05 2.00 2.50")),
    "e": (RATE, decimals("0.0000 1.5000 -0.0001 99999999.9999 -7.2500 0.0500 2.0000 1.0050")),
    "x": (DOUBLE, (None, 0.0, -0.0, NAN, 0.5, -2.25, 2.0, 1048576.0, NAN)),
    "f": (FLOAT, (None, 0.0, -0.0, NAN, 0.5, -2.25, 2.0, 1024.0, NAN)),
    "u": (BINARY, (None, b"", b"a", b"A", b"a\x00", b"\xff\x80", b"\x00", b"it's \\", b"a")),
    "s": (STRING, (None, "", "a", "A", "abc", "  a b ", "a%c", "it's", "Zoë😀_$")),
    "p": (STRING, (None, "", "%", "_", "a_c", "%b%", "a$%c", "%'_", "Zo__$_$$")),
    "b": (BOOLEAN, (None, True, False, True, False, None, True, False, True)),
    "t": (
        DATE,
        dates("1970-01-01 1969-12-31 2024-02-29 2024-02-28 1582-10-10 2000-01-01 2024-12-31 2024-02-29"),
    ),
    "n": (
        TIMESTAMP_NTZ,
        timestamps(
            "1970-01-01T00:00 1969-12-31T23:59:59.999999 2024-02-29T00:00 2024-02-29T00:00:00.000001 "
            "1582-10-10T12:30 2000-01-01T01:02:03.120 2024-12-31T23:59:59 2024-02-29T00:00"
        ),
    ),
    "z": (
        TIMESTAMP,
        timestamps(
            "1970-01-01T00:00 1969-12-31T23:59:59.999999 2024-02-29T00:00 2024-03-31T02:30:00.000001 "
            "1900-01-01T12:30 2000-01-01T01:02:03.120 2024-12-31T23:59:59 2024-02-29T00:00"
        ),
    ),
}
"""Column -> type and values; row 0 is all NULL."""

SPECIMEN = table("specimen", **{name: type_ for name, (type_, _) in SPECIMENS.items()})
CUSTOMER = table("customer", k=INT, name=STRING, score=DOUBLE)
ORDER = table("purchase", k=INT, amount=PRICE, units=BIGINT, score=DOUBLE)
NOBODY = table("nobody", k=INT, name=STRING, score=DOUBLE)

CUSTOMERS: tuple[Row, ...] = (
    (1, "ann", 0.0),
    (1, "ann", 0.0),
    (2, "", NAN),
    (3, None, None),
    (None, "nul", -0.0),
    (None, None, None),
)
PURCHASES: tuple[Row, ...] = (
    (1, Decimal("9.99"), 3, -0.0),
    (1, Decimal("0.01"), None, NAN),
    (1, Decimal("9.99"), 3, 0.0),
    (2, None, 4_000_000_000, NAN),
    (4, Decimal("-5.00"), 0, 0.5),
    (None, Decimal("7.00"), 1, None),
)

RELATIONS: Mapping[str, Relation] = {
    SPECIMEN.name: Relation(SPECIMEN.columns, tuple(zip(*(v for _, v in SPECIMENS.values()), strict=True))),
    CUSTOMER.name: Relation(CUSTOMER.columns, CUSTOMERS),
    ORDER.name: Relation(ORDER.columns, PURCHASES),
    NOBODY.name: Relation(NOBODY.columns, ()),
}


def column_lists() -> Mapping[str, tuple[Column, ...]]:
    """The catalog of the matrix."""
    return {name: relation.columns for name, relation in RELATIONS.items()}
