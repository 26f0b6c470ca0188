"""Faults in window functions and grouping sets: which rows and which sets are computed anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps

from campaign.faults.fault import in_rules, part_fault, rule_fault
from campaign.faults.pieces import all_of, among, deletes, equal, ids, inserts, with_nodes, without_id
from dynamic_tables.differentiate import linear, window_tail
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.window import delta_window, windowed
from dynamic_tables.differentiate.window_first import AGAIN, GONE, PLACE, STORED, Firsts, delta_of_firsts
from dynamic_tables.plan import nodes
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.expressions import (
    FALSE,
    Agg,
    Col,
    Expr,
    Lit,
    SortKey,
    Win,
    boolean,
    replace_columns,
    walk,
)
from dynamic_tables.plan.types import BOOLEAN
from workload.outcomes.results import Check


def changed_rows_only(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Only changed rows get new values; the rows beside them in the partition keep theirs."""
    changed = ids(d.delta(node.child, True))
    return both_ends(lambda at: without_id(among(d.state(node, at, True), changed), want_ids))


def partitions_intersected(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """With two PARTITION BY lists, only rows in the affected partitions of both are computed anew."""
    below = node.child
    if not isinstance(below, nodes.Window) or not below.partition or not node.partition:
        return delta_window(node, want_ids, d)
    lists = [list(node.partition), list(below.partition)]
    affected = [affected_keys(d.delta(below.child, False), keys) for keys in lists]

    def part(at: At) -> nodes.Plan:
        rows = d.state(node, at, True)
        for keys, known in zip(lists, affected, strict=True):
            rows = only_groups(rows, keys, known)
        return without_id(rows, want_ids)

    return both_ends(part)


def new_partitions_only(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """The partition that a row leaves is not computed anew, only the one that it comes to."""
    keys = list(node.partition)
    if not keys:
        return delta_window(node, want_ids, d)
    affected = affected_keys(inserts(d.delta(node.child, False)), keys)
    return both_ends(
        lambda at: windowed(node, only_groups(d.state(node.child, at, True), keys, affected), want_ids)
    )


def old_partitions_only(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """The partition that a row comes to is not computed anew, only the one that it leaves."""
    keys = list(node.partition)
    if not keys:
        return delta_window(node, want_ids, d)
    affected = affected_keys(deletes(d.delta(node.child, False)), keys)
    return both_ends(
        lambda at: windowed(node, only_groups(d.state(node.child, at, True), keys, affected), want_ids)
    )


def null_partition_lost(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Affected partitions are looked up with `=`, which does not find the partition of key NULL."""
    keys = list(node.partition)
    if not keys:
        return delta_window(node, want_ids, d)
    affected = affected_keys(d.delta(node.child, False), keys)
    on = all_of(equal(key, Col(f"$KEY{place}", key.type)) for place, key in enumerate(keys))
    return both_ends(
        lambda at: windowed(node, nodes.SemiJoin(d.state(node.child, at, True), affected, on), want_ids)
    )


def frames_of_affected_rows(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """The changes are those of window functions without their frames."""
    calls = tuple((name, replace(call, frame=None)) for name, call in node.calls)
    return delta_window(replace(node, calls=calls), want_ids, d)


def nulls_last_in_windows(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """The changes are those of windows with NULL as the greatest value of an order."""

    def turned(call: Win) -> Win:
        return replace(call, order=tuple(replace(key, nulls_first=not key.nulls_first) for key in call.order))

    calls = tuple((name, turned(call)) for name, call in node.calls)
    return delta_window(replace(node, calls=calls), want_ids, d)


def filter_below_window(node: nodes.Filter, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """A filter above a window function is applied to its input."""
    if isinstance(node.child, nodes.Project) and isinstance(node.child.child, nodes.Window):
        window, items = node.child.child, node.child.items
    elif isinstance(node.child, nodes.Window):
        window, items = node.child, linear.same(node)
    else:
        return linear.delta_filter(node, want_ids, d)
    meaning = dict(items)
    predicate = replace_columns(node.predicate, lambda column: meaning[column.name])
    if not _reads_only(predicate, window.child):
        return linear.delta_filter(node, want_ids, d)
    keys = list(window.partition)
    affected = affected_keys(nodes.Filter(d.delta(window.child, False), predicate), keys) if keys else None

    def part(at: At) -> nodes.Plan:
        rows: nodes.Plan = nodes.Filter(d.state(window.child, at, True), predicate)
        rows = rows if affected is None else only_groups(rows, keys, affected)
        return nodes.Project(windowed(window, rows, want_ids), (*items, *linear.id_item(want_ids)))

    return both_ends(part)


def _reads_only(predicate: Expr, plan: nodes.Plan) -> bool:
    known = {column.name for column in nodes.columns(plan)}
    return all(part.name in known for part in walk(predicate) if isinstance(part, Col))


def finest_set_only(node: nodes.UnionAll, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Of ROLLUP, CUBE and GROUPING SETS only the first set, the finest in most, is maintained."""
    grouped = [
        b.child
        for b in node.branches
        if isinstance(b, nodes.Project) and isinstance(b.child, nodes.Aggregate)
    ]
    if len(grouped) != len(node.branches) or len({id(each.child) for each in grouped}) != 1:
        return linear.delta_union_all(node, want_ids, d)
    return linear.delta_union_all(replace(node, branches=node.branches[:1]), want_ids, d)


def _with_starts(
    change: Callable[[nodes.Aggregate], nodes.Aggregate],
) -> Callable[[nodes.Window, bool, Differentiation], nodes.Plan]:
    """The delta of a window function, with other starts of the tails."""

    @wraps(change)
    def delta(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
        whole = delta_window(node, want_ids, d)
        if not window_tail.looks_back(node):
            return whole

        def changed(plan: nodes.Plan) -> nodes.Plan:
            starts = isinstance(plan, nodes.Aggregate) and any(
                name == window_tail.FIRST for name, _ in plan.aggregates
            )
            return change(plan) if starts and isinstance(plan, nodes.Aggregate) else plan

        return with_nodes(whole, changed)

    return delta


def _last_changed(starts: nodes.Aggregate) -> nodes.Aggregate:
    """The tail of a partition begins at the last changed row, not at the first."""
    turned = {"MIN": "MAX", "MAX": "MIN"}
    return replace(
        starts,
        aggregates=tuple(
            (name, replace(agg, name=turned[agg.name]) if name == window_tail.FIRST else agg)
            for name, agg in starts.aggregates
        ),
    )


def _null_forgotten(starts: nodes.Aggregate) -> nodes.Aggregate:
    """A changed row whose first key of the order is NULL does not count for where the tail begins."""
    never = Agg("MAX", Lit(False, BOOLEAN), False, BOOLEAN)
    return replace(
        starts,
        aggregates=tuple(
            (name, never if name == window_tail.NULLS else agg) for name, agg in starts.aggregates
        ),
    )


def tail_begun_anew(node: nodes.Window, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """The tail of a partition is not continued from the rows before it: a running sum begins with zero."""
    if not window_tail.looks_back(node):
        return delta_window(node, want_ids, d)
    starts = window_tail.starts_of(node, d)
    return both_ends(
        lambda at: windowed(node, window_tail.cut(node, d.state(node.child, at, True), starts), want_ids)
    )


def _with_firsts(
    change: Callable[[nodes.Plan], nodes.Plan],
) -> Callable[[nodes.BoundQuery, Firsts, Differentiation], nodes.Plan]:
    """The changes of first rows, with `change` of every node of their plan."""

    @wraps(change)
    def changes(query: nodes.BoundQuery, firsts: Firsts, d: Differentiation) -> nodes.Plan:
        return with_nodes(delta_of_firsts(query, firsts, d), change)

    return changes


def nobody_moves_up(node: nodes.Plan) -> nodes.Plan:
    """A partition whose first row is gone, and that has no better new row, is not read again."""
    again = isinstance(node, nodes.Filter) and node.predicate == Col(AGAIN, BOOLEAN)
    return replace(node, predicate=FALSE) if again and isinstance(node, nodes.Filter) else node


def new_before_stored(node: nodes.Plan) -> nodes.Plan:
    """A new row is taken for the first one, also where the stored row comes before it."""
    if not _ranks(node) or not isinstance(node, nodes.Window):
        return node
    (name, call), *_ = node.calls
    return replace(node, calls=((name, replace(call, order=(SortKey(Col(STORED, BOOLEAN)), *call.order))),))


def place_of_gone_forgotten(node: nodes.Plan) -> nodes.Plan:
    """A row that is gone holds no place: any new row follows it, also where others come before that one."""
    if not _ranks(node) or not isinstance(node, nodes.Window):
        return node
    (name, call), *_ = node.calls
    gone = boolean("and", Col(GONE, BOOLEAN), Col(STORED, BOOLEAN))
    return replace(node, calls=((name, replace(call, order=(SortKey(gone), *call.order))),))


def _ranks(node: nodes.Plan) -> bool:
    return isinstance(node, nodes.Window) and node.calls[0][0] == PLACE


_fault = partial(rule_fault, area="windows", operators=("window",))
_firsts = partial(part_fault, area="windows", replacing=in_rules)
_sets = partial(rule_fault, area="aggregates", operators=("union all",))

FAULTS = (
    _fault("lag-changed-rows-only", changed_rows_only, Check.EQUALITY),
    _fault("window-partitions-intersected", partitions_intersected, Check.EQUALITY),
    _fault("window-left-partition-kept", new_partitions_only, Check.EQUALITY),
    _fault("window-entered-partition-kept", old_partitions_only, Check.EQUALITY, core=False),
    _fault("window-null-partition-lost", null_partition_lost, Check.EQUALITY),
    _fault("window-without-frames", frames_of_affected_rows, Check.EQUALITY),
    _fault("window-nulls-at-other-end", nulls_last_in_windows, Check.EQUALITY),
    _fault("window-tail-begun-anew", tail_begun_anew, Check.EQUALITY),
    _fault("window-tail-from-last-change", _with_starts(_last_changed), Check.EQUALITY),
    _fault("window-tail-null-forgotten", _with_starts(_null_forgotten), Check.EQUALITY),
    _firsts("first-row-nobody-moves-up", "firsts", _with_firsts(nobody_moves_up), Check.EQUALITY),
    _firsts("first-row-new-before-stored", "firsts", _with_firsts(new_before_stored), Check.EQUALITY),
    _firsts("first-row-gone-holds-no-place", "firsts", _with_firsts(place_of_gone_forgotten), Check.EQUALITY),
    _fault("filter-below-window", filter_below_window, Check.EQUALITY, operators=("filter",)),
    _sets("grouping-sets-finest-only", finest_set_only, Check.EQUALITY),
)
