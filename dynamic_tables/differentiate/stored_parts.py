"""Groups and partitions at the top of a query: the stored rows of a part are its rows at t0.

A part is a group, or a partition of a window function. The rules of `grouping` and `window` compute the parts
in which a row has changed anew, at both ends of the interval. At the top of a query that shows the keys of
its parts, the result at t0 need not be computed: it is what the table holds (delayed view semantics), found
by these keys. So only t1 is computed, which halves what is read. Example:
`SELECT day, COUNT(DISTINCT user) .. GROUP BY day HAVING ..` deletes the stored rows of the changed days and
inserts those at t1. A grouping whose aggregates can be continued does still better (`stored_groups`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from dynamic_tables.differentiate.differentiation import CONTENTS, ID, At, Differentiation
from dynamic_tables.differentiate.grouping import distinct, grouped
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import marked
from dynamic_tables.differentiate.window import windowed
from dynamic_tables.differentiate.window_tail import (
    before_tails,
    branches_of,
    looks_back,
    starts_of,
    stored_tails,
    tails,
)
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr, SortKey, replace_columns
from dynamic_tables.plan.nodes import (
    DELETE,
    INSERT,
    ROW_ID,
    Aggregate,
    BoundQuery,
    Distinct,
    Filter,
    Leaf,
    Plan,
    Project,
    UnionAll,
    Window,
)
from dynamic_tables.plan.time import expressions, holds_time

Parts = Aggregate | Distinct | Window
"""A node that makes one part of its result from all rows with the same keys."""


@dataclass(frozen=True, slots=True)
class OnTop:
    """Groups or partitions at the top of a query, with only projections and filters above them.

    `shown`: the outputs as expressions over the node's columns, where they are known; `filters`: the
    conditions above it, in the same columns. `keys`: the outputs that show the keys of the parts.
    """

    node: Parts
    shown: dict[str, Expr]
    filters: tuple[Expr, ...]
    keys: tuple[str, ...]

    def showing(self, wanted: Sequence[Expr]) -> tuple[str, ...] | None:
        """Returns the outputs that show some expressions; None if one of them is not shown."""
        names = [next((name for name, expr in self.shown.items() if expr == key), None) for key in wanted]
        found = tuple(name for name in names if name is not None)
        return found if len(found) == len(names) else None


def on_top(query: BoundQuery) -> OnTop | None:
    """Returns the groups or partitions at the top of a query whose outputs show their keys; else None.

    None also where the current time stands above them: as time passes, it changes rows of parts in which no
    row has changed. And where all rows are one partition, unless its functions only look back.
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
    if not isinstance(plan, Parts):
        return None
    top = OnTop(plan, shown, tuple(filters), ())
    keys = top.showing(_shown_keys(plan))
    if keys is None or (isinstance(plan, Window) and not _is_known(top, plan)):
        return None
    return replace(top, keys=keys)


def _is_known(top: OnTop, node: Window) -> bool:
    """Tells whether the stored rows of a window can be found: those of partitions, or those of tails."""
    if _by_tails(top, node):
        return top.showing([_order(node).expr]) is not None
    return bool(node.partition)


def _by_tails(top: OnTop, node: Window) -> bool:
    """Tells whether tails are computed, which are less to read than whole partitions.

    If a filter such as QUALIFY drops rows, few rows of whole partitions are stored, which is less still.
    """
    return looks_back(node) and not top.filters


def _order(node: Window) -> SortKey:
    """Returns the first key of the order of window functions, which decides where tails begin."""
    return node.calls[0][1].order[0]


def _over(items: Mapping[str, Expr], expr: Expr) -> Expr:
    """Returns an expression over a projection as one over the rows below it."""
    return replace_columns(expr, lambda column: items[column.name])


def _shown_keys(node: Parts) -> Sequence[Expr]:
    """Returns the keys of the parts as expressions over the node's own columns."""
    match node:
        case Aggregate(_, keys):
            return [Col(name, key.type) for name, key in keys]
        case Distinct():
            return [column for _, column in same(node)]
        case Window():
            return node.partition
        case _:
            assert_never(node)


