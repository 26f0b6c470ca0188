"""Grouping and DISTINCT: affected groups are computed anew at both ends.

The same rule that the paper gives for window functions (section 5.5.1): exact for every aggregate,
MIN and MAX included, at the price of reading whole groups.
"""

from __future__ import annotations

from functools import reduce

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.expressions import Col, Expr, Fn
from dynamic_tables.plan.nodes import Aggregate, Distinct, Plan, Project, SemiJoin, columns
from dynamic_tables.plan.types import BOOLEAN


def state_aggregate(node: Aggregate, at: At, ids: bool, d: Differentiation) -> Plan:
    """The groups of a state, identified by their keys."""
    return grouped(node, d.state(node.child, at, False), ids, d)


def grouped(node: Aggregate, child: Plan, ids: bool, d: Differentiation) -> Plan:
    """The aggregation of some rows, with ids."""
    result = Aggregate(child, node.keys, node.aggregates)
    if not ids:
        return result
    return Project(result, same(result) + id_item(ids, group_id(node, d)))


def group_id(node: Aggregate, d: Differentiation) -> Expr:
    """The id of a group."""
    return d.row_ids.key([Col(name, key.type) for name, key in node.keys]) if node.keys else d.row_ids.key([])


def delta_aggregate(node: Aggregate, ids: bool, d: Differentiation) -> Plan:
    """gamma(Q@t0 restricted to affected groups) as DELETE, the same at t1 as INSERT.

    A group is affected when a changed row of Q, old or new image, has its key. Keys are compared
    null-safely: NULL is one group, as is NaN, and -0.0 with 0.0.
    """
    keys = [key for _, key in node.keys]
    affected = affected_keys(d.delta(node.child, False), keys)
    return both_ends(
        lambda at: grouped(node, only_groups(d.state(node.child, at, False), keys, affected), ids, d)
    )


def delta_scalar_aggregate(node: Aggregate, ids: bool, d: Differentiation) -> Plan:
    """One row at both ends, also over no rows; it cancels where nothing changed."""
    return both_ends(lambda at: state_aggregate(node, at, ids, d))


def affected_keys(changes: Plan, keys: list[Expr]) -> Plan:
    """The distinct keys of changed rows, as `$KEY0`, `$KEY1`, ..."""
    return Distinct(Project(changes, tuple((f"$KEY{i}", key) for i, key in enumerate(keys))))


def only_groups(rows: Plan, keys: list[Expr], affected: Plan) -> Plan:
    """The rows whose key is among the affected ones."""
    matches: list[Expr] = [
        Fn("is not distinct from", (key, Col(f"$KEY{i}", key.type)), BOOLEAN) for i, key in enumerate(keys)
    ]
    return SemiJoin(rows, affected, reduce(lambda left, right: Fn("and", (left, right), BOOLEAN), matches))


def state_distinct(node: Distinct, at: At, ids: bool, d: Differentiation) -> Plan:
    """Each row once, identified by all its values."""
    return distinct(node, d.state(node.child, at, False), ids, d)


def distinct(node: Distinct, child: Plan, ids: bool, d: Differentiation) -> Plan:
    """DISTINCT of some rows, with ids."""
    result = Distinct(child)
    return Project(result, same(result) + id_item(ids, d.row_ids.key(columns(node)))) if ids else result


def delta_distinct(node: Distinct, ids: bool, d: Differentiation) -> Plan:
    """As grouping by all columns without an aggregate."""
    keys: list[Expr] = list(columns(node))
    affected = affected_keys(d.delta(node.child, False), keys)
    return both_ends(
        lambda at: distinct(node, only_groups(d.state(node.child, at, False), keys, affected), ids, d)
    )
