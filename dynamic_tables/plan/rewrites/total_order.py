"""Proofs that some columns order the rows of a plan totally.

ROW_NUMBER, LAG and frames of ROWS depend on which of two tied rows comes first. Their result is determined if
no two rows tie (`are_one`: the columns hold a key), or if rows that tie are equal in all columns that are
read (`are_alike`). Both are proved from the plan alone, without data; False means "not proved". A primary key
that was declared counts: a refresh that finds two rows with one key fails.
"""

from __future__ import annotations

from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Col, Expr, walk

Known = frozenset[str]
"""Names of columns in which rows are equal."""


def are_one(plan: nodes.Plan, known: Known) -> bool:
    """Tells whether it is proved that no two rows of a plan are equal in the known columns."""
    match plan:
        case nodes.Scan(_, _, key):
            return bool(key) and known.issuperset(key)
        case nodes.Aggregate(_, keys, _):
            return {name for name, _ in keys} <= known
        case nodes.Distinct(child):
            return {column.name for column in nodes.columns(child)} <= known or are_one(child, known)
        case (
            nodes.Filter(child, _)
            | nodes.Limit(child)
            | nodes.Window(child)
            | nodes.SemiJoin(child, _, _, _)
            | nodes.Mark(child)
        ):
            return are_one(child, known)
        case nodes.Project(child, items):
            return are_one(child, _below(items, known))
        case nodes.Join(kind, left, right, _):
            sides = are_one(left, known), are_one(right, known)
            # A pad has NULLs in the columns of its other side, and may be equal to a row with NULLs there.
            return all(sides) and kind in (nodes.JoinKind.INNER, nodes.JoinKind.CROSS)
        case _:
            return False


def are_alike(plan: nodes.Plan, known: Known) -> bool:
    """Tells whether it is proved that rows which are equal in the known columns are equal in all columns."""
    if {column.name for column in nodes.columns(plan)} <= known or are_one(plan, known):
        return True
    match plan:
        case nodes.Filter(child, _) | nodes.Limit(child) | nodes.SemiJoin(child, _, _, _):
            return are_alike(child, known)
        case nodes.Project(child, items):
            below = _below(items, known)
            return are_alike(child, below) or all(
                name in known or _reads(expr) <= below for name, expr in items
            )
        case _:
            return False


def _below(items: tuple[tuple[str, Expr], ...], known: Known) -> Known:
    """Returns the input columns that known outputs of a projection pass on as they are."""
    return frozenset(expr.name for name, expr in items if name in known and isinstance(expr, Col))


def _reads(expr: Expr) -> Known:
    """Returns the names of the columns that an expression reads."""
    return frozenset(part.name for part in walk(expr) if isinstance(part, Col))
