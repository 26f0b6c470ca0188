"""Window functions that only look back: of an affected partition, the rows from the first changed one on.

A running sum, count, least or greatest value, a ROW_NUMBER and a RANK follow from the rows that come before
in the order. So the rows before the first changed row of a partition keep their values. The values of the
others are those over the rows from there on, continued from one aggregate of all rows before.

The first changed row is told by the first key of the order alone: the rows that are equal in it, and all
after them, are computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, SortKey, Win, boolean, conjunction
from dynamic_tables.plan.functions import CASE, CAST
from dynamic_tables.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Window,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, INTEGRAL, MAX_PRECISION, Kind, Type

ORDERED = frozenset({*INTEGRAL, Kind.DECIMAL, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
"""Types of a first key of the order; and of the values of which a running MIN or MAX is continued."""

PLACES = frozenset({"row_number", "rank"})
"""Functions whose value grows by one for each row before."""

FIRST = "$FIRST"
"""The column with the least value of the order's first key among the changed rows of a partition."""

NULLS = "$NULLS"
"""The column that is true where the order's first key is NULL in a changed row of a partition."""

Windowed = Callable[[Window, Plan, bool], Plan]


def looks_back(node: Window) -> bool:
    """Tells whether computing only the rows from the first changed one on is exact, and cheaper.

    The input is read once more than for whole partitions, so it must be a stored relation, with at most
    projections and filters above it.
    """
    calls = [call for _, call in node.calls]
    orders = {call.order[:1] for call in calls}
    if len(orders) > 1 or not all(orders) or not _is_stored(node.child):
        return False
    return calls[0].order[0].expr.type.kind in ORDERED and all(map(_continues, calls))


def _is_stored(plan: Plan) -> bool:
    while isinstance(plan, Project | Filter):
        plan = plan.child
    return isinstance(plan, Scan)


def _continues(call: Win) -> bool:
    """Tells whether the value over all rows follows from those over two parts of them."""
    function, frame = call.function, call.frame
    if frame is not None and not (frame.start.is_unbounded and frame.end.side == "CURRENT ROW"):
        return False
    if isinstance(function, Fn):
        return function.name in PLACES
    match function.name:
        case "COUNT":
            return not function.extra
        case "SUM":
            return call.type.kind in INTEGRAL or _has_room(call.type)
        case "MIN" | "MAX":
            return call.type.kind in ORDERED
        case _:
            return False


def _has_room(type_: Type) -> bool:
    """Tells whether two sums can be added with one more digit."""
    return type_.kind is Kind.DECIMAL and type_.precision < MAX_PRECISION


def delta_of_tails(node: Window, ids: bool, d: Differentiation, windowed: Windowed) -> Plan:
    """Returns the rows from the first changed one of their partition on, at t0 as DELETE, at t1 as INSERT.

    `windowed`: computes window functions over rows with ids. Rows with equal values at both ends cancel.
    """
    for branch in branches_of(node):
        d.met(branch)
    starts = starts_of(node, d)
    # Before the first changed row both ends have the same rows.
    before = _before(node, d.state(node.child, At.T1, False), starts)
    shown = same(node)

    def tail(at: At) -> Plan:
        rows = cut(node, d.state(node.child, at, True), starts)
        fresh = windowed(replace(node, calls=tuple((_of_tail(n), c) for n, c in node.calls)), rows, True)
        continued = {name: _continued(name, call) for name, call in node.calls}
        items = tuple((name, continued.get(name, value)) for name, value in shown)
        return Project(_beside(node, fresh, before), items + id_item(ids))

    return both_ends(tail)


def branches_of(node: Window) -> Iterator[Branch]:
    """Yields the branches that the tails of a node take."""
    yield Branch.WINDOW_TAIL if node.partition else Branch.WINDOW_TAIL_OF_ALL
    if node.calls[0][1].order[0].descending:
        yield Branch.WINDOW_TAIL_DESCENDING
    for _, call in node.calls:
        aggregate = call.function
        if isinstance(aggregate, Fn):
            yield Branch.RUNNING_PLACE
        elif aggregate.name == "SUM":
            decimal = call.type.kind is Kind.DECIMAL
            yield Branch.RUNNING_DECIMAL if decimal else Branch.RUNNING_SUM
        else:
            yield Branch.RUNNING_COUNT if aggregate.name == "COUNT" else Branch.RUNNING_EXTREME


