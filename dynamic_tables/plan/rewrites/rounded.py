"""Expressions that round a column, such as `date_trunc('DAY', ts)`: what has one result lies near together.

So the rows of a changed day lie between a day before the first changed `ts` and a day after the last one, and
the statistics of files tell which files have none of them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping

from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit, Scalar, boolean
from dynamic_tables.plan.functions import CAST, PASSED, WINDOW_END
from dynamic_tables.plan.types import INTEGRAL, TEMPORAL, Kind

ROUNDING = re.compile(
    r"(?i)DATE_TRUNC\('(?P<unit>\w+)', \{1\}\)"
    r"|TRUNC\(\{1\}, '(?P<unit_of_date>YEAR|YYYY|YY|QUARTER|MONTH|MON|MM|WEEK)'\)"
    r"|(?P<day>TO_DATE|DATE)\(\{1\}\)|(?P<year>YEAR)\(\{1\}\)|\{1\} DIV (?P<size>[1-9]\d*)"
)
"""The roundings of a column that only Spark evaluates, as templates of `reading.values.passed`.

Of smaller units than a week `TRUNC` gives NULL for every date.
"""

DAYS: Mapping[str, int] = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), 366),
    "QUARTER": 92,
    **dict.fromkeys(("MONTH", "MM", "MON"), 31),
    "WEEK": 7,
    **dict.fromkeys(("DAY", "DD", "HOUR", "MINUTE", "SECOND"), 1),
}
"""Days that two times in one unit are apart at most. The session's time zone is UTC, whose days are alike."""

GREATEST: Mapping[Kind, int] = dict(zip(INTEGRAL, (2**7, 2**15, 2**31, 2**63), strict=True))
"""The least number that is too large for a type."""

Distance = int | dt.timedelta


def rounded(expr: Expr) -> tuple[Col, Distance] | None:
    """Returns the column that an expression rounds, and how far two values with one result are apart at most.

    None: it is not known to round one.
    """
    match expr:
        case Fn(name, (Col() as column,), type_) if name == CAST and type_.kind is Kind.DATE:
            return _of_days(column, 1)
        case Fn("year", (Col() as column,), _):
            return _of_days(column, DAYS["YEAR"])
        case Fn(name, (Col() as column, Lit(), Lit(int() as slide), Lit(int() as ago)), _) if (
            name == WINDOW_END
        ):
            # The end of a window that does not slide is no farther from its times than its beginning.
            return (column, dt.timedelta(microseconds=slide)) if abs(ago) <= slide else None
        case Fn(name, (Lit(str() as template), Col() as column), _) if name == PASSED:
            found = ROUNDING.fullmatch(template)
            if found is None:
                return None
            if found["size"]:
                # DIV cuts towards 0, so that the numbers around 0 are twice as many.
                return (column, 2 * int(found["size"])) if column.type.kind in INTEGRAL else None
            unit = found["unit"] or found["unit_of_date"] or ("DAY" if found["day"] else "YEAR")
            return _of_days(column, DAYS.get(unit.upper()))
        case _:
            return None


def undone(expr: Expr, results: Collection[Scalar]) -> Collection[Scalar]:
    """Returns values of the column that an expression rounds, from which those with the results are not far.

    Not farther than `rounded` says. Empty: nothing is known of them.
    """
    known = rounded(expr)
    if known is None:
        return ()
    column, distance = known
    nulls = {None} & set(results)
    if isinstance(distance, int):
        # Numbers of one result are twice the divisor apart.
        return nulls | {each * distance // 2 for each in results if isinstance(each, int)}
    times = {_as(column.type.kind, each) for each in results if isinstance(each, dt.date)}
    return nulls | times if times else ()


def _as(kind: Kind, time: dt.date) -> dt.date:
    """Returns a date or a time as a value of a type of times."""
    if kind is Kind.DATE:
        return time.date() if isinstance(time, dt.datetime) else time
    whole = time if isinstance(time, dt.datetime) else dt.datetime.combine(time, dt.time())
    return whole.replace(tzinfo=dt.UTC if kind is Kind.TIMESTAMP else None)


def _of_days(column: Col, days: int | None) -> tuple[Col, Distance] | None:
    """Returns a column of times with a number of days; None for another column, or an unknown number."""
    known = days is not None and column.type.kind in TEMPORAL
    return (column, dt.timedelta(days=days or 0)) if known else None


def around(column: Col, distance: Distance, values: Collection[Scalar], *, null_safe: bool) -> Expr | None:
    """Returns the condition that a column lies at most some distance from the values of another column.

    None: nothing is known of the values, or a bound is no value of the column's type.
    """
    least: int | dt.date
    greatest: int | dt.date
    if isinstance(distance, int):
        numbers = [value for value in values if isinstance(value, int)]
        least, greatest = min(numbers, default=0) - distance, max(numbers, default=0) + distance
        if not numbers or max(-least, greatest) >= GREATEST[column.type.kind]:
            return None
    else:
        times = [value for value in values if isinstance(value, dt.date)]
        if column.type.kind is Kind.DATE:
            # Python drops the hours of a distance from a date: half a day back is the day before.
            distance = dt.timedelta(days=-(-distance // dt.timedelta(days=1)))
        try:
            least, greatest = min(times) - distance, max(times) + distance
        except (OverflowError, ValueError):
            # There are no times, or Python has no such date.
            return None
    among = boolean("between", column, Lit(least, column.type), Lit(greatest, column.type))
    return boolean("or", among, boolean("is null", column)) if null_safe and None in values else among
