"""EXCEPT ALL and INTERSECT ALL: affected values are computed anew at both ends of the interval.

Both work on bags: 3 copies of a row EXCEPT ALL 1 copy leave 2. The copies of equal rows are numbered on each
side, and a left copy is compared with the right copy of the same number. A value is a partition, as for
window functions (DVS paper, section 5.5.1): a change of one value cannot change the copies of another one.
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.expressions import Col, Expr, boolean, conjunction
from dynamic_tables.plan.nodes import (
    ExceptAll,
    IntersectAll,
    Numbered,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import INT

LEFT_NUMBER, RIGHT_NUMBER = Col("$LEFT_NUMBER", INT), Col("$RIGHT_NUMBER", INT)
"""The number of a row among the equal rows of its branch, from 1."""


def state_copies(node: ExceptAll | IntersectAll, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the left rows that stay at one end of the interval, identified by value and number."""
    left, right = (d.state(branch, at, False) for branch in node.branches)
    return staying(node, left, right, ids, d)


def staying(node: ExceptAll | IntersectAll, left: Plan, right: Plan, ids: bool, d: Differentiation) -> Plan:
    """Returns the left rows whose copy the right side has (INTERSECT ALL) or does not have (EXCEPT ALL).

    Of l copies on the left and r on the right, INTERSECT ALL keeps the copies 1 to r, and EXCEPT ALL those
    from r + 1 on. So one more copy on a side changes at most one row of the result, and no other row's id.
    Rows are equal as in SQL's set operations: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0.
    """
    values = columns(node)
    numbered = Numbered(left, values, LEFT_NUMBER.name)
    renamed = tuple((f"$RIGHT{i}", value) for i, value in enumerate(values))
    other_values = tuple(Col(name, value.type) for name, value in renamed)
    others = Numbered(Project(right, renamed), other_values, RIGHT_NUMBER.name)
    pairs = zip((*values, LEFT_NUMBER), (*other_values, RIGHT_NUMBER), strict=True)
    matches = (boolean("is not distinct from", value, other) for value, other in pairs)
    rows = SemiJoin(numbered, others, conjunction(matches), anti=isinstance(node, ExceptAll))
    return Project(rows, same(left) + id_item(ids, d.row_ids.occurrence(values, LEFT_NUMBER)))


def delta_copies(node: ExceptAll | IntersectAll, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows of affected values that stay at t0 as DELETE, and those that stay at t1 as INSERT.

    A value is affected if a row that changed on either side has it. Copies that stay at both cancel at the
    root.
    """
    values: list[Expr] = list(columns(node))
    changed = UnionAll(tuple(Project(d.delta(branch, False), same(branch)) for branch in node.branches))
    affected = affected_keys(changed, values)

    def part(at: At) -> Plan:
        left, right = (only_groups(d.state(b, at, False), values, affected) for b in node.branches)
        return staying(node, left, right, ids, d)

    return both_ends(part)
