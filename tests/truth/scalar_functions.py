"""The meaning of every scalar function of the IR, one value at a time.

STRICT functions are NULL as soon as one argument is; LAZY ones see NULL, or skip an argument.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from tests.truth.spark_types import common_type
from tests.truth.values import EXACT, EvaluationError, cast_value, fit, order_key, widen
from workload.query import Call, Expr
from workload.types import Kind, SqlType, Value

ValueOf = Callable[[Expr], Value]
"""Evaluates an argument in the context of the call: one row, or one group."""

ESCAPE = "$"


def call_value(call: Call, value_of: ValueOf) -> Value:
    """The value of a call. Raises EvaluationError where Spark in ANSI mode raises."""
    if call.function in LAZY:
        return widen(LAZY[call.function](call, value_of), call.type)
    args = [value_of(arg) for arg in call.args]
    if any(arg is None for arg in args):
        return None
    return fit(STRICT[call.function](call, *args), call.type)


# Arithmetic: the result type says in which domain it is done.


def _arithmetic(
    on_numbers: Callable[[Any, Any], Any], on_decimals: Callable[[Decimal, Decimal], Decimal]
) -> Callable[[Call, Any, Any], Value]:
    def apply(call: Call, left: Any, right: Any) -> Value:
        match call.type.kind:
            case Kind.DECIMAL:
                return on_decimals(_exact(left), _exact(right))
            case Kind.FLOAT | Kind.DOUBLE:
                result: float = on_numbers(float(left), float(right))
                return result
            case _:
                whole: int = on_numbers(left, right)
                return whole

    return apply


def _exact(number: int | Decimal) -> Decimal:
    return EXACT.create_decimal(number)


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend, as truncating division leaves it."""
    if right == 0:
        raise EvaluationError("remainder by zero")
    if isinstance(left, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    if isinstance(left, Decimal):
        return EXACT.remainder(left, right)
    return left - right * (abs(left) // abs(right)) * (1 if (left < 0) == (right < 0) else -1)


def _divide_strictly(_: Call, left: Any, right: Any) -> Value:
    if float(right) == 0:
        raise EvaluationError(f"{left} / {right}")
    return float(left) / float(right)


def _divide(_: Call, left: Any, right: Any) -> Value:
    dividend, divisor = float(left), float(right)
    return None if divisor == 0 else dividend / divisor


# Comparison: both sides are brought to their common type first.


def _compare(left: Value, right: Value, *types: SqlType) -> int:
    common = common_type(types)
    a, b = order_key(widen(left, common)), order_key(widen(right, common))
    return 1 if a > b else -1 if a < b else 0


def _comparison(holds: Callable[[int, int], bool]) -> Callable[[Call, Value, Value], bool]:
    return lambda call, a, b: holds(_compare(a, b, call.args[0].type, call.args[1].type), 0)


def _same(call: Call, value_of: ValueOf) -> bool:
    left, right = (value_of(arg) for arg in call.args)
    if left is None or right is None:
        return left is right
    return _compare(left, right, call.args[0].type, call.args[1].type) == 0


# Three-valued logic.


def _and(left: Value, right: Callable[[], Value]) -> Value:
    if left is False:
        return False
    other = right()
    return False if other is False else None if left is None or other is None else True


def _or(left: Value, right: Callable[[], Value]) -> Value:
    if left is True:
        return True
    other = right()
    return True if other is True else None if left is None or other is None else False


def _between(call: Call, value_of: ValueOf) -> Value:
    value, low, high = (value_of(arg) for arg in call.args)
    of, of_low, of_high = (arg.type for arg in call.args)
    above = None if value is None or low is None else _compare(value, low, of, of_low) >= 0
    below = None if value is None or high is None else _compare(value, high, of, of_high) <= 0
    return _and(above, lambda: below)


def _in(call: Call, value_of: ValueOf) -> Value:
    value, *members = (value_of(arg) for arg in call.args)
    if value is None:
        return None
    types = [arg.type for arg in call.args]
    if any(member is not None and _compare(value, member, *types) == 0 for member in members):
        return True
    return None if None in members else False


# Choice.


def _case(call: Call, value_of: ValueOf) -> Value:
    for condition, value in zip(call.args[:-1:2], call.args[1::2], strict=True):
        if value_of(condition) is True:
            return value_of(value)
    return value_of(call.args[-1])


def _coalesce(call: Call, value_of: ValueOf) -> Value:
    for arg in call.args:
        if (value := value_of(arg)) is not None:
            return value
    return None


def _nullif(call: Call, value_of: ValueOf) -> Value:
    left, right = (value_of(arg) for arg in call.args)
    if left is None or right is None:
        return left
    return None if _compare(left, right, call.args[0].type, call.args[1].type) == 0 else left


def _extreme(choose: Callable[..., Value]) -> Callable[[Call, ValueOf], Value]:
    def apply(call: Call, value_of: ValueOf) -> Value:
        values = [widen(value_of(arg), call.type) for arg in call.args]
        return choose((v for v in values if v is not None), key=order_key, default=None)

    return apply


# Strings.


def _substring(_: Call, text: str, position: int, length: int) -> str:
    """1-based; a negative start counts from the end. What would lie before the text uses up length."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _like(_: Call, text: str, pattern: str) -> bool:
    parts, rest = [], iter(pattern)
    for character in rest:
        if character == ESCAPE:
            character = next(rest, "")
            if character not in ("%", "_", ESCAPE):
                raise EvaluationError(f"LIKE pattern {pattern!r}: {ESCAPE} escapes only %, _ and itself")
            parts.append(re.escape(character))
        else:
            parts.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _date_add(_: Call, date: dt.date, days: int) -> dt.date:
    try:
        return date + dt.timedelta(days=days)
    except OverflowError as error:
        raise EvaluationError(f"{date} + {days} days") from error


STRICT: Mapping[str, Callable[..., Value]] = {
    "add": _arithmetic(operator.add, EXACT.add),
    "sub": _arithmetic(operator.sub, EXACT.subtract),
    "mul": _arithmetic(operator.mul, EXACT.multiply),
    "mul_decimal": _arithmetic(operator.mul, EXACT.multiply),
    "neg": lambda _, a: -a,
    "abs": lambda _, a: abs(a),
    "mod": _arithmetic(_remainder, _remainder),
    "div": _divide_strictly,
    "div_guarded": _divide,
    "eq": _comparison(operator.eq),
    "ne": _comparison(operator.ne),
    "lt": _comparison(operator.lt),
    "le": _comparison(operator.le),
    "gt": _comparison(operator.gt),
    "ge": _comparison(operator.ge),
    "not": lambda _, a: not a,
    "concat": lambda _, a, b: a + b,
    "upper": lambda _, a: a.upper(),
    "lower": lambda _, a: a.lower(),
    "trim": lambda _, a: a.strip(" "),
    "length": lambda _, a: len(a),
    "substring": _substring,
    "replace": lambda _, text, old, new: text.replace(old, new) if old else text,
    "like": _like,
    "rlike": lambda _, text, pattern: re.search(pattern, text) is not None,
    "date_add": _date_add,
    "datediff": lambda _, a, b: (a - b).days,
    "year": lambda _, a: a.year,
    "month": lambda _, a: a.month,
    "day": lambda _, a: a.day,
    "split": lambda _, text, separator: tuple(text.split(separator)),
    "cast": lambda call, a: cast_value(a, call.args[0].type, call.type),
}

LAZY: Mapping[str, Callable[[Call, ValueOf], Value]] = {
    "same": _same,
    "differs": lambda call, value_of: not _same(call, value_of),
    "between": _between,
    "and": lambda call, value_of: _and(value_of(call.args[0]), lambda: value_of(call.args[1])),
    "or": lambda call, value_of: _or(value_of(call.args[0]), lambda: value_of(call.args[1])),
    "is_null": lambda call, value_of: value_of(call.args[0]) is None,
    "is_not_null": lambda call, value_of: value_of(call.args[0]) is not None,
    "is_true": lambda call, value_of: value_of(call.args[0]) is True,
    "is_false": lambda call, value_of: value_of(call.args[0]) is False,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme(max),
    "least": _extreme(min),
    "array": lambda call, value_of: tuple(
        None if (value := value_of(arg)) is None else fit(value, call.type.parts[0][1]) for arg in call.args
    ),
    "case": _case,
    "in": _in,
}
