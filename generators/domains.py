"""Domains of columns: small value sets with NULLs, duplicates and the awkward values of each type."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from generators.choices import Choices
from workload.limits import NO_LIMITS, Limits
from workload.schema import Column
from workload.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NESTED,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Kind,
    Row,
    SqlType,
    Value,
    array_of,
    decimal,
    map_of,
    struct_of,
    to_float,
)

NO_ARITHMETIC = 99
"""The digits of a term whose values are too large, or not exact enough, to calculate with."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The values of a column. `digits`: binary digits, before and after the point, that hold every one."""

    values: tuple[Value, ...]
    digits: int = NO_ARITHMETIC


def _decimals(text: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, text.split()))


def _dates(text: str) -> tuple[dt.date, ...]:
    return tuple(map(dt.date.fromisoformat, text.split()))


def _timestamps(text: str) -> tuple[dt.datetime, ...]:
    return tuple(map(dt.datetime.fromisoformat, text.split()))


DECIMAL = decimal(8, 2)

ARRAY, STRUCT, MAP = array_of(INT), struct_of(a=INT, b=STRING), map_of(STRING, INT)
"""The nested types of columns."""

MADE_OF_PARTS: Mapping[Kind, SqlType] = {type_.kind: type_ for type_ in (DECIMAL, ARRAY, STRUCT, MAP)}
"""The types of columns, by their kinds, where the kind alone is no type."""

WIDE_DECIMAL = decimal(18, 2)
"""More digits than a double holds; also the type of a SUM over DECIMAL."""

WIDEST_DECIMAL = decimal(38, 10)

IMITATIONS = (
    *("n", "s1:a", "sn", "0", "01", "1:a", "2:1:a", "a:1", ":", "a,b", "NULL", "null", "NaN", "true"),
    *("2024-02-29", "INSERT", "$ROW_ID", "r0", '"', "`", "\\", "\\N", "--", "/*", "%", "${x}", "\t", "a\nb"),
    *("日本", "x" * 300),
)
"""Strings that look like parts of row ids, of SQL, or like values of other types."""

LARGE_PART = 36
"""Binary digits of numbers with a large common part, and a few more for others that are added to them."""

OLD_TIMES = Domain(
    _timestamps(
        "1582-10-10T00:00:00 1582-10-10T12:30:00.000001 1582-10-14T23:59:59.999999 1582-10-15T00:00:00 "
        "1883-11-18T12:03:57.500000 1899-12-31T23:59:59.999999 1900-01-01T00:00:00"
    )
)
"""Times over which decoders stumble: of days that the old calendar lacks, of years before time zones."""

DOMAINS: Mapping[Kind, Sequence[tuple[int, Domain]]] = {
    Kind.TINYINT: (
        (8, Domain((0, 1, 2, 3, 4, -1), 3)),
        (1, Domain((0, 1, -1, 127, -128))),
    ),
    Kind.SMALLINT: (
        (8, Domain((0, 1, 2, 3, 5, -1), 3)),
        (1, Domain((0, 1, -1, 2**15 - 1, -(2**15)))),
    ),
    Kind.INT: (
        (8, Domain((0, 1, 2, 3, 4, -1), 3)),
        (1, Domain((0, 1, -1, 2**31 - 1, -(2**31)))),
    ),
    Kind.BIGINT: (
        (6, Domain((0, 1, 2, 5, -5, 7), 3)),
        (1, Domain((0, 1, 2**62, -(2**63), 2**63 - 1))),
    ),
    Kind.DECIMAL: (
        (4, Domain(_decimals("0.00 1.50 -1.50 2.25 10.01 0.01"), 0)),
        # Sums that need a digit more than the column has.
        (1, Domain(_decimals("999999.99 -999999.99 999999.98 -999999.98 0.01 -0.01 0.00"))),
    ),
    Kind.FLOAT: (
        (5, Domain((0.0, 1.5, -0.0, float("nan"), 0.25, -1.5), 4)),
        (1, Domain((2.0**20, 2.0**20 + 1, -(2.0**20), 0.5, -0.0, 0.0), LARGE_PART)),
        (1, Domain((to_float(0.1), to_float(1e-45), to_float(3.4028235e38), math.inf, -math.inf, math.nan))),
    ),
    Kind.DOUBLE: (
        (5, Domain((0.0, 1.5, -0.0, float("nan"), 0.25, -1.5), 4)),
        (1, Domain((1e9, 1e9 + 1, 1e9 + 0.5, -1e9, -1e9 - 1, 0.5, -0.0), LARGE_PART)),
        (1, Domain((0.1, 0.2, 0.1 + 0.2, -1e-300, 5e-324, 1e308, math.inf, -math.inf, math.nan))),
    ),
    Kind.BOOLEAN: ((1, Domain((False, True))),),
    Kind.STRING: (
        (4, Domain(("a", "A", "b", "", "a ", "a|b", "it's", "é"))),
        (1, Domain(IMITATIONS)),
        # NUL, and characters of all planes. No combining marks: engines differ in what is one character.
        (1, Domain(("\x00", "a\x00b", "a", "\uffff", "\U0001f600", "a\U0001f600", "\U0010ffff", ""))),
    ),
    Kind.BINARY: (
        (4, Domain((b"a", b"A", b"", b"\x00", b"a\x00", b"\xff\x80"))),
        (1, Domain((b"s1:a", b"61", b"n", b"\\", b"'", b"x" * 300))),
    ),
    Kind.DATE: (
        (3, Domain(_dates("2024-02-28 2024-02-29 2023-12-31 0001-02-01 9998-12-31"))),
        # The calendar of old software has no days from 5 to 14 October 1582.
        (1, Domain(_dates("1582-10-04 1582-10-05 1582-10-10 1582-10-14 1582-10-15 1899-12-31 1970-01-01"))),
    ),
    Kind.TIMESTAMP_NTZ: (
        (4, Domain(_timestamps("2024-03-31T02:30:00 2024-03-31T02:30:00.000001 1969-12-31T23:59:59"))),
        (1, Domain(_timestamps("0001-01-01T00:00:00 9999-12-31T23:59:59.999999 2024-02-29T00:00:00"))),
        (1, OLD_TIMES),
    ),
    Kind.TIMESTAMP: (
        (4, Domain(_timestamps("2024-03-31T02:30:00 2024-03-31T02:30:00.000001 1969-12-31T23:59:59"))),
        (1, Domain(_timestamps("0001-01-01T00:00:00 9999-12-31T23:59:59.999999 2024-02-29T00:00:00"))),
        (1, OLD_TIMES),
    ),
    Kind.ARRAY: ((1, Domain(((), (1,), (1, 2), (2, 1), (1, 1), (2, None, 1), (None,), (1, None)))),),
    Kind.STRUCT: ((1, Domain(((1, "a"), (1, None), (None, "a"), (None, None), (2, "s1:a")))),),
    Kind.MAP: ((1, Domain(((), (("a", 1),), (("a", 2),), (("a", 1), ("b", None)), (("", 0),)))),),
}
"""The weighted domains of each kind; literals are of the first one. Doubles to calculate with are dyadic
(multiples of a power of two), so sums are exact in any order. Dates leave room for moving by days within the
years 1..9999."""

