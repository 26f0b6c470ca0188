"""Values as text for people, as in Spark's SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import assert_never

from reports.visible import one_line
from workload.sql import Dialect
from workload.sql.dialect import double_text, string_literal
from workload.types import Value


def cell(value: Value) -> str:
    """A value on one line. Strings are quoted, so that NULL and 'NULL', 1 and '1' differ."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return double_text(value)
        case Decimal():
            return f"{value:f}"
        case str():
            return one_line(string_literal(value, Dialect.SPARK))
        case bytes():
            return f"X'{value.hex().upper()}'"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case tuple():
            return f"({', '.join(map(cell, value))})"
        case _:
            assert_never(value)
