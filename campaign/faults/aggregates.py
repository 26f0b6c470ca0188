"""Faults in the aggregates of groups: the right groups with wrong values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.faults.fault import Fault
from campaign.faults.group_pieces import (
    computed,
    group_fault,
    groups_at,
    keys_of,
    replaced,
    rows_at_t1,
    ungrouped,
    with_groups_at_t1,
)
from campaign.faults.pieces import OUTER, all_of, among, deletes, full_delta, ids, inserts, joins_in
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.grouping import grouped, only_groups
from dynamic_tables.differentiate.linear import same
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, walk
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    Aggregate,
    Join,
    JoinKind,
    Plan,
    Project,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import BOOLEAN, DOUBLE, Kind
from workload.results import Check


def columns_crossed(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """Of two aggregates of one type the first shows the value of the second."""
    by_type: dict[str, list[str]] = {}
    for name, agg in node.aggregates:
        by_type.setdefault(str(agg.type), []).append(name)
    crossed = {names[0]: names[1] for names in by_type.values() if len(names) > 1}
    rows = rows_at_t1(node, affected, d)
    return computed(node, rows, lambda name, agg: Col(crossed.get(name, name), agg.type), want_ids, d)


def count_distinct_additive(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """COUNT(DISTINCT x) counts every value it sees, present or not."""
    additive = replaced(node, lambda agg: replace(agg, distinct=agg.distinct and agg.name != "COUNT"))
    return grouped(additive, rows_at_t1(node, affected, d), want_ids, d)


def sum_of_pads_zero(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """SUM over a padded column gives 0 where it is NULL."""
    if not joins_in(node.child, OUTER):
        return groups_at(node, affected, At.T1, want_ids, d)

    def zero(name: str, agg: Agg) -> Expr:
        column = Col(name, agg.type)
        if agg.name != "SUM" or agg.type.kind is Kind.DECIMAL:
            return column
        value: int | float = 0.0 if agg.type == DOUBLE else 0
        return Fn("coalesce", (column, Lit(value, agg.type)), agg.type)

    return computed(node, rows_at_t1(node, affected, d), zero, want_ids, d)


def count_star_zeroed(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """COUNT(*) over a left join counts a column of the padded side."""
    visible = {column.name: column for column in columns(node.child)}
    padded = [
        c
        for join in joins_in(node.child, frozenset({JoinKind.LEFT}))
        for c in columns(join.right)
        if c.name in visible
    ]
    if not padded:
        return groups_at(node, affected, At.T1, want_ids, d)
    counted = replaced(node, lambda agg: replace(agg, arg=padded[0]) if agg.arg is None else agg)
    return grouped(counted, rows_at_t1(node, affected, d), want_ids, d)


def extremum_not_rescanned(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """MIN and MAX combine the old value with the inserted rows only."""
    extremes = tuple((f"$OLD_{name}", agg) for name, agg in node.aggregates if agg.name in ("MIN", "MAX"))
    if not extremes:
        return groups_at(node, affected, At.T1, want_ids, d)
    keys = keys_of(node)
    old = only_groups(d.state(node.child, At.T0, False), keys, affected)
    new = Project(inserts(d.delta(node.child, False)), same(node.child))
    stale = Aggregate(UnionAll((old, new)), tuple((f"$OLD_{name}", key) for name, key in node.keys), extremes)
    groups = grouped(node, rows_at_t1(node, affected, d), want_ids, d)
    on = all_of(
        [
            Fn("is not distinct from", (Col(n, k.type), Col(f"$OLD_{n}", k.type)), BOOLEAN)
            for n, k in node.keys
        ]
    )
    joined = Join(JoinKind.INNER, groups, stale, on)
    taken = {name.removeprefix("$OLD_") for name, _ in extremes}
    return Project(
        joined,
        tuple((c.name, Col(f"$OLD_{c.name}", c.type) if c.name in taken else c) for c in columns(groups)),
    )


def average_of_averages(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """The new AVG is the mean of the stored average and that of the inserted rows."""
    averages = tuple((name, agg) for name, agg in node.aggregates if agg.name == "AVG")
    if not averages:
        return groups_at(node, affected, At.T1, want_ids, d)
    keys = keys_of(node)
    new = Project(inserts(d.delta(node.child, False)), same(node.child))
    parts = []
    for prefix, rows in (
        ("$OLD_", only_groups(d.state(node.child, At.T0, False), keys, affected)),
        ("$NEW_", new),
    ):
        parts.append(
            Aggregate(
                rows,
                tuple((prefix + n, k) for n, k in node.keys),
                tuple((prefix + n, agg) for n, agg in averages),
            )
        )
    groups: Plan = grouped(node, rows_at_t1(node, affected, d), want_ids, d)
    joined: Plan = groups
    for prefix, part in zip(("$OLD_", "$NEW_"), parts, strict=True):
        on = all_of(
            [
                Fn("is not distinct from", (Col(n, k.type), Col(prefix + n, k.type)), BOOLEAN)
                for n, k in node.keys
            ]
        )
        joined = Join(JoinKind.LEFT, joined, part, on)

    def mean(name: str) -> Expr:
        old, fresh, right = Col(f"$OLD_{name}", DOUBLE), Col(f"$NEW_{name}", DOUBLE), Col(name, DOUBLE)
        half = Fn("/", (Fn("+", (old, fresh), DOUBLE), Lit(2.0, DOUBLE)), DOUBLE)
        return Fn("coalesce", (half, right), DOUBLE)

    taken = {name for name, _ in averages}
    return Project(joined, tuple((c.name, mean(c.name) if c.name in taken else c) for c in columns(groups)))


def case_sum_new_branch(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """SUM(CASE ..) takes an updated row's old half off with the branch of its new half: the sum stays."""

    def over_case(agg: Agg) -> bool:
        return (
            agg.name == "SUM"
            and agg.arg is not None
            and any(isinstance(p, Fn) and p.name == CASE for p in walk(agg.arg))
        )

    if not any(over_case(agg) for _, agg in node.aggregates):
        return groups_at(node, affected, At.T1, want_ids, d)
    changes = full_delta(node.child, d)
    updated = among(deletes(changes), ids(inserts(changes)))
    untouched = among(d.state(node.child, At.T1, True), ids(updated), anti=True)
    rows = UnionAll((Project(untouched, same(node.child)), Project(updated, same(node.child))))
    return grouped(node, only_groups(rows, keys_of(node), affected), want_ids, d)