WIDE_DECIMALS = Domain(
    _decimals("1234567890123456.78 -1234567890123456.78 9999999999999999.99 0.01 -0.01 0.00"), 0
)
"""Values whose sums a double would round."""

WIDEST_DECIMALS = Domain(
    _decimals(f"{'9' * 28}.{'9' * 10} -{'9' * 28}.{'9' * 10} 0.0000000001 1.5000000000 0.0000000000")
)
"""The extremes of the widest type."""

DOMAIN_OF_TYPE: Mapping[SqlType, Domain] = {WIDE_DECIMAL: WIDE_DECIMALS, WIDEST_DECIMAL: WIDEST_DECIMALS}
"""The domains of types that have one of their own."""

MANY_COLUMNS = 30
"""The columns of 2 in 100 tables, whatever the profile says."""

TYPES: Sequence[tuple[int, SqlType]] = (
    (5, INT),
    (3, BIGINT),
    (3, STRING),
    (2, DOUBLE),
    (2, DECIMAL),
    (1, WIDE_DECIMAL),
    (1, WIDEST_DECIMAL),
    (1, BOOLEAN),
    (1, DATE),
    (1, TIMESTAMP_NTZ),
    (1, TIMESTAMP),
    (1, TINYINT),
    (1, SMALLINT),
    (1, FLOAT),
    (1, BINARY),
    (2, ARRAY),
    (1, STRUCT),
    (1, MAP),
)
"""The types of random columns, with their weights."""


def value(choices: Choices, domain: Domain, null_percent: int) -> Value:
    """Returns a random value of a domain, or NULL in `null_percent` of 100 cases."""
    return None if choices.chance(null_percent) else choices.pick(domain.values)


@dataclass(frozen=True, slots=True)
class TableSketch:
    """A base table with the domain of each column. The first column, `k`, is an INT that tables join on."""

    name: str
    columns: tuple[Column, ...]
    domains: tuple[Domain, ...]


def table(
    choices: Choices,
    name: str,
    max_columns: int,
    types: Sequence[SqlType] = (),
    limits: Limits = NO_LIMITS,
) -> TableSketch:
    """Returns a random base table of at least 2 columns, and seldom of MANY_COLUMNS.

    `types`: the types of its first columns after the key; the others are of types within the limits. The
    first one after the key is never of a nested type.
    """
    columns = [Column("k", INT)]
    domains = [stored(DOMAINS[Kind.INT][0][1], INT, limits)]
    drawn = [(weight, type_) for weight, type_ in TYPES if type_.kind in limits.types]
    plain = [(weight, type_) for weight, type_ in drawn if type_.kind not in NESTED]
    others = MANY_COLUMNS - 1 if choices.chance(2) else choices.integer(1, max_columns - 1)
    for number in range(max(len(types), others)):
        if number < len(types):
            type_ = types[number]
        else:
            options = drawn if number else plain
            type_ = INT if number == 0 and choices.chance(60) else choices.weighted(options)
        columns.append(Column("abcdefgh"[number] if number < 8 else f"c{number}", type_))
        domain = DOMAIN_OF_TYPE[type_] if type_ in DOMAIN_OF_TYPE else choices.weighted(DOMAINS[type_.kind])
        domains.append(stored(domain, type_, limits))
    return TableSketch(name, tuple(columns), tuple(domains))


def stored(domain: Domain, type_: SqlType, limits: Limits) -> Domain:
    """Returns the domain without the values that an engine does not store; NULL alone if none is left."""
    values = tuple(value for value in domain.values if limits.stores(value, type_))
    return replace(domain, values=values or (None,))


def row(choices: Choices, sketch: TableSketch, null_percent: int) -> Row:
    """Returns a random row of a base table; `null_percent` as for `value`."""
    return tuple(value(choices, domain, null_percent) for domain in sketch.domains)
