"""Faults in which groups and distinct rows exist: their keys, their ids, when they appear and disappear."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps

from campaign.faults.fault import rule_fault
from campaign.faults.group_pieces import Grouping, at_t1, group_fault, groups_from, keys_of
from campaign.faults.pieces import OUTER, all_of, equal, inserts, joins_in, recomputed, same_value
from dynamic_tables.differentiate import copies, grouping
from dynamic_tables.differentiate.differentiation import At, DeltaRule, Differentiation
from dynamic_tables.differentiate.grouping import distinct
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import both_ends, marked
from dynamic_tables.differentiate.row_id import ID, concat
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text
from dynamic_tables.plan.nodes import (
    DELETE,
    INSERT,
    Aggregate,
    Distinct,
    ExceptAll,
    Filter,
    IntersectAll,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, DOUBLE, Kind
from workload.outcomes.results import Check


def matched_by(match: Callable[[Expr, Col, Aggregate], Expr]) -> DeltaRule:
    """The rule of grouped aggregation where `match` compares the keys of rows and affected groups."""

    @wraps(match)
    def rule(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
        affected = Grouping(node, want_ids, d).affected
        on = all_of([match(key, Col(f"$KEY{i}", key.type), node) for i, key in enumerate(keys_of(node))])
        return both_ends(
            lambda at: groups_from(node, SemiJoin(d.state(node.child, at, False), affected, on), want_ids, d)
        )

    return rule


def by_equality(key: Expr, other: Col, node: Aggregate) -> Expr:
    """Affected groups are looked up with `=`, which does not find the group of key NULL."""
    return equal(key, other)


def by_equality_over_outer(key: Expr, other: Col, node: Aggregate) -> Expr:
    """Over an outer join, affected groups are looked up with `=`: a key from a pad is not found."""
    return equal(key, other) if joins_in(node.child, OUTER) else same_value(key, other)


def without_nan(key: Expr, other: Col, node: Aggregate) -> Expr:
    """Affected groups are looked up with the equality of IEEE 754, where NaN equals nothing."""
    if key.type.kind is not Kind.DOUBLE:
        return same_value(key, other)
    number = Fn("is distinct from", (key, Lit(float("nan"), DOUBLE)), BOOLEAN)
    return all_of([same_value(key, other), number])


def dropped_at_zero_sum(group: Grouping) -> Plan:
    """A group whose SUM is 0 counts as empty and disappears."""
    groups = group.groups(At.T1)
    for name, agg in group.node.aggregates:
        if agg.name == "SUM" and agg.type == BIGINT:
            groups = Filter(groups, Fn("is distinct from", (Col(name, agg.type), Lit(0, agg.type)), BOOLEAN))
    return groups


def emptied_group_stays(node: Aggregate | Distinct, want_ids: bool, d: Differentiation) -> Plan:
    """A group, or a value of DISTINCT, that loses its last row gets no DELETE."""
    keys = keys_of(node)

    def rows(at: At, affected: Plan) -> Plan:
        return only_groups(d.state(node.child, at, False), keys, affected)

    affected = affected_keys(d.delta(node.child, False), keys)
    alive = affected_keys(rows(At.T1, affected), keys)
    old = groups_from(node, rows(At.T0, alive), want_ids, d)
    new = groups_from(node, rows(At.T1, affected), want_ids, d)
    return UnionAll((marked(old, DELETE), marked(new, INSERT)))


def stored_under_other_ids(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
    """The change set computes the row ids of groups in another way than the first contents did."""
    changes = grouping.delta_aggregate(node, want_ids, d)
    return recomputed(changes, {ID.name: concat(text("h"), ID)}) if want_ids else changes


def copies_as_one(node: ExceptAll | IntersectAll, want_ids: bool, d: Differentiation) -> Plan:
    """The changes of EXCEPT ALL and INTERSECT ALL are computed as without ALL: copies do not count."""
    left, right = node.branches
    return copies.delta_copies(type(node)((Distinct(left), Distinct(right))), want_ids, d)


def changes_of_the_left_alone(node: ExceptAll | IntersectAll, want_ids: bool, d: Differentiation) -> Plan:
    """EXCEPT and INTERSECT compute anew only the values that changed in their first branch."""
    left, right = node.branches
    values: list[Expr] = list(columns(node))
    affected = affected_keys(Project(d.delta(left, False), same(left)), values)

    def part(at: At) -> Plan:
        first, second = (
            only_groups(d.state(branch, at, False), values, affected) for branch in (left, right)
        )
        return copies.staying(node, first, second, want_ids, d)

    return both_ends(part)


def right_in_the_past(node: ExceptAll | IntersectAll, want_ids: bool, d: Differentiation) -> Plan:
    """Of EXCEPT and INTERSECT the second branch is read at t0 for both ends."""
    right = node.branches[1]
    changed = UnionAll(tuple(Project(d.delta(branch, False), same(branch)) for branch in node.branches))
    values: list[Expr] = list(columns(node))
    affected = affected_keys(changed, values)
    second = only_groups(d.state(right, At.T0, False), values, affected)

    def part(at: At) -> Plan:
        first = only_groups(d.state(node.branches[0], at, False), values, affected)
        return copies.staying(node, first, second, want_ids, d)

    return both_ends(part)


def values_only_come(node: Distinct, want_ids: bool, d: Differentiation) -> Plan:
    """Of DISTINCT only the values of rows that come are looked at, not those of rows that go."""
    keys = keys_of(node)
    affected = affected_keys(inserts(d.delta(node.child, False)), keys)
    return both_ends(
        lambda at: distinct(node, only_groups(d.state(node.child, at, False), keys, affected), want_ids, d)
    )


def scalar_row_lost(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
    """An aggregate without GROUP BY loses its one row when its input becomes empty."""
    counted = Aggregate(node.child, (), (*node.aggregates, ("$ROWS", Agg("COUNT", None, False, BIGINT))))

    def part(at: At) -> Plan:
        rows = grouping.state_aggregate(counted, at, want_ids, d)
        if at is At.T1:
            rows = Filter(rows, Fn(">", (Col("$ROWS", BIGINT), Lit(0, BIGINT)), BOOLEAN))
        return recomputed(rows, {}, [c for c in columns(rows) if c.name != "$ROWS"])

    return both_ends(part)


_of_sets = partial(rule_fault, area="set operations", operators=("except all", "intersect all"))
_distinct = partial(rule_fault, area="set operations", operators=("distinct",))

FAULTS = (
    group_fault("group-dropped-at-zero-sum", at_t1(dropped_at_zero_sum), Check.EQUALITY),
    group_fault("empty-group-kept", emptied_group_stays, Check.EQUALITY),
    group_fault("null-group-by-equality", matched_by(by_equality), Check.EQUALITY),
    group_fault("padded-group-key-by-equality", matched_by(by_equality_over_outer), Check.EQUALITY),
    group_fault("nan-group-not-found", matched_by(without_nan), Check.EQUALITY, core=False),
    group_fault("id-differs-from-stored", stored_under_other_ids, Check.INVARIANT_2, Check.ROW_IDS),
    group_fault(
        "scalar-aggregate-row-lost", scalar_row_lost, Check.EQUALITY, operators=("scalar aggregation",)
    ),
    _of_sets("set-operation-all-as-set", copies_as_one, Check.EQUALITY),
    _of_sets("set-operation-ignores-the-right", changes_of_the_left_alone, Check.EQUALITY),
    _of_sets("set-operation-right-at-t0", right_in_the_past, Check.EQUALITY, core=False),
    _distinct("distinct-values-only-come", values_only_come, Check.EQUALITY, core=False),
    _distinct("distinct-value-lingers", emptied_group_stays, Check.EQUALITY),
)
