"""Window functions that only look back: only the tail of an affected partition is computed.

A running SUM, COUNT, MIN or MAX, a ROW_NUMBER and a RANK depend on the rows that come before in the order. So
in an affected partition the rows before the first changed row keep their values. The rest of it, the tail, is
computed alone, and its values are continued from one aggregate over all rows before the tail. Example: the
values 1, 2, 5 have the running sums 1, 3, 8. If a 4 comes, the tail is 4, 5 with the sums 4, 9; the rows
before have the sum 3, so the results are 7 and 12.

Where the tail begins is decided by the first key of ORDER BY alone: rows that are equal in it are all in the
tail. It is one comparison, which `plan.rewrites.looked_up` can turn into a filter of the files to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan import nodes
from dynamic_tables.plan.affected import is_affected
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, SortKey, Win, boolean, conjunction
from dynamic_tables.plan.functions import CASE, CAST
from dynamic_tables.plan.types import BIGINT, BOOLEAN, INTEGRAL, MAX_PRECISION, Kind, Type

ORDERED = frozenset({*INTEGRAL, Kind.DECIMAL, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
"""Types that the first key of the order may have, and the values of a running MIN or MAX."""

PLACES = frozenset({"row_number", "rank"})
"""Functions that are continued by adding the number of rows before the tail.

For RANK this is right because all rows that are equal in the first key are in the tail, so no row of the tail
ties with one before it. DENSE_RANK is not here: it counts different values, not rows."""

FIRST = "$FIRST"
"""The column with the least value of the order's first key among the changed rows of a partition."""

NULLS = "$NULLS"
"""The column that is true where the order's first key is NULL in a changed row of a partition."""

Windowed = Callable[[nodes.Window, nodes.Plan, bool], nodes.Plan]


def looks_back(node: nodes.Window) -> bool:
    """Tells whether computing only the tails is exact, and cheaper than whole partitions.

    The input is read once more than for whole partitions (for the rows before the tail). So it must be a
    stored relation with at most projections and filters above it; a join would be computed once more.
    """
    calls = [call for _, call in node.calls]
    # There is one tail for all functions of the node, so they must begin their order with the same key.
    orders = {call.order[:1] for call in calls}
    if len(orders) > 1 or not all(orders) or not is_stored(node.child):
        return False
    return calls[0].order[0].expr.type.kind in ORDERED and all(map(_continues, calls))


def is_stored(plan: nodes.Plan) -> bool:
    """Tells whether a plan reads one stored relation, with at most projections and filters above it."""
    while isinstance(plan, nodes.Project | nodes.Filter):
        plan = plan.child
    return isinstance(plan, nodes.Scan)


def _continues(call: Win) -> bool:
    """Tells whether the value over all rows follows from the values over two parts of them.

    The frame must reach from the first row of the partition to the current one; no frame at all is that, too.
    """
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
    """Tells whether the type of a sum has room for one more digit, which adding two sums may need."""
    return type_.kind is Kind.DECIMAL and type_.precision < MAX_PRECISION


def delta_of_tails(node: nodes.Window, ids: bool, d: Differentiation, windowed: Windowed) -> nodes.Plan:
    """Returns the tails of the affected partitions, at t0 as DELETE and at t1 as INSERT.

    `windowed`: the function that computes window functions over rows with ids; an argument, because `window`
    imports this module. Rows with equal values at both ends cancel at the root.
    """
    for branch in branches_of(node):
        d.met(branch)
    starts = starts_of(node, d)
    # Before the first changed row both ends have the same rows, so one aggregate serves both.
    before = before_tails(node, starts, d)
    return both_ends(lambda at: tails(node, at, ids, starts, before, d, windowed))


def tails(
    node: nodes.Window,
    at: At,
    ids: bool,
    starts: nodes.Plan,
    before: nodes.Plan,
    d: Differentiation,
    windowed: Windowed,
) -> nodes.Plan:
    """Returns the tails at one end of the interval, continued from `before`, with ids if `ids`."""
    rows = cut(node, d.state(node.child, at, True), starts)
    fresh = windowed(replace(node, calls=tuple((_of_tail(n), c) for n, c in node.calls)), rows, True)
    continued = {name: _continued(name, call) for name, call in node.calls}
    items = tuple((name, continued.get(name, value)) for name, value in same(node))
    return nodes.Project(_beside(node, fresh, before), items + id_item(ids))


