"""Faults in the aggregates of groups: the groups are right, their values are wrong."""

from __future__ import annotations

from dataclasses import replace

from campaign.faults.fault import Fault
from campaign.faults.group_pieces import Grouping, at_t1, group_fault
from campaign.faults.pieces import (
    OUTER,
    all_of,
    among,
    deletes,
    ids,
    inserts,
    joins_in,
    recomputed,
    same_value,
)
from dynamic_tables.differentiate.differentiation import At
from dynamic_tables.differentiate.linear import same
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, walk
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import Aggregate, Join, JoinKind, Plan, Project, UnionAll, columns
from dynamic_tables.plan.types import DOUBLE, Kind
from workload.outcomes.results import Check

OLD, NEW = "$OLD_", "$NEW_"
"""Prefixes of the columns of a second grouping that is joined with the right one."""


def columns_crossed(group: Grouping) -> Plan:
    """Of two aggregates of one type, the first shows the value of the second."""
    by_type: dict[str, list[str]] = {}
    for name, agg in group.node.aggregates:
        by_type.setdefault(str(agg.type), []).append(name)
    crossed = {names[0]: names[1] for names in by_type.values() if len(names) > 1}
    return group.computed(lambda name, agg: Col(crossed.get(name, name), agg.type))


def count_distinct_additive(group: Grouping) -> Plan:
    """COUNT(DISTINCT x) counts every row with a value, also of a value counted before."""
    additive = group.with_aggregates(lambda agg: replace(agg, distinct=agg.distinct and agg.name != "COUNT"))
    return group.from_rows(group.rows(At.T1), additive)


def sum_of_pads_zero(group: Grouping) -> Plan:
    """SUM over a padded column is 0 where it should be NULL."""
    if not joins_in(group.node.child, OUTER):
        return group.groups(At.T1)

    def zero(name: str, agg: Agg) -> Expr:
        column = Col(name, agg.type)
        if agg.name != "SUM" or agg.type.kind is Kind.DECIMAL:
            return column
        value: int | float = 0.0 if agg.type == DOUBLE else 0
        return Fn("coalesce", (column, Lit(value, agg.type)), agg.type)

    return group.computed(zero)


def count_star_zeroed(group: Grouping) -> Plan:
    """COUNT(*) over a left join does not count padded rows: it counts a column of the padded side."""
    child = group.node.child
    visible = {column.name for column in columns(child)}
    left_joins = joins_in(child, frozenset({JoinKind.LEFT}))
    padded = [c for join in left_joins for c in columns(join.right) if c.name in visible]
    if not padded:
        return group.groups(At.T1)
    counted = group.with_aggregates(lambda agg: replace(agg, arg=padded[0]) if agg.arg is None else agg)
    return group.from_rows(group.rows(At.T1), counted)


def renamed(rows: Plan, node: Aggregate, aggregates: list[tuple[str, Agg]], prefix: str) -> Aggregate:
    """Another grouping of some rows, with a prefix before the names of its columns."""
    return Aggregate(
        rows,
        tuple((prefix + name, key) for name, key in node.keys),
        tuple((prefix + name, agg) for name, agg in aggregates),
    )


def joined(kind: JoinKind, groups: Plan, other: Plan, node: Aggregate, prefix: str) -> Join:
    """Groups beside another grouping of the same keys, from `renamed`."""
    same_keys = [same_value(Col(name, key.type), Col(prefix + name, key.type)) for name, key in node.keys]
    return Join(kind, groups, other, all_of(same_keys))


def inserted(group: Grouping) -> Plan:
    """The rows that the interval inserts into the input of a grouping."""
    child = group.node.child
    return Project(inserts(group.d.delta(child, False)), same(child))


def extremum_not_rescanned(group: Grouping) -> Plan:
    """MIN and MAX combine the old value with inserted rows only: a deleted extremum stays."""
    node = group.node
    extremes = [(name, agg) for name, agg in node.aggregates if agg.name in ("MIN", "MAX")]
    if not extremes:
        return group.groups(At.T1)
    stale = renamed(UnionAll((group.rows(At.T0), inserted(group))), node, extremes, OLD)
    groups = group.groups(At.T1)
    both = joined(JoinKind.INNER, groups, stale, node, OLD)
    return recomputed(both, {name: Col(OLD + name, agg.type) for name, agg in extremes}, columns(groups))


