"""The current time in expressions: what its functions stand for, and constant times moved by an interval."""

from __future__ import annotations

import re

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, Fn, text, walk
from dynamic_tables.plan.functions import SHIFTED
from dynamic_tables.plan.time import now
from dynamic_tables.plan.types import DATE, TEMPORAL, TIMESTAMP_NTZ
from dynamic_tables.reading.text.current_time import TIME_FUNCTIONS
from dynamic_tables.reading.text.parse import function_name, parts
from dynamic_tables.reading.values.typed import cast

UNITS = frozenset("DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND".split())
"""The units of intervals that are a number of microseconds; Spark evaluates the others as written."""


def is_time(node: exp.Expr) -> bool:
    """Tells whether a syntax node is a function of the current time."""
    return isinstance(node, exp.Func) and function_name(node) in TIME_FUNCTIONS


def bound_time(node: exp.Expr) -> Expr:
    """Returns the current time as `current_timestamp`, `current_date` or `localtimestamp` gives it.

    The account's time zone is UTC, so a cast gives the others from the first. Raises UnsupportedError: for
    an argument, which Spark refuses too.
    """
    if any(name != "this" for name in parts(node)) or isinstance(node.this, exp.Expression):
        raise UnsupportedError(f"{function_name(node)} with an argument", "Spark has none there")
    match function_name(node):
        case "current_date" | "curdate":
            return cast(now(), DATE)
        case "localtimestamp":
            return cast(now(), TIMESTAMP_NTZ)
        case _:
            return now()


def shifted(time: Expr, sign: str, interval: exp.Interval) -> Expr | None:
    """Returns a time that no row has a part in, such as the current one, moved by an interval.

    None for another time, or for another interval.
    """
    unit, count = str(interval.args.get("unit") or "").upper().removesuffix("S"), interval.this
    plain = isinstance(count, exp.Literal) and re.fullmatch(r"-?\d{1,18}", str(count.this))
    moved = not any(isinstance(part, Col) for part in walk(time))
    if not moved or not plain or unit not in UNITS or time.type.kind not in TEMPORAL:
        return None
    if time.type == DATE and unit != "DAY":
        return None
    return Fn(SHIFTED, (time, text(sign), text(str(count.this)), text(unit)), time.type)
