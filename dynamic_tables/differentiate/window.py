"""Window functions: affected partitions are computed anew at both ends of the interval (DVS paper, 5.5.1).

A window function of a row depends on the other rows of its partition. So a partition with a changed row is
computed as a whole, or, for functions that only look back, from the first changed row on (`window_tail`). At
the top of a query that shows the keys of the partitions, the stored rows of a partition are its rows at t0,
so that only t1 is computed (`delta_of_contents`).
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import CONTENTS, ID, At, Differentiation
from dynamic_tables.differentiate.grouping import affected_keys, only_groups
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends, marked
from dynamic_tables.differentiate.window_tail import delta_of_tails, looks_back
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr, SortKey, Win
from dynamic_tables.plan.nodes import (
    DELETE,
    INSERT,
    ROW_ID,
    BoundQuery,
    Filter,
    Leaf,
    Plan,
    Project,
    UnionAll,
    Window,
)
from dynamic_tables.plan.time import expressions, holds_time
from dynamic_tables.plan.window_functions import depends_on_places, ordered_also_by, ties_can_be_broken


def state_window(node: Window, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows at one end with their window functions; their ids pass through."""
    if not d.identified:
        return Window(d.state(node.child, at, False), node.calls)
    return windowed(node, d.state(node.child, at, True), ids)


def windowed(node: Window, rows: Plan, ids: bool) -> Plan:
    """Returns the window functions over rows with ids, which the result has only if `ids`.

    Rows that are equal in the order (ties) are taken in the order of their ids, so that a later refresh
    computes for t0 the values that are stored.
    """
    result = Window(rows, tuple((name, _with_ties_by_id(call)) for name, call in node.calls))
    return result if ids else Project(result, same(node))


def _with_ties_by_id(call: Win) -> Win:
    broken = depends_on_places(call) and ties_can_be_broken(call)
    return ordered_also_by(call, SortKey(ID)) if broken else call


def on_top(query: BoundQuery) -> tuple[Window, tuple[str, ...]] | None:
    """Returns the window at the top of a query, and the outputs that show the keys of its partitions.

    None if there is none; only projections and filters may stand above it, without the current time: as time
    passes, it changes rows of partitions in which no row has changed. None also where the functions only
    look back and no filter, such as QUALIFY, drops rows: tails are less to read than whole partitions.
    """
    shown: dict[str, Expr] = dict(query.outputs)
    plan, filtered = query.plan, False
    while isinstance(plan, Project | Filter):
        if any(map(holds_time, expressions(plan))):
            return None
        if isinstance(plan, Project):
            items = dict(plan.items)
            shown = {name: items[expr.name] for name, expr in shown.items() if isinstance(expr, Col)}
        filtered |= isinstance(plan, Filter)
        plan = plan.child
    if not isinstance(plan, Window) or not plan.partition or (looks_back(plan) and not filtered):
        return None
    names = [next((name for name, expr in shown.items() if expr == key), None) for key in plan.partition]
    found = tuple(name for name in names if name is not None)
    return (plan, found) if len(found) == len(names) else None


def delta_of_contents(query: BoundQuery, top: tuple[Window, tuple[str, ...]], d: Differentiation) -> Plan:
    """Returns the stored rows of affected partitions as DELETE, and those at t1 as INSERT; equal rows cancel.

    `top`: what `on_top` returns. The stored rows are the result at t0 (delayed view semantics), so the rows
    of the source at t0 are not read, and a QUALIFY that keeps few rows leaves few stored ones to read.
    """
    d.met(Branch.WINDOW_STORED)
    node, names = top
    keys = list(node.partition)
    affected = affected_keys(d.delta(node.child, False), keys)
    fresh = windowed(node, only_groups(d.state(node.child, At.T1, True), keys, affected), True)
    shown: list[Expr] = [Col(name, key.type) for name, key in zip(names, keys, strict=True)]
    stored = Leaf(CONTENTS, (*((name, Col(name, type_)) for name, type_ in query.schema), (ROW_ID, ID)))
    now = Project(_above(query.plan, fresh), query.outputs + id_item(True))
    return UnionAll((marked(only_groups(stored, shown, affected), DELETE), marked(now, INSERT)))


def _above(plan: Plan, rows: Plan) -> Plan:
    """Returns the projections and filters above a window over other rows with ids than its own."""
    match plan:
        case Project(child, items):
            return Project(_above(child, rows), items + id_item(True))
        case Filter(child, predicate):
            return Filter(_above(child, rows), predicate)
        case _:
            return rows


def delta_window(node: Window, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows of affected partitions at t0 as DELETE, and at t1 as INSERT; equal rows cancel.

    A partition is affected if a changed row, old or new image, has its key. Example: a row is inserted before
    two others; their ROW_NUMBER changes, so both are in the changes beside the new row.
    """
    if looks_back(node):
        return delta_of_tails(node, ids, d, windowed)
    d.met(Branch.WINDOW_WHOLE if node.partition else Branch.WINDOW_ALL_ROWS)
    if not node.partition:
        return both_ends(lambda at: state_window(node, at, ids, d))
    keys = list(node.partition)
    affected = affected_keys(d.delta(node.child, False), keys)
    return both_ends(
        lambda at: windowed(node, only_groups(d.state(node.child, at, True), keys, affected), ids)
    )
