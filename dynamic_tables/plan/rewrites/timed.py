"""Conditions that read the current time, as columns: one BOOLEAN column for each, made just above its source.

`WHERE ts > now() - INTERVAL 3 DAYS` becomes a projection that adds the column `ts > now() - ...`, and a
filter by it. So one rule (`differentiate.passing_time`) finds the rows whose column changes as time passes,
and every operator above, a join by its ON too, sees them as ordinary changed rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Col, Expr, Fn, conjunction, conjuncts, walk as parts_of
from dynamic_tables.plan.rewrites.pushed import is_safe
from dynamic_tables.plan.time import expressions, holds_time, reads_time, with_own
from dynamic_tables.plan.types import BOOLEAN

ELSEWHERE = "in a select list, a group, a window or a sort, all rows change as time passes"
BOTH_SIDES = "in a condition on both sides of an outer or semi join; compare it with columns of one side"


def lifted(plan: nodes.Plan) -> nodes.Plan:
    """Returns a plan in which ON of an inner join has no condition on the current time: WHERE has it."""
    done: dict[int, nodes.Plan] = {}
    for node in nodes.children_first(plan):
        result = nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node)))
        if isinstance(result, nodes.Join) and result.kind is nodes.JoinKind.INNER and result.on is not None:
            timed = [each for each in conjuncts(result.on) if holds_time(each)]
            rest = [each for each in conjuncts(result.on) if not holds_time(each)]
            if timed:
                kind = nodes.JoinKind.INNER if rest else nodes.JoinKind.CROSS
                on = conjunction(rest) if rest else None
                result = nodes.Filter(replace(result, kind=kind, on=on), conjunction(timed))
        done[id(node)] = result
    return done[id(plan)]


def with_time_columns(plan: nodes.Plan, fresh: Callable[[str], str]) -> tuple[nodes.Plan, str]:
    """Returns a plan whose conditions on the current time are columns, and why it has none for some of them.

    The reason is empty where all have. `fresh`: returns a name that the plan does not have yet.
    """
    if not reads_time(plan):
        return plan, ""
    done: dict[int, nodes.Plan] = {}
    reason = ""
    for node in nodes.children_first(plan):
        result = nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node)))
        timed = any(map(holds_time, expressions(node)))
        if timed and isinstance(result, nodes.Filter | nodes.Join | nodes.SemiJoin | nodes.Mark):
            result, left = _conditioned(result, fresh)
            reason = reason or (BOTH_SIDES if left else "")
        elif timed:
            reason = reason or ELSEWHERE
        done[id(node)] = result
    return done[id(plan)], reason


def _conditioned(
    plan: nodes.Filter | nodes.Join | nodes.SemiJoin | nodes.Mark, fresh: Callable[[str], str]
) -> tuple[nodes.Plan, bool]:
    """Returns a node whose conditions read columns for the time, and whether some of them still read it."""
    shown = nodes.columns(plan)
    marking = _Marking([*nodes.children(plan)], fresh)
    # First the conditions, which give the sides their columns.
    conditioned = with_own(plan, marking.condition)
    result = nodes.rebuilt(conditioned, marking.sides)
    left = any(map(holds_time, expressions(result)))
    return nodes.Project(result, tuple((column.name, column) for column in shown)), left


@dataclass(slots=True)
class _Marking:
    """Makes columns of conditions over one or two `sides`, which get these columns."""

    sides: list[nodes.Plan]
    fresh: Callable[[str], str]
    known: dict[Expr, Col] = field(default_factory=dict)

    def condition(self, expr: Expr) -> Expr:
        """Returns a condition with a column for each largest part of it that reads the time and one side."""
        if not holds_time(expr):
            return expr
        if isinstance(expr, Fn) and expr.name == "and":
            # Each alone: a condition that does not read the time needs no column.
            return Fn("and", tuple(map(self.condition, expr.args)), expr.type)
        place = self._side(expr) if expr.type == BOOLEAN else None
        if place is None and isinstance(expr, Fn) and expr.name == "between":
            # `q.ts BETWEEN r.ts AND now()`: each bound alone may be of one side.
            value, low, high = expr.args
            bounds = Fn(">=", (value, low), BOOLEAN), Fn("<=", (value, high), BOOLEAN)
            return self.condition(Fn("and", bounds, BOOLEAN))
        if place is not None:
            if expr not in self.known:
                self.known[expr] = Col(self.fresh("$time"), BOOLEAN)
                self.sides[place] = _marked(self.sides[place], self.known[expr].name, expr)
            return self.known[expr]
        return replace(expr, args=tuple(map(self.condition, expr.args))) if isinstance(expr, Fn) else expr

    def _side(self, expr: Expr) -> int | None:
        """Returns the place of the first side that has all columns of an expression; None: none has."""
        read = {part.name for part in parts_of(expr) if isinstance(part, Col)}
        for place, side in enumerate(self.sides):
            if read <= {column.name for column in nodes.columns(side)}:
                return place
        return None


def _marked(plan: nodes.Plan, name: str, condition: Expr) -> nodes.Plan:
    """Returns a plan with a column for a condition, added below the windows that it does not read.

    There fewer rows are looked at: a window's partitions change only where the column does.
    """
    own = _added(plan)
    if own is not None and is_safe(condition):
        read = {part.name for part in parts_of(condition) if isinstance(part, Col)}
        if not read & set(own):
            child = nodes.children(plan)[0]
            result = nodes.rebuilt(plan, (_marked(child, name, condition),))
            return _passing(result, name) if isinstance(result, nodes.Project) else result
    return nodes.Project(
        plan, (*((column.name, column) for column in nodes.columns(plan)), (name, condition))
    )


def _added(plan: nodes.Plan) -> Sequence[str] | None:
    """Returns the columns that are new in a window, or in a projection; None for any other node."""
    match plan:
        case nodes.Window():
            return [column.name for column in nodes.added(plan)]
        case nodes.Project(child, items) if not any(holds_time(expr) for _, expr in items):
            below = set(nodes.columns(child))
            return [name for name, expr in items if expr not in below or expr != Col(name, expr.type)]
        case _:
            return None


def _passing(plan: nodes.Project, name: str) -> nodes.Project:
    """Returns a projection that also passes on a column of its child."""
    return replace(plan, items=(*plan.items, (name, Col(name, BOOLEAN))))
