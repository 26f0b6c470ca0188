"""The window functions of a query block become Window nodes, one for each list of PARTITION BY.

A node per partition is what the rule needs: which partitions a changed row affects depends on that list.
Functions of the places of rows (ROW_NUMBER, LAG, frames of ROWS) need an order without ties: where the plan
does not prove it, the node is `free`, and the stored rows are asked when the table is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Win, mapped, walk
from dynamic_tables.plan.nodes import Plan, Window
from dynamic_tables.plan.rewrites.total_order import are_alike, are_one
from dynamic_tables.plan.types import FLOATING
from dynamic_tables.plan.window_functions import depends_on_places, ties_can_be_broken
from dynamic_tables.reading.values.scope import Names


def has_window(expr: Expr) -> bool:
    """Tells whether an expression has a window function."""
    return any(True for _ in _windows(expr))


def with_windows(names: Names, plan: Plan, exprs: Sequence[Expr]) -> tuple[Plan, list[Expr]]:
    """Returns a plan with the window functions of expressions as columns, and the expressions over these.

    Raises DefinitionError: a window function that Spark refuses. Raises UnsupportedError: one without a rule.
    """
    calls = list(dict.fromkeys(call for expr in exprs for call in _windows(expr)))
    for call in calls:
        _ensure_maintained(names, call)
    partitions = dict.fromkeys(call.partition for call in calls)
    used = frozenset(part.name for expr in exprs for part in walk(expr) if isinstance(part, Col))
    orders = {(call.partition, call.order) for call in calls if depends_on_places(call)}
    columns: dict[Win, Col] = {}
    result = plan
    for partition in partitions:
        named = []
        for call in (each for each in calls if each.partition == partition):
            columns[call] = Col(names.fresh(call.function.name.lower()), call.type)
            named.append((columns[call].name, call))
            if _is_inexact(names, call):
                names.float_aggregates.add(columns[call].name)
        free = [call for _, call in named if _is_free(plan, call, used, len(orders))]
        for call in free:
            if not ties_can_be_broken(call):
                reason = (
                    "add keys to ORDER BY until no two rows of a partition can be equal in them, and declare "
                    "them as the primary_key of the table"
                )
                raise UnsupportedError(f"{call.function.name} over an order that may not be total", reason)
        result = Window(result, tuple(named), bool(free))
    return result, [_over(expr, columns) for expr in exprs]


def _windows(expr: Expr) -> Iterator[Win]:
    """Yields the window functions in an expression, but none that is inside another one."""
    match expr:
        case Win():
            yield expr
        case Fn(_, args, _):
            for arg in args:
                yield from _windows(arg)
        case _:
            pass


def _over(expr: Expr, columns: dict[Win, Col]) -> Expr:
    """Returns an expression with the column of each window function in its place."""
    match expr:
        case Win():
            return columns[expr]
        case Fn(name, args, type_):
            return Fn(name, tuple(_over(arg, columns) for arg in args), type_)
        case _:
            return expr


def _ensure_maintained(names: Names, call: Win) -> None:
    """Raises DefinitionError or UnsupportedError: Spark refuses a window function, or it has no rule."""

    def checked(part: Expr) -> Expr:
        if has_window(part):
            raise DefinitionError("a window function inside another; compute the inner one in a sub-select")
        return part

    mapped(call, checked)
    names.refuse_keys(call.partition, "PARTITION BY")
    names.refuse_float_keys((key.expr for key in call.order), "ORDER BY in OVER")


def _is_inexact(names: Names, call: Win) -> bool:
    """Tells whether the last bits of a value depend on the order in which numbers are added."""
    match call.function:
        case Agg():
            return call.function.adds_floats or any(map(names.is_float_aggregate, call.function.args))
        case Fn(_, args, _):
            return any(map(names.is_float_aggregate, args))


def _is_free(plan: Plan, call: Win, used: frozenset[str], orders: int) -> bool:
    """Tells whether a function may have several right values, because rows may be equal in its order.

    Rows that are equal in all columns that the block uses may be in any order: the result is the same bag of
    rows. That holds for one order only: two functions with different orders could number such rows in
    opposite ways, and then the pairs of numbers differ.
    """
    if not depends_on_places(call):
        return False
    keys = (*call.partition, *(key.expr for key in call.order))
    named = frozenset(key.name for key in keys if isinstance(key, Col))
    # -0.0 and 0.0 are equal in an order, and yet two values.
    same = frozenset(k.name for k in keys if isinstance(k, Col) and k.type.kind not in FLOATING)
    alike = used <= same or are_alike(plan, same)
    return not (are_one(plan, named) or (orders == 1 and alike))
