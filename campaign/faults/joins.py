"""Faults in inner, cross and self joins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, in_operator
from campaign.faults.pieces import equal
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, changed_pairs, delta_inner_join, sides
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Col, Expr, Fn
from dynamic_tables.plan.nodes import Filter, Join, JoinKind, Plan, Project, UnionAll, columns, sources
from workload.results import Check

INNER = ("inner join", "cross join")


def two_terms(node: Join, right_at: At, left_at: At, want_ids: bool, d: Differentiation) -> Plan:
    """dL x R + L x dR, with the ends chosen."""
    return UnionAll(
        (
            changed_pairs(
                node, d.delta(node.left, want_ids), d.state(node.right, right_at, want_ids), want_ids, d
            ),
            changed_pairs(
                node, d.state(node.left, left_at, want_ids), d.delta(node.right, want_ids), want_ids, d
            ),
        )
    )


def join_both_at_t1(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Both terms read the other side at t1."""
    return two_terms(node, At.T1, At.T1, want_ids, d)


def join_both_at_t0(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Both terms read the other side at t0: dL x dR is lost."""
    return two_terms(node, At.T0, At.T0, want_ids, d)


def join_leaves_at_t1(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """Of a left side that is a join itself, only the first input is read at t0."""
    left = mixed_ends(node.left, want_ids, d)
    return UnionAll(
        (
            changed_pairs(
                node, d.delta(node.left, want_ids), d.state(node.right, At.T1, want_ids), want_ids, d
            ),
            changed_pairs(node, left, d.delta(node.right, want_ids), want_ids, d),
        )
    )


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
    """Two references to one source are differentiated as one: the cross term between them is missing."""
    shared = set(sources(node.left)) & set(sources(node.right))
    return join_both_at_t0(node, want_ids, d) if shared else delta_inner_join(node, want_ids, d)


def with_condition(change: Callable[[Join], Expr | None]) -> Callable[[Join, bool, Differentiation], Plan]:
    """The right derivative under another condition."""

    def rule(node: Join, want_ids: bool, d: Differentiation) -> Plan:
        return delta_inner_join(Join(node.kind, node.left, node.right, change(node)), want_ids, d)

    return rule


def keys_in_text_order(node: Join) -> Expr | None:
    """`r.id = l.k` is read as `l.id = r.k`, where both sides have both columns."""
    if node.on is None:
        return None
    left = {_base(c.name): c for c in reversed(columns(node.left))}
    right = {_base(c.name): c for c in reversed(columns(node.right))}
    right_names = {c.name for c in columns(node.right)}

    def rewrite(expr: Expr) -> Expr:
        match expr:
            case Fn("and", (first, second), type_):
                return Fn("and", (rewrite(first), rewrite(second)), type_)
            case Fn("=", (Col(a, _), Col(b, _)), _) if a in right_names and b not in right_names:
                own, other = left.get(_base(a)), right.get(_base(b))
                if own is not None and other is not None and own.type == other.type:
                    return equal(own, other)
            case _:
                pass
        return expr

    return rewrite(node.on)


def _base(name: str) -> str:
    return re.sub(r"_\d+$", "", name)


def second_conjunct_lost(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """The second delta term applies only the first conjunct of ON."""
    match node.on:
        case Fn("and", (first, _), _):
            weaker = Join(node.kind, node.left, node.right, first)
        case _:
            return delta_inner_join(node, want_ids, d)
    return UnionAll(
        (
            changed_pairs(
                node, d.delta(node.left, want_ids), d.state(node.right, At.T1, want_ids), want_ids, d
            ),
            changed_pairs(
                weaker, d.state(node.left, At.T0, want_ids), d.delta(node.right, want_ids), want_ids, d
            ),
        )
    )


def _fault(
    name: str, wrong: str, rule: Callable[[Join, bool, Differentiation], Plan], *checks: Check
) -> Fault:
    return Fault(
        name=name, area="joins", wrong=wrong, plant=in_operator(*INNER, delta=rule), caught_by=checks
    )


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        _fault(
            "join-both-at-t1",
            "both delta terms read the other side at t1",
            join_both_at_t1,
            Check.INVARIANT_1,
            Check.EQUALITY,
        ),
        _fault(
            "join-both-at-t0",
            "both delta terms read the other side at t0: the second-order term is lost",
            join_both_at_t0,
            Check.EQUALITY,
            Check.INVARIANT_1,
        ),
        _fault(
            "join-leaves-at-t1",
            "in a join of three inputs only the first is read at t0 where t0 is due",
            join_leaves_at_t1,
            Check.EQUALITY,
        ),
        _fault(
            "self-join-one-leaf",
            "two references to one source are differentiated as one",
            self_join_one_leaf,
            Check.EQUALITY,
        ),
        _fault(
            "join-keys-in-text-order",
            "the operands of an equality are taken left, right as written",
            with_condition(keys_in_text_order),
            Check.EQUALITY,
        ),
        replace(
            _fault(
                "join-second-conjunct-lost",
                "one delta term ignores the second conjunct of ON",
                second_conjunct_lost,
                Check.EQUALITY,
            ),
            core=False,
        ),
    )
}
