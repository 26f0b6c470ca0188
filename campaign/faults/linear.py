"""Faults in filters, projections and UNION."""

from __future__ import annotations

from functools import partial

from campaign.faults.fault import Fault, in_row_ids, rule_fault
from campaign.faults.pieces import among, below_filters, deletes, ids, inserts, recomputed, without_id
from dynamic_tables.differentiate import grouping, linear
from dynamic_tables.differentiate.differentiation import ID, Differentiation
from dynamic_tables.differentiate.row_id import key_id
from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit
from dynamic_tables.plan.functions import CAST
from dynamic_tables.plan.nodes import Aggregate, Distinct, Filter, Join, Plan, Project, UnionAll, columns
from dynamic_tables.plan.types import BOOLEAN
from dynamic_tables.reading.values.typed import COMPARISONS
from workload.outcomes.results import Check


def filter_drops_old_half(node: Filter, want_ids: bool, d: Differentiation) -> Plan:
    """When an update makes a row fail a filter, the DELETE of the row is lost."""
    changes = d.delta(node.child, True)
    # `is true`: a predicate that is NULL fails too.
    failing = ids(Filter(inserts(changes), Fn("not", (Fn("is true", (node.predicate,), BOOLEAN),), BOOLEAN)))
    passing = Filter(changes, node.predicate)
    return without_id(UnionAll((inserts(passing), among(deletes(passing), failing, anti=True))), want_ids)


def having_existing_groups_only(node: Filter, want_ids: bool, d: Differentiation) -> Plan:
    """A group that crosses the HAVING threshold neither enters nor leaves the result."""
    if not isinstance(below_filters(node), Aggregate):
        return linear.delta_filter(node, want_ids, d)
    passing = Filter(d.delta(node.child, True), node.predicate)
    entering, leaving = inserts(passing), deletes(passing)
    return without_id(UnionAll((among(entering, ids(leaving)), among(leaving, ids(entering)))), want_ids)


def project_swaps_columns(node: Project, want_ids: bool, d: Differentiation) -> Plan:
    """Above a join, two columns of the right side that have one type change places in the change set."""
    below = below_filters(node.child)
    if isinstance(below, Join):
        right = {column.name for column in columns(below.right)}
        node = Project(node.child, _swapped(node.items, right))
    return linear.delta_project(node, want_ids, d)


def _swapped(items: tuple[tuple[str, Expr], ...], right: set[str]) -> tuple[tuple[str, Expr], ...]:
    """The items with the first two exchanged that are different columns of `right` and of one type."""
    places = [i for i, (_, expr) in enumerate(items) if isinstance(expr, Col) and expr.name in right]
    for first in places:
        for second in places:
            (name, one), (other_name, other) = items[first], items[second]
            if first < second and one.type == other.type and one != other:
                changed = list(items)
                changed[first], changed[second] = (name, other), (other_name, one)
                return tuple(changed)
    return items


def compared_as_left(node: Filter, want_ids: bool, d: Differentiation) -> Plan:
    """A comparison of columns of two types is made in the type of its left side."""
    return linear.delta_filter(Filter(node.child, _in_left_type(node.predicate)), want_ids, d)


def _in_left_type(expr: Expr) -> Expr:
    if not isinstance(expr, Fn):
        return expr
    args = tuple(map(_in_left_type, expr.args))
    if expr.name in COMPARISONS and len(args) == 2 and not any(isinstance(arg, Lit) for arg in args):
        left, right = args
        args = (left, right if left.type == right.type else Fn(CAST, (right,), left.type))
    return Fn(expr.name, args, expr.type)


def union_keeps_copies(node: Distinct, want_ids: bool, d: Differentiation) -> Plan:
    """The changes of UNION are computed as those of UNION ALL: each copy comes and goes for itself."""
    if not isinstance(node.child, UnionAll):
        return grouping.delta_distinct(node, want_ids, d)
    changes = d.delta(node.child, want_ids)
    return recomputed(changes, {ID.name: key_id(columns(node))}) if want_ids else changes


_fault = partial(rule_fault, area="filter, project", operators=("filter",), core=False)
_project = partial(_fault, operators=("projection",))
_having = partial(_fault, area="aggregates", core=True)
_union = partial(_fault, area="set operations", operators=("distinct",))

FAULTS = (
    _fault("filter-drops-old-half", filter_drops_old_half, Check.EQUALITY, Check.ROW_IDS),
    _project("project-swaps-columns", project_swaps_columns, Check.EQUALITY, Check.INVARIANT_2),
    _having("having-existing-groups-only", having_existing_groups_only, Check.EQUALITY),
    _fault("compared-in-left-type", compared_as_left, Check.EQUALITY, Check.REFRESH_ERROR),
    _union("union-keeps-copies", union_keeps_copies, Check.INVARIANT_1, Check.INVARIANT_2, Check.EQUALITY),
    Fault(
        name="union-branch-not-in-id",
        area="set operations",
        wrong="The row id of UNION ALL does not name the branch that the row comes from.",
        plant=in_row_ids(branch=lambda branch, child: child),
        caught_by=(Check.ROW_IDS, Check.INVARIANT_1),
    ),
)
