"""Row ids: where a row's identity comes from, as expressions.

Every id is self-delimiting (each component carries its type and length), so different rows never share
one: ('a|b', 'c') and ('a', 'b|c') differ, NULL is its own tag, and -0.0 and 0.0, one value in SQL, are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from dynamic_tables.plan.expressions import Col, Expr, Fn, text
from dynamic_tables.plan.functions import FRAME
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.types import STRING

ID = Col(ROW_ID, STRING)


def concat(*parts: Expr) -> Expr:
    """The strings one after the other."""
    return reduce(lambda left, right: Fn("concat", (left, right), STRING), parts)


def frame(expr: Expr) -> Expr:
    """One component: tag, length, text."""
    return Fn(FRAME, (expr,), STRING)


def key_id(keys: Sequence[Expr]) -> Expr:
    """The id of a group or a distinct row: its key."""
    return concat(text("g"), *(frame(key) for key in keys))


def pair_id(left: Expr, right: Expr) -> Expr:
    """The id of a joined row: both sides' ids; a padded side, whose id is NULL, is a tag of its own."""
    return concat(text("j"), frame(left), frame(right))


def branch_id(branch: int, child: Expr) -> Expr:
    """The id of a row of a UNION ALL: which branch it comes from, and its id there."""
    return concat(text(f"u{branch}:"), child)


def occurrence_id(values: Sequence[Expr], occurrence: Expr) -> Expr:
    """The id of a row of a table that keeps none: its content and its number among equal rows."""
    return concat(text("o"), *(frame(value) for value in values), frame(occurrence))


@dataclass(frozen=True, slots=True)
class RowIds:
    """The id of each kind of row; an argument of the differentiation, so that a test can replace one."""

    key: Callable[[Sequence[Expr]], Expr] = key_id
    pair: Callable[[Expr, Expr], Expr] = pair_id
    branch: Callable[[int, Expr], Expr] = branch_id
    occurrence: Callable[[Sequence[Expr], Expr], Expr] = occurrence_id


ROW_IDS = RowIds()
