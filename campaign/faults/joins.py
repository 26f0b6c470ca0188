"""Faults in inner, cross and self joins."""

from __future__ import annotations

import re
from functools import partial

from campaign.faults.fault import rule_fault
from campaign.faults.pieces import equal
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, changed_pairs, delta_inner_join, sides
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Col, Expr, Fn
from dynamic_tables.plan.nodes import Filter, Join, JoinKind, Plan, Project, UnionAll, columns, sources
from workload.outcomes.results import Check


def two_terms(
    node: Join, left: Plan, right: Plan, want_ids: bool, d: Differentiation, second: Join | None = None
) -> Plan:
    """dL x `right` + `left` x dR, where the right rule takes R at t1 and L at t0.

    `second`: the join of the second term, if it is another one.
    """
    return UnionAll(
        (
            changed_pairs(node, d.delta(node.left, want_ids), right, want_ids, d),
            changed_pairs(second or node, left, d.delta(node.right, want_ids), want_ids, d),
        )
    )


def join_both_at_t1(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Both terms of a join's change set read the other side at t1: a pair new on both sides comes twice."""
    left, right = d.state(node.left, At.T1, want_ids), d.state(node.right, At.T1, want_ids)
    return two_terms(node, left, right, want_ids, d)


def join_both_at_t0(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Both terms of a join's change set read the other side at t0: a pair new on both sides is lost."""
    left, right = d.state(node.left, At.T0, want_ids), d.state(node.right, At.T0, want_ids)
    return two_terms(node, left, right, want_ids, d)


def join_leaves_at_t1(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Where t0 is due for a join of several inputs, only its first input is read at t0."""
    left, right = mixed_ends(node.left, want_ids, d), d.state(node.right, At.T1, want_ids)
    return two_terms(node, left, right, want_ids, d)


def mixed_ends(plan: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """A state at t0 whose joins read their right inputs at t1."""
    if isinstance(plan, Filter):
        return Filter(mixed_ends(plan.child, want_ids, d), plan.predicate)
    if not isinstance(plan, Join) or plan.kind not in (JoinKind.INNER, JoinKind.CROSS):
        return d.state(plan, At.T0, want_ids)
    left, right = sides(mixed_ends(plan.left, want_ids, d), d.state(plan.right, At.T1, want_ids), want_ids)
    items = same(plan) + id_item(want_ids, d.row_ids.pair(LEFT_ID, RIGHT_ID))
    return Project(Join(plan.kind, left, right, plan.on), items)


def self_join_one_leaf(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Two references to one source are differentiated as one: pairs of two changed rows are lost."""
    shared = set(sources(node.left)) & set(sources(node.right))
    return join_both_at_t0(node, want_ids, d) if shared else delta_inner_join(node, want_ids, d)


def join_keys_in_text_order(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """`r.id = l.k` is taken for `l.id = r.k`: the operands of an equality count as left, right as written."""
    left = {_base(c.name): c for c in reversed(columns(node.left))}
    right = {_base(c.name): c for c in reversed(columns(node.right))}
    right_names = {c.name for c in columns(node.right)}

    def in_text_order(expr: Expr) -> Expr:
        match expr:
            case Fn("and", (first, second), type_):
                return Fn("and", (in_text_order(first), in_text_order(second)), type_)
            case Fn("=", (Col(a, _), Col(b, _)), _) if a in right_names and b not in right_names:
                # Only where both sides have columns of both names, so that the query stays valid.
                left_key, right_key = left.get(_base(a)), right.get(_base(b))
                if left_key is not None and right_key is not None and left_key.type == right_key.type:
                    return equal(left_key, right_key)
            case _:
                pass
        return expr

    on = None if node.on is None else in_text_order(node.on)
    return delta_inner_join(Join(node.kind, node.left, node.right, on), want_ids, d)


def _base(name: str) -> str:
    """A column's name in the query: the binder adds `_N` to make names unique in the plan."""
    return re.sub(r"_\d+$", "", name)


def second_conjunct_lost(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """One of the two terms of a join's change set ignores all but the first conjunct of ON."""
    match node.on:
        case Fn("and", (first, _), _):
            weaker = Join(node.kind, node.left, node.right, first)
            left, right = d.state(node.left, At.T0, want_ids), d.state(node.right, At.T1, want_ids)
            return two_terms(node, left, right, want_ids, d, second=weaker)
        case _:
            return delta_inner_join(node, want_ids, d)


_fault = partial(rule_fault, area="joins", operators=("inner join", "cross join"))

FAULTS = (
    _fault("join-both-at-t1", join_both_at_t1, Check.INVARIANT_1, Check.EQUALITY),
    _fault("join-both-at-t0", join_both_at_t0, Check.EQUALITY, Check.INVARIANT_1),
    _fault("join-leaves-at-t1", join_leaves_at_t1, Check.EQUALITY),
    _fault("self-join-one-leaf", self_join_one_leaf, Check.EQUALITY),
    _fault("join-keys-in-text-order", join_keys_in_text_order, Check.EQUALITY),
    _fault("join-second-conjunct-lost", second_conjunct_lost, Check.EQUALITY, core=False),
)