def average_of_averages(group: Grouping) -> Plan:
    """The new AVG is the mean of the old average and the average of the inserted rows, without counts."""
    node = group.node
    averages = [(name, agg) for name, agg in node.aggregates if agg.name == "AVG"]
    if not averages:
        return group.groups(At.T1)
    old = renamed(group.rows(At.T0), node, averages, OLD)
    new = renamed(inserted(group), node, averages, NEW)
    groups = group.groups(At.T1)
    with_old = joined(JoinKind.LEFT, groups, old, node, OLD)
    both = joined(JoinKind.LEFT, with_old, new, node, NEW)

    def mean(name: str) -> Expr:
        total = Fn("+", (Col(OLD + name, DOUBLE), Col(NEW + name, DOUBLE)), DOUBLE)
        half = Fn("/", (total, Lit(2.0, DOUBLE)), DOUBLE)
        return Fn("coalesce", (half, Col(name, DOUBLE)), DOUBLE)

    return recomputed(both, {name: mean(name) for name, _ in averages}, columns(groups))


def case_sum_new_branch(group: Grouping) -> Plan:
    """SUM(CASE ..) subtracts the old version of an updated row by the branch of its new version."""

    def over_case(agg: Agg) -> bool:
        parts = () if agg.name != "SUM" or agg.arg is None else walk(agg.arg)
        return any(isinstance(part, Fn) and part.name == CASE for part in parts)

    node, d = group.node, group.d
    if not any(over_case(agg) for _, agg in node.aggregates):
        return group.groups(At.T1)
    # The effect: an updated row goes on counting with its old values.
    changes = d.delta(node.child, True)
    updated = among(deletes(changes), ids(inserts(changes)))
    untouched = among(d.state(node.child, At.T1, True), ids(updated), anti=True)
    rows = UnionAll((Project(untouched, same(node.child)), Project(updated, same(node.child))))
    return group.from_rows(group.of_affected(rows))


def nested_count_counts_rows(group: Grouping) -> Plan:
    """COUNT(*) over a grouped sub-query counts the rows below the sub-query, not its groups."""
    flat = _ungrouped(group.node.child)
    if flat is None or not any(agg.arg is None for _, agg in group.node.aggregates):
        return group.groups(At.T1)
    return group.from_rows(group.of_affected(group.d.state(flat, At.T1, False)))


def _ungrouped(plan: Plan) -> Plan | None:
    """A plan without the grouping at its top, with NULL for its aggregates; None where it has none."""
    match plan:
        case Project(child, items):
            flat = _ungrouped(child)
            return None if flat is None else Project(flat, items)
        case Aggregate(child, keys, aggregates) if keys:
            nulls: tuple[tuple[str, Expr], ...] = tuple(
                (name, Lit(None, agg.type)) for name, agg in aggregates
            )
            return Project(child, keys + nulls)
        case _:
            return None


FAULTS: tuple[Fault, ...] = (
    group_fault("extremum-not-rescanned", at_t1(extremum_not_rescanned), Check.EQUALITY),
    group_fault("aggregate-columns-crossed", at_t1(columns_crossed), Check.EQUALITY),
    group_fault("count-distinct-additive", at_t1(count_distinct_additive), Check.EQUALITY),
    group_fault("case-sum-new-branch", at_t1(case_sum_new_branch), Check.EQUALITY),
    group_fault("nested-count-counts-rows", at_t1(nested_count_counts_rows), Check.EQUALITY),
    group_fault("avg-of-averages", at_t1(average_of_averages), Check.EQUALITY, core=False),
    group_fault("outer-count-star-zeroed", at_t1(count_star_zeroed), Check.EQUALITY),
    group_fault("sum-of-pads-zero", at_t1(sum_of_pads_zero), Check.EQUALITY),
)
