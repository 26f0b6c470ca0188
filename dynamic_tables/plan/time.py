"""The current time as a parameter of a plan.

In a query NOW stands for the current time. A rule reads a query at both ends of a refresh interval, so it
replaces NOW by the time at t0 or at t1 (`at_end`); a refresh gives both their values, which are its old and
its new data timestamp (`at_times`). So the query as of t is what it would have given if it had run at t.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import replace

from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Agg, Expr, Fn, Lit, SortKey, Win, mapped, walk as parts_of
from dynamic_tables.plan.functions import NOW, NOW_AT_T0, NOW_AT_T1
from dynamic_tables.plan.types import TIMESTAMP

TIMES = frozenset({NOW, NOW_AT_T0, NOW_AT_T1})
"""The names of the calls that stand for a time."""

START = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def now() -> Expr:
    """Returns the current time in a query."""
    return Fn(NOW, (), TIMESTAMP)


def holds_time(expr: Expr) -> bool:
    """Tells whether an expression reads the current time."""
    return any(isinstance(part, Fn) and part.name in TIMES for part in parts_of(expr))


def reads_time(plan: nodes.Plan) -> bool:
    """Tells whether some expression of a plan reads the current time."""
    return any(holds_time(expr) for node in nodes.walk(plan) for expr in expressions(node))


def at_end(expr: Expr, end: str) -> Expr:
    """Returns an expression in which the current time is that at one end; `end`: NOW_AT_T0 or NOW_AT_T1."""
    return _replaced(expr, lambda call: Fn(end, (), TIMESTAMP) if call.name == NOW else call)


def at_times(plan: nodes.Plan, before: int | None, after: int) -> nodes.Plan:
    """Returns a plan with the times of a refresh as constants, in microseconds; NOW is the later one.

    `before`: None where the plan reads no source at t0.
    """
    times = {NOW: after, NOW_AT_T1: after, NOW_AT_T0: after if before is None else before}

    def constant(call: Fn) -> Expr:
        if call.name not in times:
            return call
        moment = START + dt.timedelta(microseconds=times[call.name])
        return Lit(moment.replace(tzinfo=None), TIMESTAMP)

    return with_expressions(plan, lambda expr: _replaced(expr, constant))


def _replaced(expr: Expr, call: Callable[[Fn], Expr]) -> Expr:
    """Returns an expression with each call of a function replaced by `call` of it, arguments first."""
    match expr:
        case Fn(name, args, type_):
            return call(Fn(name, tuple(_replaced(arg, call) for arg in args), type_))
        case Agg(_, arg, _, _, extra):
            first = None if arg is None else _replaced(arg, call)
            return replace(expr, arg=first, extra=tuple(_replaced(each, call) for each in extra))
        case Win():
            return mapped(expr, lambda part: _replaced(part, call))
        case _:
            return expr


def expressions(plan: nodes.Plan) -> Iterable[Expr]:
    """Returns the expressions of a node itself."""
    found: list[Expr] = []

    def note(expr: Expr) -> Expr:
        found.append(expr)
        return expr

    with_own(plan, note)
    return found


def with_expressions(plan: nodes.Plan, change: Callable[[Expr], Expr]) -> nodes.Plan:
    """Returns a plan with each expression of each node changed; nodes with several readers stay shared."""
    done: dict[int, nodes.Plan] = {}
    for node in nodes.children_first(plan):
        result = nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node)))
        done[id(node)] = with_own(result, change)
    return done[id(plan)]


def with_own(plan: nodes.Plan, change: Callable[[Expr], Expr]) -> nodes.Plan:
    """Returns a node with its own expressions changed; the node itself if no change makes a difference."""
    match plan:
        case nodes.Project(_, items):
            new = tuple((name, change(expr)) for name, expr in items)
            return plan if new == items else replace(plan, items=new)
        case nodes.Filter(_, predicate):
            condition = change(predicate)
            return plan if condition == predicate else replace(plan, predicate=condition)
        case nodes.Join(_, _, _, on) if on is not None:
            condition = change(on)
            return plan if condition == on else replace(plan, on=condition)
        case nodes.SemiJoin(_, _, on):
            condition = change(on)
            return plan if condition == on else replace(plan, on=condition)
        case nodes.Mark(_, _, _, on, perhaps):
            both = (change(on), None if perhaps is None else change(perhaps))
            return plan if both == (on, perhaps) else replace(plan, on=both[0], perhaps=both[1])
        case nodes.Aggregate(_, keys, aggregates):
            by = tuple((name, change(expr)) for name, expr in keys)
            computed = tuple((name, _aggregate(change(agg))) for name, agg in aggregates)
            same = (by, computed) == (keys, aggregates)
            return plan if same else replace(plan, keys=by, aggregates=computed)
        case nodes.Numbered(_, partition, _):
            values = tuple(map(change, partition))
            return plan if values == partition else replace(plan, partition=values)
        case nodes.Window(_, calls):
            called = tuple((name, _window(change(call))) for name, call in calls)
            return plan if called == calls else replace(plan, calls=called)
        case nodes.Limit(_, order):
            by_keys: tuple[SortKey, ...] = tuple(replace(key, expr=change(key.expr)) for key in order)
            return plan if by_keys == order else replace(plan, order=by_keys)
        case nodes.Explode(_, array):
            value = change(array)
            return plan if value == array else replace(plan, array=value)
        case _:
            return plan


def _aggregate(expr: Expr) -> Agg:
    """Returns the expression, for the type checker: what replaces an aggregate is one."""
    assert isinstance(expr, Agg), "an aggregate stays one"
    return expr


def _window(expr: Expr) -> Win:
    """Returns the expression, for the type checker: what replaces a window function is one."""
    assert isinstance(expr, Win), "a window function stays one"
    return expr
