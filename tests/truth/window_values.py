"""Window functions over plain rows, from scratch: for each row its partition, its place and its frame."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from tests.truth.values import canonical, order_key
from workload.query import AggregateFunction, Expr, Frame, FrameUnit, OrderKey, Window, WindowFunction
from workload.types import Value

R = TypeVar("R")
ValueOf = Callable[[Expr, Any], Value]
AggregateOf = Callable[[Window, Sequence[Value]], Value]


def window_values(window: Window, rows: Sequence[Any], value: ValueOf, aggregate: AggregateOf) -> list[Value]:
    """The value of a window function for each of some rows, in their order."""
    result: list[Value] = [None] * len(rows)
    partitions: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        identity = tuple(canonical(value(each, row)) for each in window.partition)
        partitions.setdefault(identity, []).append(place)
    for members in partitions.values():
        for key in reversed(window.order):
            at_rows = {place: _least_if_null(value(key.expr, rows[place])) for place in members}
            members.sort(key=at_rows.__getitem__, reverse=key.descending)
        part = _Partition(window, [rows[place] for place in members], value, aggregate)
        for number, place in enumerate(members):
            result[place] = part.of(number)
    return result


def _least_if_null(value: Value) -> tuple[bool, Any]:
    return (value is not None, None if value is None else order_key(value))


class _Partition:
    """The rows of one partition in their order."""

    def __init__(self, window: Window, rows: list[Any], value: ValueOf, aggregate: AggregateOf) -> None:
        self.window, self.rows, self.value, self.aggregate = window, rows, value, aggregate
        keys = [tuple(canonical(value(k.expr, row)) for k in window.order) for row in rows]
        groups = [list(members) for _, members in groupby(range(len(rows)), key=lambda n: keys[n])]
        self.peers = {n: (group[0], group[-1]) for group in groups for n in group}
        self.number_of_group = {n: number for number, group in enumerate(groups) for n in group}

    def of(self, n: int) -> Value:
        count, (first, last) = len(self.rows), self.peers[n]
        match self.window.function:
            case WindowFunction.ROW_NUMBER:
                return n + 1
            case WindowFunction.RANK:
                return first + 1
            case WindowFunction.DENSE_RANK:
                return self.number_of_group[n] + 1
            case WindowFunction.PERCENT_RANK:
                return first / (count - 1) if count > 1 else 0.0
            case WindowFunction.CUME_DIST:
                return (last + 1) / count
            case WindowFunction.NTILE:
                return self.tile(n, self.number(0))
            case WindowFunction.LAG | WindowFunction.LEAD:
                return self.shifted(n)
            case WindowFunction():
                return self.value_in_frame(n)
            case AggregateFunction():
                args = [self.argument(m) if self.window.args else None for m in self.frame(n)]
                return self.aggregate(self.window, args)

    def argument(self, n: int) -> Value:
        return self.value(self.window.args[0], self.rows[n])

    def number(self, place: int) -> int:
        number = self.value(self.window.args[place], self.rows[0])
        assert isinstance(number, int)
        return number

    def tile(self, n: int, tiles: int) -> int:
        """The first tiles have one row more than the others, if the rows do not divide evenly."""
        size, larger = divmod(len(self.rows), tiles)
        if n < larger * (size + 1):
            return n // (size + 1) + 1
        return larger + (n - larger * (size + 1)) // size + 1

    def shifted(self, n: int) -> Value:
        offset = self.number(1) if len(self.window.args) > 1 else 1
        step = offset if self.window.function is WindowFunction.LEAD else -offset
        places = range(n + 1, len(self.rows)) if step > 0 else range(n - 1, -1, -1)
        values = [self.argument(m) for m in places] if step else [self.argument(n)]
        if self.window.ignores_nulls:
            values = [each for each in values if each is not None]
        wanted = abs(step) - 1 if step else 0
        if wanted < len(values):
            return values[wanted]
        return self.value(self.window.args[2], self.rows[n]) if len(self.window.args) > 2 else None

    def value_in_frame(self, n: int) -> Value:
        values = [self.argument(m) for m in self.frame(n)]
        if self.window.ignores_nulls:
            values = [each for each in values if each is not None]
        match self.window.function:
            case WindowFunction.FIRST_VALUE:
                wanted = 0
            case WindowFunction.LAST_VALUE:
                wanted = len(values) - 1
            case _:
                wanted = self.number(1) - 1
        return values[wanted] if 0 <= wanted < len(values) else None

    def frame(self, n: int) -> range:
        frame, count = self.window.frame, len(self.rows)
        if frame is None:
            return range(self.peers[n][1] + 1 if self.window.order else count)
        if frame.unit is FrameUnit.ROWS:
            start = 0 if frame.start is None else max(0, n + frame.start)
            end = count if frame.end is None else min(count, n + frame.end + 1)
            return range(start, max(start, end))
        return self.range_frame(n, frame)

    def range_frame(self, n: int, frame: Frame) -> range:
        first, last = self.peers[n]
        start = 0 if frame.start is None else first if not frame.start else None
        end = len(self.rows) if frame.end is None else last + 1 if not frame.end else None
        if start is not None and end is not None:
            return range(start, end)
        (key,) = self.window.order
        here = self.value(key.expr, self.rows[n])
        if here is None:
            return range(first if start is None else start, last + 1 if end is None else end)
        before = [self.is_before(m, here, key, frame.start, last=False) for m in range(len(self.rows))]
        until = [self.is_before(m, here, key, frame.end, last=True) for m in range(len(self.rows))]
        return range(sum(before) if start is None else start, sum(until) if end is None else end)

    def is_before(self, m: int, here: Value, key: OrderKey, bound: int | None, *, last: bool) -> bool:
        """Whether a row stands before a bound, or `last` at it; NULL is first, if descending last."""
        there = self.value(key.expr, self.rows[m])
        if there is None or bound is None:
            return not key.descending
        distance = _distance(there, here) * (-1 if key.descending else 1)
        return distance <= bound if last else distance < bound


def _distance(there: Value, here: Value) -> int:
    match there, here:
        case dt.date(), dt.date():
            return (there - here).days
        case int(), int():
            return there - here
        case _:
            raise TypeError(f"no distance between {there!r} and {here!r}")
