"""Expressions of a plan. Every expression carries its Spark type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce

from dynamic_tables.plan.types import BOOLEAN, DOUBLE, INTEGRAL, STRING, Type

Scalar = None | bool | int | float | Decimal | str | bytes | dt.date | dt.datetime


@dataclass(frozen=True, slots=True)
class Col:
    """A column of the node below. Its name is unique in the whole plan."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Lit:
    """A constant. Two constants are equal if their text is equal: NaN equals NaN, 0.0 differs from -0.0.

    Equality of expressions decides whether a select item is a group key. With Python's equality of floats,
    NaN would not match NaN, and `greatest(0.0, x)` would match `greatest(-0.0, x)`.
    """

    value: Scalar
    type: Type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lit) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def _written(self) -> tuple[object, Type]:
        return (repr(self.value) if isinstance(self.value, float) else self.value, self.type)


@dataclass(frozen=True, slots=True)
class Fn:
    """A call of a function, by its name in `plan.functions`."""

    name: str
    args: tuple[Expr, ...]
    type: Type


FLOAT_SUMS = frozenset("SUM AVG STDDEV_SAMP STDDEV_POP VAR_SAMP VAR_POP COVAR_SAMP COVAR_POP CORR".split())
"""The aggregates that add: of floats in another order they give other last bits."""


@dataclass(frozen=True, slots=True)
class Agg:
    """An aggregate, only allowed in an Aggregate node. `arg` None means COUNT(*).

    `extra`: its further arguments, as `reading.values.aggregate_forms` describes them.
    """

    name: str
    arg: Expr | None
    distinct: bool
    type: Type
    extra: tuple[Expr, ...] = ()

    @property
    def args(self) -> tuple[Expr, ...]:
        """All arguments."""
        return self.extra if self.arg is None else (self.arg, *self.extra)

    @property
    def adds_floats(self) -> bool:
        """Whether the last bits of the result depend on the order of the rows.

        An average of integers is a quotient of two whole numbers, whatever their order.
        """
        return self.type == DOUBLE and self.name in FLOAT_SUMS and not self.averages_integers

    @property
    def averages_integers(self) -> bool:
        """Whether this is AVG over integers."""
        return self.name == "AVG" and self.arg is not None and self.arg.type.kind in INTEGRAL


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an ORDER BY."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class FrameEnd:
    """One end of a window frame. `side`: `UNBOUNDED PRECEDING`, `CURRENT ROW`, `PRECEDING` and so on.

    `offset`: a constant before PRECEDING and FOLLOWING, else None. `unit`: that of an INTERVAL, say HOUR;
    empty for a plain number.
    """

    side: str
    offset: Lit | None = None
    unit: str = ""

    @property
    def is_unbounded(self) -> bool:
        """Whether the frame reaches to an end of the partition here."""
        return self.side.startswith("UNBOUNDED")


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around a row that a window function reads. `unit`: ROWS or RANGE."""

    unit: str
    start: FrameEnd
    end: FrameEnd


@dataclass(frozen=True, slots=True)
class Win:
    """A window function, only allowed in a Window node. `function`: an aggregate, or a call such as `rank`.

    `frame` None: SQL's default, which is up to the last row equal in `order`, or the whole partition.
    """

    function: Fn | Agg
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    frame: Frame | None
    ignores_nulls: bool
    type: Type


Expr = Col | Lit | Fn | Agg | Win


FALSE = Lit(False, BOOLEAN)
"""The condition that no row meets."""


def text(value: str) -> Lit:
    """Returns a constant of type STRING."""
    return Lit(value, STRING)


def boolean(name: str, *args: Expr) -> Fn:
    """Returns a call of a function whose result is BOOLEAN, such as `=` or `is null`."""
    return Fn(name, args, BOOLEAN)


def conjunction(parts: Iterable[Expr]) -> Expr:
    """Returns one or more conditions joined by AND."""
    return joined(parts, lambda left, right: boolean("and", left, right))


def joined(parts: Iterable[Expr], pair: Callable[[Expr, Expr], Expr]) -> Expr:
    """Returns one or more expressions joined by an associative operator; hundreds of them in few levels.

    Python and Spark go through the levels by recursion.
    """
    listed = [*parts]
    if len(listed) <= MOST_IN_A_ROW:
        return reduce(pair, listed)
    middle = len(listed) // 2
    return pair(joined(listed[:middle], pair), joined(listed[middle:], pair))


MOST_IN_A_ROW = 8
"""The most expressions that are joined one after the other; more are joined in halves."""


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yields the conditions that AND joins, at any depth, left to right."""
    if isinstance(condition, Fn) and condition.name == "and":
        for part in condition.args:
            yield from conjuncts(part)
    else:
        yield condition


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields the expression and every expression inside it."""
    yield expr
    match expr:
        case Fn(_, args, _):
            for arg in args:
                yield from walk(arg)
        case Agg():
            for arg in expr.args:
                yield from walk(arg)
        case Win():
            for part in window_parts(expr):
                yield from walk(part)
        case _:
            pass


def window_parts(window: Win) -> Iterator[Expr]:
    """Yields the arguments of a window function, and the keys of its partition and order."""
    match window.function:
        case Fn(_, args, _):
            yield from args
        case Agg(_, arg, _, _) if arg is not None:
            yield arg
        case _:
            pass
    yield from window.partition
    yield from (key.expr for key in window.order)


def mapped(window: Win, part: Callable[[Expr], Expr]) -> Win:
    """Returns a window function with `part` of each argument, key of its partition and key of its order."""
    match window.function:
        case Fn(name, args, type_):
            function: Fn | Agg = Fn(name, tuple(map(part, args)), type_)
        case Agg(_, arg, _, _):
            function = replace(window.function, arg=None if arg is None else part(arg))
    keys = tuple(replace(key, expr=part(key.expr)) for key in window.order)
    return replace(window, function=function, partition=tuple(map(part, window.partition)), order=keys)


def replace_columns(expr: Expr, replacement: Callable[[Col], Expr]) -> Expr:
    """Returns the expression with every column replaced by `replacement(column)`."""
    match expr:
        case Col():
            return replacement(expr)
        case Fn(name, args, type_):
            return Fn(name, tuple(replace_columns(arg, replacement) for arg in args), type_)
        case Agg(name, arg, distinct, type_, extra):
            first = None if arg is None else replace_columns(arg, replacement)
            others = tuple(replace_columns(arg, replacement) for arg in extra)
            return Agg(name, first, distinct, type_, others)
        case Win():
            return mapped(expr, lambda part: replace_columns(part, replacement))
        case Lit():
            return expr
