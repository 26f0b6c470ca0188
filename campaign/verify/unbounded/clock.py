"""The current time at t0 and at t1, of which nothing is known but that t1 is not before t0.

A DATE is the number of its days since 1970, a TIMESTAMP that of its microseconds. A time of the clock is a
number of whole days and a rest of less than one day, each a symbol. So its day is a symbol, too, and nothing
is divided.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from campaign.verify.unbounded.cells import NotExpressibleError
from campaign.verify.unbounded.terms import Number, Term, Truth, if_, scaled, total, variable
from campaign.verify.unbounded.values import value_of
from dynamic_tables.plan.expressions import Expr, Fn
from dynamic_tables.plan.functions import NOW, NOW_AT_T0, NOW_AT_T1
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.time import with_expressions

DAY = 86_400_000_000
"""The microseconds of a day."""

LAST_DAY = (dt.date.max - dt.date(1970, 1, 1)).days

UNITS: Mapping[str, int] = {
    "DAY": DAY,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
"""The microseconds of each unit of an interval."""

ENDS: Mapping[str, str] = {NOW: "t1", NOW_AT_T0: "t0", NOW_AT_T1: "t1"}
"""The end of the refresh interval whose time a function gives; a query is read at t1."""


def time_at(end: str) -> Number:
    """Returns the current time at one end."""
    return scaled(_days(end), DAY) + _rest(end)


def _days(end: str) -> Number:
    return variable(f"days before {end}")


def _rest(end: str) -> Number:
    return variable(f"microseconds of the day of {end}")


def laws() -> list[Truth]:
    """Returns what holds of the symbols of the clock: its times are of the years that SQL has."""
    found = [time_at("t0") <= time_at("t1")]
    for end in ("t0", "t1"):
        found += [_rest(end) < DAY, _days(end) < LAST_DAY]
    return found


def times(values: Mapping[str, int]) -> tuple[int, int]:
    """Returns the times at t0 and t1 in microseconds, where the symbols have values, by name."""
    return value_of(time_at("t0"), values), value_of(time_at("t1"), values)


def day_of(time: Number) -> Number:
    """Returns the day of a known time, or of a time of the clock that was moved by a known interval.

    Raises NotExpressibleError: it is another time.
    """
    if not isinstance(time, Term):
        return time // DAY
    # A sum of the days times DAY, of the rest of the day, and of the microseconds of the interval (`plain`).
    plain, terms = time.args if time.op == "sum" else (0, ())
    parts = [term for term, times in terms if times == 1]
    if len(parts) != 1 or parts[0] not in (_rest("t0"), _rest("t1")):
        raise NotExpressibleError("the day of a time that is not the current one")
    more, over = divmod(plain, DAY)
    days = total(scaled(term, times // DAY) for term, times in terms if times != 1)
    return days + more + (if_(parts[0] + over >= DAY, 1, 0) if over else 0)


def of_value(value: dt.date) -> int:
    """Returns the number that stands for a DATE (days) or for a TIMESTAMP (microseconds)."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)) // dt.timedelta(microseconds=1)
    return (value - dt.date(1970, 1, 1)).days


def at_t0(plan: Plan) -> Plan:
    """Returns a plan with the time at t0 in place of that at t1."""

    def earlier(expr: Expr) -> Expr:
        if not isinstance(expr, Fn):
            return expr
        name = NOW_AT_T0 if expr.name == NOW_AT_T1 else expr.name
        return Fn(name, tuple(map(earlier, expr.args)), expr.type)

    return with_expressions(plan, earlier)
