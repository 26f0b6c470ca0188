"""Row ids: the identity of a result row, as an expression over the ids and values of the rows below it.

A refresh recognises a stored row by its id, so an id must be the same in every refresh, and in a fresh
computation of the whole query. Each kind of operator has its own recipe: a join the pair of the ids of both
sides, a grouping its key, UNION ALL the number of the branch and the id in it. The first letter of an id says
which.

Every component of an id carries its type and length, so different rows never share an id: ('a|b', 'c') and
('a', 'b|c') differ, and NULL differs from every text. -0.0 and 0.0 are one value in SQL and give one id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynamic_tables.plan.expressions import Col, Expr, Fn, joined, text
from dynamic_tables.plan.functions import FRAME
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.types import STRING

ID = Col(ROW_ID, STRING)


def concat(*parts: Expr) -> Expr:
    """Returns one or more strings joined."""
    return joined(parts, lambda left, right: Fn("concat", (left, right), STRING))


def frame(expr: Expr) -> Expr:
    """Returns one component of an id: the tag of the type, the length of the text, the text."""
    return Fn(FRAME, (expr,), STRING)


def key_id(keys: Sequence[Expr]) -> Expr:
    """Returns the id of a group or a distinct row: its key."""
    return concat(text("g"), *(frame(key) for key in keys))


def pair_id(left: Expr, right: Expr) -> Expr:
    """Returns the id of a joined row: the ids of both sides; the id of a side padded with NULLs is NULL."""
    return concat(text("j"), frame(left), frame(right))


def branch_id(branch: int, child: Expr) -> Expr:
    """Returns the id of a row of UNION ALL: the number of its branch, from 0, and its id in the branch."""
    return concat(text(f"u{branch}:"), child)


def element_id(child: Expr, position: Expr) -> Expr:
    """Returns the id of an element of an array: the id of its row, and its position from 0.

    Of a pad, which OUTER gives for an array without elements, the position is NULL.
    """
    return concat(text("e"), frame(child), frame(position))


def occurrence_id(values: Sequence[Expr], occurrence: Expr) -> Expr:
    """Returns the id of a row of a table without ids: its content, and its number among equal rows."""
    return concat(text("o"), *(frame(value) for value in values), frame(occurrence))


def primary_id(values: Sequence[Expr]) -> Expr:
    """Returns the id of a row of a table with a primary key: the key."""
    return concat(text("k"), *(frame(value) for value in values))


@dataclass(frozen=True, slots=True)
class RowIds:
    """The id of each kind of row; an argument of the differentiation, so that a test can replace one."""

    key: Callable[[Sequence[Expr]], Expr] = key_id
    pair: Callable[[Expr, Expr], Expr] = pair_id
    branch: Callable[[int, Expr], Expr] = branch_id
    occurrence: Callable[[Sequence[Expr], Expr], Expr] = occurrence_id
    element: Callable[[Expr, Expr], Expr] = element_id
    primary: Callable[[Sequence[Expr]], Expr] = primary_id


ROW_IDS = RowIds()