def nested_count_counts_rows(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """COUNT(*) over a grouped sub-query counts source rows, not inner groups."""
    flat = ungrouped(node.child)
    if flat is None or not any(agg.arg is None for _, agg in node.aggregates):
        return groups_at(node, affected, At.T1, want_ids, d)
    return grouped(node, only_groups(d.state(flat, At.T1, False), keys_of(node), affected), want_ids, d)


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        group_fault(
            "extremum-not-rescanned",
            "MIN and MAX combine the old value with the inserted rows only",
            with_groups_at_t1(extremum_not_rescanned),
            Check.EQUALITY,
        ),
        group_fault(
            "aggregate-columns-crossed",
            "one aggregate shows the value of another",
            with_groups_at_t1(columns_crossed),
            Check.EQUALITY,
        ),
        group_fault(
            "count-distinct-additive",
            "COUNT(DISTINCT) counts every value it sees",
            with_groups_at_t1(count_distinct_additive),
            Check.EQUALITY,
        ),
        group_fault(
            "case-sum-new-branch",
            "SUM(CASE ..) takes the old half off with the new half's branch",
            with_groups_at_t1(case_sum_new_branch),
            Check.EQUALITY,
        ),
        group_fault(
            "nested-count-counts-rows",
            "COUNT(*) over a grouped sub-query counts source rows",
            with_groups_at_t1(nested_count_counts_rows),
            Check.EQUALITY,
        ),
        group_fault(
            "avg-of-averages",
            "AVG is combined without counts",
            with_groups_at_t1(average_of_averages),
            Check.EQUALITY,
            core=False,
        ),
        group_fault(
            "outer-count-star-zeroed",
            "COUNT(*) over a left join does not count pads",
            with_groups_at_t1(count_star_zeroed),
            Check.EQUALITY,
        ),
        group_fault(
            "sum-of-pads-zero",
            "SUM over a padded column gives 0, not NULL",
            with_groups_at_t1(sum_of_pads_zero),
            Check.EQUALITY,
        ),
    )
}
