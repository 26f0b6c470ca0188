"""Faults in grouping, DISTINCT and scalar aggregation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, in_operator
from campaign.faults.group_pieces import (
    computed,
    groups_at,
    keys_of,
    replaced,
    rows_at_t1,
    ungrouped,
    with_groups_at_t1,
    with_key_match,
)
from campaign.faults.pieces import OUTER, all_of, among, deletes, full_delta, ids, inserts, joins_in
from dynamic_tables.differentiate import grouping, outer_join
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.grouping import affected_keys, grouped, only_groups
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.row_id import ID, concat
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text, walk
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, DOUBLE, Kind
from workload.results import Check


def by_equality(key: Expr, other: Col, node: Aggregate) -> Expr:
    """`=`: a NULL key is not found."""
    return Fn("=", (key, other), BOOLEAN)


def by_equality_over_outer(key: Expr, other: Col, node: Aggregate) -> Expr:
    """`=` where the key may come from a pad."""
    name = "=" if joins_in(node.child, OUTER) else "is not distinct from"
    return Fn(name, (key, other), BOOLEAN)


def without_nan(key: Expr, other: Col, node: Aggregate) -> Expr:
    """IEEE equality: NaN equals nothing."""
    same_value = Fn("is not distinct from", (key, other), BOOLEAN)
    if key.type.kind is not Kind.DOUBLE:
        return same_value
    number = Fn("is distinct from", (key, Lit(float("nan"), DOUBLE)), BOOLEAN)
    return Fn("and", (same_value, number), BOOLEAN)


def dropped_at_zero_sum(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """A group whose SUM is 0 is taken for empty."""
    groups = groups_at(node, affected, At.T1, want_ids, d)
    for name, agg in node.aggregates:
        if agg.name == "SUM" and agg.type == BIGINT:
            groups = Filter(groups, Fn("is distinct from", (Col(name, agg.type), Lit(0, agg.type)), BOOLEAN))
    return groups


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


def emptied_group_kept(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
    """A group that lost its last row gets no DELETE."""
    affected = affected_keys(d.delta(node.child, False), keys_of(node))
    alive = affected_keys(rows_at_t1(node, affected, d), keys_of(node))
    return UnionAll(
        (
            outer_join.marked(groups_at(node, alive, At.T0, want_ids, d), "DELETE"),
            outer_join.marked(groups_at(node, affected, At.T1, want_ids, d), "INSERT"),
        )
    )


def stored_under_other_ids(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
    """The change set's ids are made otherwise than the stored ones."""
    changes = grouping.delta_aggregate(node, want_ids, d)
    if not want_ids:
        return changes
    return Project(
        changes, tuple((c.name, concat(text("h"), ID) if c.name == ID.name else c) for c in columns(changes))
    )


def value_lingers(node: Distinct, want_ids: bool, d: Differentiation) -> Plan:
    """DISTINCT gives no DELETE when the last duplicate goes."""
    keys: list[Expr] = list(columns(node))
    affected = affected_keys(d.delta(node.child, False), keys)
    alive = affected_keys(only_groups(d.state(node.child, At.T1, False), keys, affected), keys)

    def part(at: At, rows: Plan) -> Plan:
        return grouping.distinct(node, only_groups(d.state(node.child, at, False), keys, rows), want_ids, d)

    return UnionAll(
        (outer_join.marked(part(At.T0, alive), "DELETE"), outer_join.marked(part(At.T1, affected), "INSERT"))
    )


def scalar_row_lost(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
    """An aggregate without GROUP BY loses its row when its input becomes empty."""
    counted = Aggregate(node.child, (), (*node.aggregates, ("$ROWS", Agg("COUNT", None, False, BIGINT))))

    def part(at: At) -> Plan:
        rows = grouping.state_aggregate(counted, at, want_ids, d)
        if at is At.T1:
            rows = Filter(rows, Fn(">", (Col("$ROWS", BIGINT), Lit(0, BIGINT)), BOOLEAN))
        return Project(rows, tuple((c.name, c) for c in columns(rows) if c.name != "$ROWS"))

    return outer_join.both_ends(part)


def _group(
    name: str,
    wrong: str,
    rule: Callable[[Aggregate, bool, Differentiation], Plan],
    *checks: Check,
    core: bool = True,
) -> Fault:
    plant = in_operator("grouped aggregation", delta=rule)
    return Fault(name=name, area="aggregates", wrong=wrong, plant=plant, caught_by=checks, core=core)


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        _group(
            "group-dropped-at-zero-sum",
            "a group whose SUM is 0 is taken for empty",
            with_groups_at_t1(dropped_at_zero_sum),
            Check.EQUALITY,
        ),
        _group(
            "empty-group-kept",
            "a group that lost its last row gets no DELETE",
            emptied_group_kept,
            Check.EQUALITY,
        ),
        _group(
            "extremum-not-rescanned",
            "MIN and MAX combine the old value with the inserted rows only",
            with_groups_at_t1(extremum_not_rescanned),
            Check.EQUALITY,
        ),
        _group(
            "null-group-by-equality",
            "the group of key NULL is looked up with =",
            with_key_match(by_equality),
            Check.EQUALITY,
        ),
        _group(
            "padded-group-key-by-equality",
            "a group whose key comes from a pad is looked up with =",
            with_key_match(by_equality_over_outer),
            Check.EQUALITY,
        ),
        _group(
            "nan-group-not-found",
            "affected groups are found with IEEE equality",
            with_key_match(without_nan),
            Check.EQUALITY,
            core=False,
        ),
        _group(
            "aggregate-columns-crossed",
            "one aggregate shows the value of another",
            with_groups_at_t1(columns_crossed),
            Check.EQUALITY,
        ),
        _group(
            "count-distinct-additive",
            "COUNT(DISTINCT) counts every value it sees",
            with_groups_at_t1(count_distinct_additive),
            Check.EQUALITY,
        ),
        _group(
            "case-sum-new-branch",
            "SUM(CASE ..) takes the old half off with the new half's branch",
            with_groups_at_t1(case_sum_new_branch),
            Check.EQUALITY,
        ),
        _group(
            "nested-count-counts-rows",
            "COUNT(*) over a grouped sub-query counts source rows",
            with_groups_at_t1(nested_count_counts_rows),
            Check.EQUALITY,
        ),
        _group(
            "avg-of-averages",
            "AVG is combined without counts",
            with_groups_at_t1(average_of_averages),
            Check.EQUALITY,
            core=False,
        ),
        _group(
            "outer-count-star-zeroed",
            "COUNT(*) over a left join does not count pads",
            with_groups_at_t1(count_star_zeroed),
            Check.EQUALITY,
        ),
        _group(
            "sum-of-pads-zero",
            "SUM over a padded column gives 0, not NULL",
            with_groups_at_t1(sum_of_pads_zero),
            Check.EQUALITY,
        ),
        _group(
            "id-differs-from-stored",
            "the change set's row ids are made otherwise than the stored ones",
            stored_under_other_ids,
            Check.INVARIANT_2,
            Check.ROW_IDS,
        ),
        Fault(
            name="scalar-aggregate-row-lost",
            area="aggregates",
            wrong="an aggregate without GROUP BY loses its row over no rows",
            plant=in_operator("scalar aggregation", delta=scalar_row_lost),
            caught_by=(Check.EQUALITY,),
        ),
        Fault(
            name="distinct-value-lingers",
            area="set operations",
            wrong="DISTINCT gives no DELETE when the last duplicate goes",
            plant=in_operator("distinct", delta=value_lingers),
            caught_by=(Check.EQUALITY,),
        ),
    )
}