def branches_of(node: nodes.Window) -> Iterator[Branch]:
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


def starts_of(node: nodes.Window, d: Differentiation) -> nodes.Plan:
    """Returns one row for each affected partition: its keys, and where its tail begins.

    A NULL key of the order has a column of its own (`NULLS`), because MIN and MAX leave NULL out, and NULL is
    first or last in the order.
    """
    order = node.calls[0][1].order[0]
    null = Agg("MAX", boolean("is null", order.expr), False, BOOLEAN)
    first = Agg("MAX" if order.descending else "MIN", order.expr, False, order.expr.type)
    return nodes.Aggregate(
        d.delta(node.child, False),
        tuple((f"$KEY{i}", key) for i, key in enumerate(node.partition)),
        ((FIRST, first), (NULLS, null)),
    )


def cut(node: nodes.Window, rows: nodes.Plan, starts: nodes.Plan, *, anti: bool = False) -> nodes.Plan:
    """Returns the rows of affected partitions that are in the tail; with `anti`, those before the tail."""
    order = node.calls[0][1].order[0]
    return nodes.SemiJoin(rows, starts, _cut(node.partition, order, anti=anti))


def stored_tails(
    contents: nodes.Plan, keys: Sequence[Expr], order: SortKey, starts: nodes.Plan
) -> nodes.Plan:
    """Returns the stored rows in a tail. `keys`, `order`: the columns that show those of the window."""
    return nodes.SemiJoin(contents, starts, _cut(keys, order, anti=False))


def _cut(keys: Sequence[Expr], order: SortKey, *, anti: bool) -> Expr:
    """Returns the condition that a row is in the tail that `starts_of` has for its partition."""
    tail = boolean("is true", _in_tail(order))
    where = boolean("not", tail) if anti else tail
    return conjunction((is_affected(keys), where)) if keys else where


def _in_tail(order: SortKey) -> Expr:
    """Returns the condition that a row is not before the first changed one, or NULL for false."""
    at_or_after = boolean("<=" if order.descending else ">=", order.expr, Col(FIRST, order.expr.type))
    # With NULLs first, a changed row with NULL makes the whole partition a tail. With NULLs last, rows with
    # NULL are at the end, and so in every tail.
    if order.nulls_first:
        return boolean("or", Col(NULLS, BOOLEAN), at_or_after)
    return boolean("or", boolean("is null", order.expr), at_or_after)


def _of_tail(name: str) -> str:
    return f"$TAIL_{name}"


def _of_before(name: str) -> str:
    return f"$BEFORE_{name}"


def before_tails(node: nodes.Window, starts: nodes.Plan, d: Differentiation) -> nodes.Plan:
    """Returns the aggregates over the rows before the tail, one row for each partition that has such rows."""
    rows = d.state(node.child, At.T1, False)
    aggregates = tuple((_of_before(name), _aggregate(call)) for name, call in node.calls)
    keys = tuple((f"$BEFORE{i}", key) for i, key in enumerate(node.partition))
    return nodes.Aggregate(cut(node, rows, starts, anti=True), keys, aggregates)


def _aggregate(call: Win) -> Agg:
    return call.function if isinstance(call.function, Agg) else Agg("COUNT", None, False, BIGINT)


def _beside(node: nodes.Window, tail: nodes.Plan, before: nodes.Plan) -> nodes.Plan:
    """Returns each row of a tail, joined with the aggregates of the rows before the tail."""
    if not node.partition:
        # An aggregate without keys always has one row, so the cross join loses nothing.
        return nodes.Join(nodes.JoinKind.CROSS, tail, before, None)
    on = conjunction(
        boolean("is not distinct from", key, Col(f"$BEFORE{i}", key.type))
        for i, key in enumerate(node.partition)
    )
    return nodes.Join(nodes.JoinKind.LEFT, tail, before, on)


def _continued(name: str, call: Win) -> Expr:
    """Returns the value over all rows up to the current one, from those of the tail and of the rows before.

    A part without a value is NULL for SUM, MIN and MAX, and then the other part is the result.
    """
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
