"""The type that Spark converts values to where several types meet: the harness's own account of its rules.

The engine has its own copy of these rules on purpose; tests compare this one with Spark. Spark 4, ANSI mode.
"""

from __future__ import annotations

from workload.types import BITS, DOUBLE, MAX_DECIMAL_PRECISION, Kind, SqlType, decimal

DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20}
"""The digits that Spark gives an integer that meets a DECIMAL."""

TIMES = (Kind.DATE, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP)
"""Values of two of these types meet in the later one."""


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """Returns the type that two values take in a comparison, COALESCE, CASE or UNION; None: there is none."""
    if left == right:
        return left
    kinds = {left.kind, right.kind}
    if kinds <= set(TIMES):
        return max(left, right, key=lambda type_: TIMES.index(type_.kind))
    if not kinds <= {*BITS, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE}:
        return None
    # A FLOAT beside any other number becomes a DOUBLE, which holds more integers.
    if kinds & {Kind.FLOAT, Kind.DOUBLE}:
        return DOUBLE
    if Kind.DECIMAL not in kinds:
        return max(left, right, key=lambda type_: BITS[type_.kind])
    first, second = (decimal(DIGITS[t.kind], 0) if t.kind in DIGITS else t for t in (left, right))
    scale = max(first.scale, second.scale)
    precision = max(first.precision - first.scale, second.precision - second.scale) + scale
    return decimal(precision, scale) if precision <= MAX_DECIMAL_PRECISION else None


def common_type_of(types: tuple[SqlType, ...]) -> SqlType | None:
    """Returns the common type of one or more types; None where two of them have none."""
    result: SqlType | None = types[0]
    for type_ in types[1:]:
        result = None if result is None else common_type(result, type_)
    return result
