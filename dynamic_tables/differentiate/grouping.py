"""Grouping and DISTINCT: affected groups are computed anew at both ends of the interval.

A group is affected if a changed row has its key. Its old row is a DELETE and its new one an INSERT; the
others are not read. The paper gives this rule for window functions (section 5.5.1). It is exact for every
aggregate, MIN and MAX included; its cost is that all rows of the affected groups are read, at t0 and at t1.
A grouping at the top of a query can often do better (`stored_groups`); below the top there are no stored
groups to start from.
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr
from dynamic_tables.plan.nodes import Aggregate, Distinct, Plan, Project, columns


def state_aggregate(node: Aggregate, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the groups at one end of the interval, identified by their keys."""
    return grouped(node, d.state(node.child, at, False), ids, d)


def grouped(node: Aggregate, child: Plan, ids: bool, d: Differentiation) -> Plan:
    """Returns the aggregation of `child`, with `$ROW_ID` if `ids`."""
    result = Aggregate(child, node.keys, node.aggregates)
    if not ids:
        return result
    return Project(result, same(result) + id_item(ids, group_id(node, d)))


def group_id(node: Aggregate, d: Differentiation) -> Expr:
    """Returns the row id of a group, made of its key; without keys it is a constant."""
    return d.row_ids.key([Col(name, key.type) for name, key in node.keys])


def delta_aggregate(node: Aggregate, ids: bool, d: Differentiation) -> Plan:
    """Returns gamma(Q@t0 restricted to affected groups) as DELETE, and the same at t1 as INSERT.

    A group is affected if a changed row of Q, old or new image, has its key. Keys are compared null-safely:
    NULL is one group, NaN is one group, and -0.0 and 0.0 are one group.
    """
    d.met(Branch.GROUPING_BELOW)
    keys = [key for _, key in node.keys]
    affected = affected_keys(d.delta(node.child, False), keys)
    return both_ends(
        lambda at: grouped(node, only_groups(d.state(node.child, at, False), keys, affected), ids, d)
    )


def delta_scalar_aggregate(node: Aggregate, ids: bool, d: Differentiation) -> Plan:
    """Returns the changes of a grouping without keys: its one row at t0 as DELETE, and at t1 as INSERT.

    Every change affects this one group, so there is nothing to restrict. Equal rows cancel at the root.
    """
    d.met(Branch.GROUPING_OF_ALL)
    return both_ends(lambda at: state_aggregate(node, at, ids, d))


def state_distinct(node: Distinct, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns each row once, identified by all its values."""
    return distinct(node, d.state(node.child, at, False), ids, d)


def distinct(node: Distinct, child: Plan, ids: bool, d: Differentiation) -> Plan:
    """Returns DISTINCT of `child`, with `$ROW_ID` if `ids`."""
    result = Distinct(child)
    return Project(result, same(result) + id_item(ids, d.row_ids.key(columns(node)))) if ids else result


def delta_distinct(node: Distinct, ids: bool, d: Differentiation) -> Plan:
    """Returns the changes of DISTINCT, which is a grouping by all columns without an aggregate."""
    d.met(Branch.DISTINCT_BELOW)
    keys: list[Expr] = list(columns(node))
    affected = affected_keys(d.delta(node.child, False), keys)
    return both_ends(
        lambda at: distinct(node, only_groups(d.state(node.child, at, False), keys, affected), ids, d)
    )
