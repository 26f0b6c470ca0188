"""Window functions: affected partitions are computed anew at both ends of the interval (DVS paper, 5.5.1).

A window function of a row depends on the other rows of its partition. So a partition with a changed row is
computed as a whole, or, for functions that only look back, from the first changed row on (`window_tail`). At
the top of a query that shows the keys of the partitions, the stored rows of a partition are its rows at t0,
so that only t1 is computed (`delta_of_contents`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dynamic_tables.differentiate.differentiation import CONTENTS, ID, At, Differentiation
from dynamic_tables.differentiate.grouping import affected_keys, only_groups
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends, marked
from dynamic_tables.differentiate.window_tail import delta_of_tails, looks_back
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr, SortKey, Win, replace_columns
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


@dataclass(frozen=True, slots=True)
class OnTop:
    """A window at the top of a query, with only projections and filters above it.

    `shown`: the outputs as expressions over the window's columns, where they are known; `filters`: the
    conditions above it, in the same columns. `partition`: the outputs that show the keys of the partitions.
    """

    node: Window
    shown: dict[str, Expr]
    filters: tuple[Expr, ...]
    partition: tuple[str, ...]

    def showing(self, keys: Sequence[Expr]) -> tuple[str, ...] | None:
        """Returns the outputs that show some expressions; None if one of them is not shown."""
        names = [next((name for name, expr in self.shown.items() if expr == key), None) for key in keys]
        found = tuple(name for name in names if name is not None)
        return found if len(found) == len(names) else None


def on_top(query: BoundQuery) -> OnTop | None:
    """Returns the window at the top of a query whose outputs show the keys of its partitions; else None.

    None also where the current time stands above it: as time passes, it changes rows of partitions in which
    no row has changed. And where the functions only look back and no filter, such as QUALIFY, drops rows:
    tails are less to read than whole partitions.
    """
    shown: dict[str, Expr] = dict(query.outputs)
    filters: list[Expr] = []
    plan = query.plan
    while isinstance(plan, Project | Filter):
        if any(map(holds_time, expressions(plan))):
            return None
        if isinstance(plan, Project):
            items = dict(plan.items)
            shown = {name: items[expr.name] for name, expr in shown.items() if isinstance(expr, Col)}
            filters = [_over(items, each) for each in filters]
        else:
            filters.append(plan.predicate)
        plan = plan.child
    if not isinstance(plan, Window) or not plan.partition or (looks_back(plan) and not filters):
        return None
    top = OnTop(plan, shown, tuple(filters), ())
    partition = top.showing(plan.partition)
    return None if partition is None else replace(top, partition=partition)


def _over(items: Mapping[str, Expr], expr: Expr) -> Expr:
    """Returns an expression over a projection as one over the rows below it."""
    return replace_columns(expr, lambda column: items[column.name])


def delta_of_contents(query: BoundQuery, top: OnTop, d: Differentiation) -> Plan:
    """Returns the stored rows of affected partitions as DELETE, and those at t1 as INSERT; equal rows cancel.

    The stored rows are the result at t0 (delayed view semantics), so the rows of the source at t0 are not
    read, and a QUALIFY that keeps few rows leaves few stored ones to read.
    """
    d.met(Branch.WINDOW_STORED)
    affected = affected_keys(d.delta(top.node.child, False), list(top.node.partition))
    stored, now = stored_rows(query, top, affected), rows_now(query, top, affected, d)
    return UnionAll((marked(stored, DELETE), marked(now, INSERT)))


def stored_rows(query: BoundQuery, top: OnTop, affected: Plan) -> Plan:
    """Returns the stored rows of some partitions, whose keys are in `affected`."""
    columns = tuple((name, Col(name, type_)) for name, type_ in query.schema)
    return only_groups(Leaf(CONTENTS, (*columns, (ROW_ID, ID))), key_columns(top), affected)


def key_columns(top: OnTop) -> list[Expr]:
    """Returns the outputs that show the keys of the partitions, as columns."""
    return [Col(name, key.type) for name, key in zip(top.partition, top.node.partition, strict=True)]


def rows_now(query: BoundQuery, top: OnTop, affected: Plan, d: Differentiation) -> Plan:
    """Returns the query's rows at t1 of some partitions, whose keys are in `affected`."""
    node = top.node
    rows = only_groups(d.state(node.child, At.T1, True), list(node.partition), affected)
    return shown_rows(query, windowed(node, rows, True))


def shown_rows(query: BoundQuery, rows: Plan) -> Plan:
    """Returns the outputs of a query, with ids, over other rows of its window with ids."""
    return Project(_above(query.plan, rows), query.outputs + id_item(True))


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
