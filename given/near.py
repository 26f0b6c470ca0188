"""Values near others: those at which a condition on a value changes its answer.

`n < 5` changes its answer between 4 and 5, so near 5 are 5, 6 and 4 (`around`).
"""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from workload.types import BITS, Kind, SqlType, Value, document_text, fits, to_float

LONGEST_TEXT = 100
"""The most characters of a text that is made for a condition on its length."""

EPOCH = dt.datetime.fromisoformat("2024-01-01")

BEGIN_US = int((EPOCH - dt.datetime.fromisoformat("1970-01-01")).total_seconds()) * 1_000_000
"""When scenarios begin whose definitions read the time: among the days of values; microseconds since 1970."""

TICK_US = 7 * 3600 * 1_000_000
"""The microseconds between two steps of such scenarios, so that they cross boundaries of hours and days."""

MOMENTS_US = tuple(BEGIN_US + ticks * TICK_US for ticks in (0, 4, 8, 13, 20, 30))
"""The times for which the boundary of a condition on the current time is computed, as values of columns."""


def matching(pattern: str) -> tuple[str, ...]:
    """Returns texts for a LIKE pattern: two that it matches, then others that it mostly does not."""
    least = pattern.replace("%", "").replace("_", "a")
    filled = pattern.replace("%", "x").replace("_", "b")
    return least, filled, f"x{least}", least.swapcase()


def joined(separator: str) -> tuple[str, ...]:
    """Returns texts that `split` takes apart at a separator, which is a regular expression.

    >>> joined(", "), joined(r"\\|")
    (('aa, b', 'aa, '), ('aa|b', 'aa|'))
    """
    plain = re.sub(r"[\\\[\]]", "", separator)
    return f"aa{plain}b", f"aa{plain}"


def of_length(length: Any) -> tuple[str, ...]:
    """Returns texts that are as long as a number says, longer and shorter.

    >>> of_length(2)
    ('aa', 'aaa', 'a')
    """
    if type(length) is not int or not 0 <= length <= LONGEST_TEXT:
        return ()
    return tuple("a" * each for each in (length, length + 1, length - 1) if each >= 0)


def around(value: Any, type_: SqlType) -> tuple[Value, ...]:
    """Returns a value as one of a type, then its neighbours above and below; nothing where it is none."""
    near: list[Any] = []
    try:
        match type_.kind:
            case kind if kind in BITS:
                number = int(Decimal(str(value)))
                near = [number, number + 1, number - 1]
            case Kind.DECIMAL:
                exact = Decimal(str(value))
                unit = Decimal(1).scaleb(-type_.scale)
                near = [exact.quantize(unit), exact.quantize(unit) + unit, exact.quantize(unit) - unit]
            case Kind.FLOAT | Kind.DOUBLE:
                near = [float(value), float(value) + 0.5, float(value) - 0.5]
                near = [to_float(each) for each in near] if type_.kind is Kind.FLOAT else near
            case Kind.STRING:
                text = str(value)
                near = [text, f"{text}a", text.swapcase()]
            case Kind.DATE:
                day = as_datetime(value).date()
                near = [day, day + dt.timedelta(days=1), day - dt.timedelta(days=1)]
            case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
                time = as_datetime(value)
                near = [time, time + dt.timedelta(microseconds=1), time - dt.timedelta(microseconds=1)]
            case Kind.BOOLEAN:
                near = [value]
            case Kind.VARIANT:
                # However its author has spaced it, and put its keys in order.
                near = [document_text(json.loads(str(value)))]
            case _:
                pass
    except (ValueError, TypeError, OverflowError, InvalidOperation):
        return ()
    return tuple(each for each in near if each is not None and fits(each, type_))


def as_datetime(value: Any) -> dt.datetime:
    """Returns a date, a time or a text of one as a time without a zone. Raises ValueError for others."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, str):
        return dt.datetime.fromisoformat(value)
    raise ValueError(f"{value!r} is no time")


def parts(value: Any, type_: SqlType) -> tuple[Value, ...]:
    """Returns times whose year or month a number may be, for a condition such as YEAR(day) = 2024."""
    if type(value) is not int or type_.kind not in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return ()
    if 1900 <= value <= 2100:
        days = [EPOCH.replace(year=year) for year in (value, value - 1, value + 1)]
    elif 1 <= value <= 12:
        days = [EPOCH.replace(month=value)]
    else:
        days = []
    return tuple(day.date() if type_.kind is Kind.DATE else day for day in days)
