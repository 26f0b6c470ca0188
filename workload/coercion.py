"""What Spark converts by itself where values of several types meet: the harness's own account of its rules.

Kept apart from the engine's on purpose; tests compare it with Spark. Spark 4, ANSI mode.
"""

from __future__ import annotations

from workload.types import (
    BIGINT,
    DOUBLE,
    INT,
    MAX_DECIMAL_PRECISION,
    TIMESTAMP_NTZ,
    Kind,
    SqlType,
    decimal,
)

DIGITS = {INT: 10, BIGINT: 20}
"""The digits that Spark gives an integer that meets a DECIMAL."""


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The type that two values take in a comparison, COALESCE, CASE or UNION; None where there is none."""
    if left == right:
        return left
    kinds = {left.kind, right.kind}
    if kinds == {Kind.DATE, Kind.TIMESTAMP_NTZ}:
        return TIMESTAMP_NTZ
    if not kinds <= {Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE}:
        return None
    if Kind.DOUBLE in kinds:
        return DOUBLE
    if Kind.DECIMAL not in kinds:
        return BIGINT
    first, second = (decimal(DIGITS[t], 0) if t in DIGITS else t for t in (left, right))
    scale = max(first.scale, second.scale)
    precision = max(first.precision - first.scale, second.precision - second.scale) + scale
    return decimal(precision, scale) if precision <= MAX_DECIMAL_PRECISION else None


def common_type_of(types: tuple[SqlType, ...]) -> SqlType | None:
    """The common type of one or more types; None where two of them have none."""
    result: SqlType | None = types[0]
    for type_ in types[1:]:
        result = None if result is None else common_type(result, type_)
    return result
