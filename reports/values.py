"""Row values as text: Spark literals, short where the column already gives the type."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import assert_never

from reports.visible import one_line
from workload.sql import Dialect
from workload.sql.dialect import string_literal
from workload.types import Row, Value


def cell(value: Value) -> str:
    """The value on one line; a string is quoted, so that NULL, 'NULL', 1 and '1' all differ."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _double(value)
        case Decimal():
            return f"{value:f}"
        case str():
            return one_line(string_literal(value, Dialect.SPARK))
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case _:
            assert_never(value)


def values_item(value: Value) -> str:
    """The value inside a VALUES list, whose target column gives the type of numbers and NULL."""
    match value:
        case float():
            return f"{value!r}D" if math.isfinite(value) else f"double('{_double(value)}')"
        case dt.datetime():
            return f"TIMESTAMP_NTZ '{cell(value)}'"
        case dt.date():
            return f"DATE '{cell(value)}'"
        case _:
            return cell(value)


def values_row(row: Row) -> str:
    """One parenthesised row of a VALUES list."""
    return "(" + ", ".join(values_item(value) for value in row) + ")"


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