def _keys(node: Parts) -> Sequence[Expr]:
    """Returns the keys of the parts as expressions over the rows below the node."""
    return [key for _, key in node.keys] if isinstance(node, Aggregate) else _shown_keys(node)


def affected_parts(changes: Plan, top: OnTop) -> Plan:
    """Returns the keys of the parts in which rows have changed."""
    return affected_keys(changes, _keys(top.node))


def delta_of_contents(query: BoundQuery, top: OnTop, d: Differentiation) -> Plan:
    """Returns the stored rows of affected parts as DELETE, and those at t1 as INSERT; equal rows cancel.

    The rows of the sources at t0 are not read, and a HAVING or QUALIFY that keeps few rows leaves few stored
    ones to read. A grouping without keys has one part, which every change affects.
    """
    if isinstance(top.node, Window) and _by_tails(top, top.node):
        return _delta_of_tails(query, top, top.node, d)
    d.met(Branch.WINDOW_STORED if isinstance(top.node, Window) else Branch.GROUPS_STORED)
    parts = affected_parts(d.delta(top.node.child, False), top)
    stored, now = stored_rows(query, top, parts), rows_now(query, top, parts, d)
    return UnionAll((marked(stored, DELETE), marked(now, INSERT)))


def _delta_of_tails(query: BoundQuery, top: OnTop, node: Window, d: Differentiation) -> Plan:
    """Returns the stored rows in the tails of affected partitions as DELETE, and those at t1 as INSERT."""
    for branch in (Branch.TAIL_STORED, *branches_of(node)):
        d.met(branch)
    starts, order = starts_of(node, d), _order(node)
    (shown,) = top.showing([order.expr]) or ()
    by = replace(order, expr=Col(shown, order.expr.type))
    stored = stored_tails(_contents(query), key_columns(top), by, starts)
    now = tails(node, At.T1, True, starts, before_tails(node, starts, d), d, windowed)
    return UnionAll((marked(stored, DELETE), marked(shown_rows(query, now), INSERT)))


def stored_rows(query: BoundQuery, top: OnTop, parts: Plan) -> Plan:
    """Returns the stored rows of some parts. `parts`: their keys."""
    contents = _contents(query)
    return only_groups(contents, key_columns(top), parts) if top.keys else contents


def _contents(query: BoundQuery) -> Leaf:
    columns = tuple((name, Col(name, type_)) for name, type_ in query.schema)
    return Leaf(CONTENTS, (*columns, (ROW_ID, ID)))


def key_columns(top: OnTop) -> list[Expr]:
    """Returns the outputs that show the keys of the parts, as columns."""
    return [Col(name, key.type) for name, key in zip(top.keys, _keys(top.node), strict=True)]


def rows_now(query: BoundQuery, top: OnTop, parts: Plan, d: Differentiation) -> Plan:
    """Returns the query's rows at t1 of some parts. `parts`: their keys."""
    node = top.node
    rows = d.state(node.child, At.T1, isinstance(node, Window))
    if top.keys:
        rows = only_groups(rows, _keys(node), parts)
    match node:
        case Aggregate():
            return shown_rows(query, grouped(node, rows, True, d))
        case Distinct():
            return shown_rows(query, distinct(node, rows, True, d))
        case Window():
            return shown_rows(query, windowed(node, rows, True))
        case _:
            assert_never(node)


def shown_rows(query: BoundQuery, rows: Plan) -> Plan:
    """Returns the outputs of a query, with ids, over other rows of its groups or window with ids."""
    return Project(_above(query.plan, rows), query.outputs + id_item(True))


def _above(plan: Plan, rows: Plan) -> Plan:
    """Returns the projections and filters above groups or windows over other rows with ids than their own."""
    match plan:
        case Project(child, items):
            return Project(_above(child, rows), items + id_item(True))
        case Filter(child, predicate):
            return Filter(_above(child, rows), predicate)
        case _:
            return rows
