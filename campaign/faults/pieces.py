"""Small plan pieces that several faults are built from."""

from __future__ import annotations

from functools import reduce

from dynamic_tables.differentiate.differentiation import ACT, ID, Differentiation
from dynamic_tables.plan.expressions import Col, Expr, Fn, text
from dynamic_tables.plan.nodes import (
    DELETE,
    INSERT,
    ROW_ID,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    SemiJoin,
    columns,
    walk,
)
from dynamic_tables.plan.types import BOOLEAN, STRING

OTHER = Col("$FAULT_ID", STRING)
OUTER = frozenset({JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL})


def both(left: Expr, right: Expr) -> Expr:
    """AND."""
    return Fn("and", (left, right), BOOLEAN)


def all_of(parts: list[Expr]) -> Expr:
    """AND over some."""
    return reduce(both, parts)


def negated(expr: Expr) -> Expr:
    """NOT, for a condition that may be NULL: true where it is not true."""
    return Fn("not", (Fn("is true", (expr,), BOOLEAN),), BOOLEAN)


def equal(left: Expr, right: Expr) -> Expr:
    """`=`."""
    return Fn("=", (left, right), BOOLEAN)


def with_action(changes: Plan, action: str) -> Plan:
    """The rows of one action."""
    return Filter(changes, equal(ACT, text(action)))


def inserts(changes: Plan) -> Plan:
    """INSERTs."""
    return with_action(changes, INSERT)


def deletes(changes: Plan) -> Plan:
    """DELETEs."""
    return with_action(changes, DELETE)


def ids(changes: Plan) -> Plan:
    """The distinct ids, under another name."""
    return Distinct(Project(changes, ((OTHER.name, ID),)))


def among(changes: Plan, others: Plan, *, anti: bool = False) -> Plan:
    """The rows whose id is (anti: is not) one of `ids(...)`."""
    return SemiJoin(changes, others, equal(ID, OTHER), anti)


def without_id(plan: Plan, wanted: bool) -> Plan:
    """A plan made with ids, for a caller that may not want them."""
    if wanted:
        return plan
    return Project(plan, tuple((c.name, c) for c in columns(plan) if c.name != ROW_ID))


def joins_in(plan: Plan, kinds: frozenset[JoinKind]) -> list[Join]:
    """The joins of some kinds in a plan."""
    return [node for node in walk(plan) if isinstance(node, Join) and node.kind in kinds]


def below_filters(plan: Plan) -> Plan:
    """The node under any filters."""
    while isinstance(plan, Filter):
        plan = plan.child
    return plan


def full_delta(plan: Plan, d: Differentiation) -> Plan:
    """The changes of a node with their ids."""
    return d.delta(plan, True)