def starts_of(node: Window, d: Differentiation) -> Plan:
    """Returns for each affected partition where its tail begins."""
    order = node.calls[0][1].order[0]
    null = Agg("MAX", boolean("is null", order.expr), False, BOOLEAN)
    first = Agg("MAX" if order.descending else "MIN", order.expr, False, order.expr.type)
    return Aggregate(
        d.delta(node.child, False),
        tuple((f"$KEY{i}", key) for i, key in enumerate(node.partition)),
        ((FIRST, first), (NULLS, null)),
    )


def cut(node: Window, rows: Plan, starts: Plan, *, anti: bool = False) -> Plan:
    """Returns the rows of affected partitions in their tails; with `anti`, those before."""
    tail = boolean("is true", _in_tail(node.calls[0][1].order[0]))
    return SemiJoin(rows, starts, conjunction((*_same_keys(node), boolean("not", tail) if anti else tail)))


def _same_keys(node: Window) -> tuple[Expr, ...]:
    return tuple(
        boolean("is not distinct from", key, Col(f"$KEY{i}", key.type))
        for i, key in enumerate(node.partition)
    )


def _in_tail(order: SortKey) -> Expr:
    """Returns the condition that a row is not before the first changed one, or NULL for false."""
    at_or_after = boolean("<=" if order.descending else ">=", order.expr, Col(FIRST, order.expr.type))
    if order.nulls_first:
        return boolean("or", Col(NULLS, BOOLEAN), at_or_after)
    return boolean("or", boolean("is null", order.expr), at_or_after)


def _of_tail(name: str) -> str:
    return f"$TAIL_{name}"


def _of_before(name: str) -> str:
    return f"$BEFORE_{name}"


def _before(node: Window, rows: Plan, starts: Plan) -> Plan:
    """Returns one row for each affected partition that has rows before its tail: the aggregates of these."""
    aggregates = tuple((_of_before(name), _aggregate(call)) for name, call in node.calls)
    keys = tuple((f"$BEFORE{i}", key) for i, key in enumerate(node.partition))
    return Aggregate(cut(node, rows, starts, anti=True), keys, aggregates)


def _aggregate(call: Win) -> Agg:
    return call.function if isinstance(call.function, Agg) else Agg("COUNT", None, False, BIGINT)


def _beside(node: Window, tail: Plan, before: Plan) -> Plan:
    """Returns each row of a tail with the aggregates of the rows before the tail."""
    if not node.partition:
        return Join(JoinKind.CROSS, tail, before, None)
    on = conjunction(
        boolean("is not distinct from", key, Col(f"$BEFORE{i}", key.type))
        for i, key in enumerate(node.partition)
    )
    return Join(JoinKind.LEFT, tail, before, on)


def _continued(name: str, call: Win) -> Expr:
    """Returns the value over all rows up to the current one."""
    aggregate = _aggregate(call)
    fresh, before = Col(_of_tail(name), call.type), Col(_of_before(name), aggregate.type)
    none_before = boolean("is null", before)
    match aggregate.name:
        case "COUNT":
            counted = Fn("+", (Fn("coalesce", (before, Lit(0, BIGINT)), BIGINT), fresh), BIGINT)
            return counted if call.type == BIGINT else Fn(CAST, (counted,), call.type)
        case "SUM":
            both = _sum_of(before, fresh)
            either = Fn("coalesce", (fresh, before), call.type)
            missing = boolean("or", none_before, boolean("is null", fresh))
            return Fn(CASE, (missing, either, both), call.type)
        case _:
            better = boolean("<=" if aggregate.name == "MIN" else ">=", before, fresh)
            kept = boolean("or", boolean("is null", fresh), better)
            return Fn(
                CASE, (boolean("is true", kept), Fn("coalesce", (before, fresh), call.type), fresh), call.type
            )


def _sum_of(before: Expr, fresh: Expr) -> Expr:
    type_ = fresh.type
    if type_.kind is not Kind.DECIMAL:
        return Fn("+", (before, fresh), type_)
    wider = Type(Kind.DECIMAL, type_.precision + 1, type_.scale)
    return Fn(CAST, (Fn("+", (before, fresh), wider),), type_)
