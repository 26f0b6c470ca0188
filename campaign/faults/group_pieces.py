"""What the faults in grouping are built from: one end, or the key match, replaced."""

from __future__ import annotations

from collections.abc import Callable

from campaign.faults.fault import Fault, in_operator
from campaign.faults.pieces import all_of
from dynamic_tables.differentiate import outer_join
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.grouping import affected_keys, grouped, only_groups
from dynamic_tables.plan.expressions import Agg, Col, Expr, Lit
from dynamic_tables.plan.nodes import (
    Aggregate,
    Plan,
    Project,
    SemiJoin,
    columns,
)
from workload.results import Check

At1 = Callable[[Aggregate, Plan, bool, Differentiation], Plan]
"""What the groups at t1 are taken to be: (node, affected keys, ids wanted, recursion)."""


def keys_of(node: Aggregate) -> list[Expr]:
    """The group keys."""
    return [key for _, key in node.keys]


def groups_at(node: Aggregate, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    """The affected groups at one end, rightly."""
    return grouped(node, only_groups(d.state(node.child, at, False), keys_of(node), affected), want_ids, d)


def with_groups_at_t1(change: At1) -> Callable[[Aggregate, bool, Differentiation], Plan]:
    """The derivative with the groups at t1 replaced."""

    def rule(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
        affected = affected_keys(d.delta(node.child, False), keys_of(node))
        return outer_join.both_ends(
            lambda at: (
                change(node, affected, want_ids, d)
                if at is At.T1
                else groups_at(node, affected, at, want_ids, d)
            )
        )

    return rule


def with_key_match(
    match: Callable[[Expr, Col, Aggregate], Expr],
) -> Callable[[Aggregate, bool, Differentiation], Plan]:
    """The derivative with affected groups found in another way."""

    def rule(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
        keys = keys_of(node)
        affected = affected_keys(d.delta(node.child, False), keys)
        on = all_of([match(key, Col(f"$KEY{i}", key.type), node) for i, key in enumerate(keys)])
        return outer_join.both_ends(
            lambda at: grouped(node, SemiJoin(d.state(node.child, at, False), affected, on), want_ids, d)
        )

    return rule


def replaced(node: Aggregate, change: Callable[[Agg], Agg]) -> Aggregate:
    """The node with other aggregates."""
    return Aggregate(node.child, node.keys, tuple((name, change(agg)) for name, agg in node.aggregates))


def computed(
    node: Aggregate, rows: Plan, change: Callable[[str, Agg], Expr], want_ids: bool, d: Differentiation
) -> Plan:
    """Groups whose aggregate columns go through an expression."""
    result = grouped(node, rows, want_ids, d)
    aggregates = dict(node.aggregates)
    return Project(
        result,
        tuple(
            (c.name, change(c.name, aggregates[c.name]) if c.name in aggregates else c)
            for c in columns(result)
        ),
    )


def rows_at_t1(node: Aggregate, affected: Plan, d: Differentiation) -> Plan:
    """The rows of affected groups at t1."""
    return only_groups(d.state(node.child, At.T1, False), keys_of(node), affected)


def ungrouped(plan: Plan) -> Plan | None:
    """A plan with the grouping at its top taken away; its aggregates become NULL."""
    match plan:
        case Project(child, items):
            flat = ungrouped(child)
            return None if flat is None else Project(flat, items)
        case Aggregate(child, keys, aggregates) if keys:
            nulls: tuple[tuple[str, Expr], ...] = tuple(
                (name, Lit(None, agg.type)) for name, agg in aggregates
            )
            return Project(child, keys + nulls)
        case _:
            return None


def group_fault(
    name: str,
    wrong: str,
    rule: Callable[[Aggregate, bool, Differentiation], Plan],
    *checks: Check,
    core: bool = True,
) -> Fault:
    """A fault in the rule of grouped aggregation."""
    plant = in_operator("grouped aggregation", delta=rule)
    return Fault(name=name, area="aggregates", wrong=wrong, plant=plant, caught_by=checks, core=core)
