"""Faults in filters, projections and UNION ALL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, in_operator, in_rules
from campaign.faults.pieces import (
    among,
    below_filters,
    deletes,
    full_delta,
    ids,
    inserts,
    negated,
    without_id,
)
from dynamic_tables.differentiate import linear
from dynamic_tables.differentiate.differentiation import Differentiation
from dynamic_tables.plan.expressions import Col, Expr
from dynamic_tables.plan.nodes import Aggregate, Filter, Join, Plan, Project, UnionAll, columns
from workload.results import Check


def filter_drops_old_half(node: Filter, want_ids: bool, d: Differentiation) -> Plan:
    """The DELETE of a row whose new version fails the predicate is dropped."""
    changes = full_delta(node.child, d)
    failing = ids(Filter(inserts(changes), negated(node.predicate)))
    kept = Filter(changes, node.predicate)
    return without_id(UnionAll((inserts(kept), among(deletes(kept), failing, anti=True))), want_ids)


def having_existing_groups_only(node: Filter, want_ids: bool, d: Differentiation) -> Plan:
    """A group that crosses the HAVING threshold neither enters nor leaves."""
    if not isinstance(below_filters(node), Aggregate):
        return linear.delta_filter(node, want_ids, d)
    kept = Filter(full_delta(node.child, d), node.predicate)
    entering, leaving = inserts(kept), deletes(kept)
    return without_id(UnionAll((among(entering, ids(leaving)), among(leaving, ids(entering)))), want_ids)


def project_swaps_columns(node: Project, want_ids: bool, d: Differentiation) -> Plan:
    """Above a join, two right-hand columns of one type change places in the change set."""
    below = below_filters(node.child)
    if isinstance(below, Join):
        right = {column.name for column in columns(below.right)}
        swapped = _swapped(node.items, right)
        if swapped is not None:
            return linear.delta_project(Project(node.child, swapped), want_ids, d)
    return linear.delta_project(node, want_ids, d)


def _swapped(items: tuple[tuple[str, Expr], ...], right: set[str]) -> tuple[tuple[str, Expr], ...] | None:
    places = [i for i, (_, expr) in enumerate(items) if isinstance(expr, Col) and expr.name in right]
    for first in places:
        for second in places:
            if (
                first < second
                and items[first][1].type == items[second][1].type
                and items[first][1] != items[second][1]
            ):
                changed = list(items)
                changed[first] = (items[first][0], items[second][1])
                changed[second] = (items[second][0], items[first][1])
                return tuple(changed)
    return None


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            name="filter-drops-old-half",
            area="filter, project",
            wrong="an updated row that leaves the filter yields no DELETE",
            plant=in_operator("filter", delta=filter_drops_old_half),
            caught_by=(Check.EQUALITY, Check.ROW_IDS),
            core=False,
        ),
        Fault(
            name="project-swaps-columns",
            area="filter, project",
            wrong="above a join two columns of one type change places in the change set",
            plant=in_operator("projection", delta=project_swaps_columns),
            caught_by=(Check.EQUALITY, Check.INVARIANT_2),
            core=False,
        ),
        Fault(
            name="having-existing-groups-only",
            area="aggregates",
            wrong="a group that crosses the HAVING threshold neither enters nor leaves",
            plant=in_operator("filter", delta=having_existing_groups_only),
            caught_by=(Check.EQUALITY,),
        ),
        Fault(
            name="union-branch-not-in-id",
            area="set operations",
            wrong="the row id of UNION ALL does not name the branch",
            plant=in_rules(
                lambda rules: replace(rules, row_ids=replace(rules.row_ids, branch=lambda _, child: child))
            ),
            caught_by=(Check.ROW_IDS, Check.INVARIANT_1),
        ),
    )
}
