"""Faults in which groups there are: their keys, their ids, and when they come and go; DISTINCT among them."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.faults.fault import Fault, in_operator
from campaign.faults.group_pieces import (
    group_fault,
    groups_at,
    keys_of,
    rows_at_t1,
    with_groups_at_t1,
    with_key_match,
)
from campaign.faults.pieces import OUTER, joins_in
from dynamic_tables.differentiate import grouping, outer_join
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.grouping import affected_keys, only_groups
from dynamic_tables.differentiate.row_id import ID, concat
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text
from dynamic_tables.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
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


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        group_fault(
            "group-dropped-at-zero-sum",
            "a group whose SUM is 0 is taken for empty",
            with_groups_at_t1(dropped_at_zero_sum),
            Check.EQUALITY,
        ),
        group_fault(
            "empty-group-kept",
            "a group that lost its last row gets no DELETE",
            emptied_group_kept,
            Check.EQUALITY,
        ),
        group_fault(
            "null-group-by-equality",
            "the group of key NULL is looked up with =",
            with_key_match(by_equality),
            Check.EQUALITY,
        ),
        group_fault(
            "padded-group-key-by-equality",
            "a group whose key comes from a pad is looked up with =",
            with_key_match(by_equality_over_outer),
            Check.EQUALITY,
        ),
        group_fault(
            "nan-group-not-found",
            "affected groups are found with IEEE equality",
            with_key_match(without_nan),
            Check.EQUALITY,
            core=False,
        ),
        group_fault(
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
