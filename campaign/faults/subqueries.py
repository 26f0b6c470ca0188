"""Faults in what subqueries stand for: marks of members, joins with groups, anti joins."""

from __future__ import annotations

from functools import partial

from campaign.faults.fault import rule_fault
from campaign.faults.pieces import inserts
from dynamic_tables.differentiate import inner_join, linear, outer_join, semi_join
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.semi_join import delta_semi_join
from dynamic_tables.plan.expressions import Col, Fn
from dynamic_tables.plan.nodes import (
    ACTION,
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Mark,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
)
from dynamic_tables.plan.types import BOOLEAN, STRING
from workload.outcomes.results import Check


def marks_of_changed_rows(node: Mark, want_ids: bool, d: Differentiation) -> Plan:
    """EXISTS under OR is computed for changed rows alone: a match that comes or goes changes nothing."""
    return semi_join.marked_rows(node, d.delta(node.left, want_ids), d.state(node.right, At.T1, False))


def marks_in_the_past(node: Mark, want_ids: bool, d: Differentiation) -> Plan:
    """A changed row gets the mark that it had at t0, as long as no other row is marked anew."""
    rows = SemiJoin(d.state(node.left, At.T0, want_ids), d.delta(node.right, False), node.on)
    changed = semi_join.marked_rows(node, d.delta(node.left, want_ids), d.state(node.right, At.T0, False))
    ends = both_ends(lambda at: semi_join.marked_rows(node, rows, d.state(node.right, at, False)))
    return UnionAll((changed, ends))


def matches_only_come(node: Mark, want_ids: bool, d: Differentiation) -> Plan:
    """A mark is computed anew where a match comes, not where the last one goes."""
    rows = SemiJoin(d.state(node.left, At.T0, want_ids), inserts(d.delta(node.right, False)), node.on)
    changed = semi_join.marked_rows(node, d.delta(node.left, want_ids), d.state(node.right, At.T1, False))
    ends = both_ends(lambda at: semi_join.marked_rows(node, rows, d.state(node.right, at, False)))
    return UnionAll((changed, ends))


def marks_as_conditions(node: Mark, want_ids: bool, d: Differentiation) -> Plan:
    """EXISTS under OR or CASE is taken for a condition of its own: only the members are maintained."""
    return Filter(semi_join.delta_mark(node, want_ids, d), Col(node.name, BOOLEAN))


def or_as_union_all(node: Filter, want_ids: bool, d: Differentiation) -> Plan:
    """`p OR EXISTS (..)` is split into two branches joined by UNION ALL."""
    if not isinstance(node.child, Mark) or not isinstance(node.predicate, Fn) or node.predicate.name != "or":
        return linear.delta_filter(node, want_ids, d)
    changes = d.delta(node.child, want_ids)
    return UnionAll(tuple(Filter(changes, part) for part in node.predicate.args))


def groups_by_inner_join(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """A correlated aggregate is attached by an inner join: rows without a group get no value of nothing."""
    if not isinstance(node.right, Aggregate):
        return outer_join.delta_left_join(node, want_ids, d)
    return inner_join.delta_inner_join(node, want_ids, d)


def last_value_stays(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """When a scalar subquery becomes empty, its last value stays."""
    if not isinstance(node.right, Aggregate) or node.on is None:
        return outer_join.delta_left_join(node, want_ids, d)
    came = inserts(d.delta(node.right, False))
    rows = SemiJoin(d.state(node.left, At.T0, want_ids), came, node.on)
    changed = joined(
        node, d.delta(node.left, want_ids), d.state(node.right, At.T1, want_ids), want_ids, d, True
    )
    return UnionAll(
        (
            changed,
            both_ends(lambda at: joined(node, rows, d.state(node.right, at, want_ids), want_ids, d, False)),
        )
    )


def joined(node: Join, left: Plan, right: Plan, want_ids: bool, d: Differentiation, of_changes: bool) -> Plan:
    """The left join of some rows, or of changes, with their ids if they are wanted."""
    sides = inner_join.sides(left, right, want_ids)
    action = ((ACTION, Col(ACTION, STRING)),) if of_changes else ()
    ids = id_item(want_ids, d.row_ids.pair(inner_join.LEFT_ID, inner_join.RIGHT_ID))
    return Project(Join(JoinKind.LEFT, *sides, node.on), (*same(node), *action, *ids))


def once_for_each_value(node: SemiJoin, want_ids: bool, d: Differentiation) -> Plan:
    """A left row of an anti join is retracted once for each different right row that matches it."""
    if not node.anti:
        return delta_semi_join(node, want_ids, d)
    others = Distinct(Project(inserts(d.delta(node.right, False)), same(node.right)))
    left = d.state(node.left, At.T0, want_ids)
    rows = Project(Join(JoinKind.INNER, left, others, node.on), same(left))
    changed = SemiJoin(d.delta(node.left, want_ids), d.state(node.right, At.T1, False), node.on, node.anti)
    gone = SemiJoin(d.state(node.left, At.T0, want_ids), d.delta(node.right, False), node.on)
    once = both_ends(lambda at: SemiJoin(gone, d.state(node.right, at, False), node.on, node.anti))
    more = both_ends(lambda at: SemiJoin(rows, d.state(node.right, at, False), node.on, node.anti))
    return UnionAll((changed, once, more))


_fault = partial(rule_fault, area="semi and anti joins")

FAULTS = (
    _fault("mark-join-sees-left-only", marks_of_changed_rows, Check.EQUALITY, operators=("mark join",)),
    _fault("mark-of-new-rows-at-t0", marks_in_the_past, Check.EQUALITY, operators=("mark join",), core=False),
    _fault("mark-last-match-goes", matches_only_come, Check.EQUALITY, operators=("mark join",), core=False),
    _fault("unsupported-subquery-admitted", marks_as_conditions, Check.EQUALITY, operators=("mark join",)),
    _fault("exists-or-union-all", or_as_union_all, Check.EQUALITY, operators=("filter",)),
    _fault("correlated-aggregate-inner", groups_by_inner_join, Check.EQUALITY, operators=("left join",)),
    _fault("scalar-subquery-keeps-last", last_value_stays, Check.EQUALITY, operators=("left join",)),
    _fault("anti-distinct-on-pair", once_for_each_value, Check.INVARIANT_2, operators=("anti join",)),
)
