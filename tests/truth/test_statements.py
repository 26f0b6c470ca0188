"""DML on plain rows: one example for each rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import pytest

from tests.ir import call, columns, lit, null, table
from tests.truth.statements import apply_statement
from tests.truth.values import EvaluationError, canonical_rows
from workload.dml import (
    Assignment,
    Delete,
    Dml,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Replace,
    Restore,
    Truncate,
    Update,
)
from workload.types import BOOLEAN, DOUBLE, INT, Row, decimal

STOCK = table("stock", k=INT, units=INT, price=decimal(6, 2))
s = columns(STOCK)
ROWS: tuple[Row, ...] = (
    (1, 10, Decimal("1.00")),
    (2, None, Decimal("2.00")),
    (None, 30, None),
    (1, 10, Decimal("1.00")),
)
HISTORY: dict[int, tuple[Row, ...]] = {3: ((9, 9, None),)}


def after(statement: Dml, rows: Sequence[Row] = ROWS) -> list[Row]:
    return canonical_rows(apply_statement(statement, STOCK, rows, HISTORY.__getitem__))


def bag(*rows: Row) -> list[Row]:
    return canonical_rows(rows)


def test_insert_keeps_duplicates() -> None:
    assert after(Insert("stock", ROWS[:1])) == bag(*ROWS, ROWS[0])


def test_update_leaves_rows_whose_condition_is_unknown() -> None:
    statement = Update("stock", (Assignment("units", lit(0)),), call("gt", s["units"], 5))
    assert after(statement) == bag(
        (1, 0, Decimal("1.00")), (1, 0, Decimal("1.00")), (2, None, Decimal("2.00")), (None, 0, None)
    )


def test_assignments_read_the_old_row() -> None:
    swap = Update("stock", (Assignment("k", s["units"]), Assignment("units", s["k"])), None)
    assert after(swap, ROWS[:1]) == bag((10, 1, Decimal("1.00")))


def test_an_assignment_that_overflows_raises() -> None:
    too_much = Update("stock", (Assignment("units", call("add", s["units"], 2**31 - 1)),), None)
    with pytest.raises(EvaluationError):
        after(too_much)


def test_delete_removes_what_is_true_only() -> None:
    assert after(Delete("stock", call("eq", s["k"], 1))) == bag(*ROWS[1:3])
    assert after(Delete("stock", null(BOOLEAN))) == bag(*ROWS)
    assert after(Delete("stock", None)) == []


def test_merge_updates_deletes_and_inserts_by_null_safe_keys() -> None:
    source: tuple[Row, ...] = ((1, 11, None), (2, 22, None), (None, 33, None), (4, 44, None))
    statement = Merge("stock", ("k",), source, call("is_null", s["units"]), insert_unmatched=True)
    assert after(statement) == bag((1, 11, None), (1, 11, None), (None, 33, None), (4, 44, None))


def test_merge_without_insert_leaves_unmatched_rows_out() -> None:
    statement = Merge("stock", ("k",), ((4, 44, None),), None, insert_unmatched=False)
    assert after(statement) == bag(*ROWS)


def test_merge_keys_of_nan_and_zeros_match() -> None:
    score = table("score", x=DOUBLE, n=INT)
    source: tuple[Row, ...] = ((math.nan, 1), (-0.0, 2))
    rows: tuple[Row, ...] = ((math.nan, 0), (0.0, 0))
    merged = apply_statement(Merge("score", ("x",), source, None, True), score, rows, HISTORY.__getitem__)
    assert canonical_rows(merged) == bag((math.nan, 1), (0.0, 2))


def test_merge_refuses_source_rows_that_share_a_key() -> None:
    with pytest.raises(ValueError, match="share a key"):
        after(Merge("stock", ("k",), ((1, 1, None), (1, 2, None)), None, True))


def test_statements_that_replace_everything() -> None:
    new: tuple[Row, ...] = ((7, 7, None),)
    assert after(Overwrite("stock", new)) == after(Replace("stock", new)) == bag(*new)
    assert after(Truncate("stock")) == []
    assert after(Restore("stock", 3)) == bag((9, 9, None))


def test_optimize_changes_no_row() -> None:
    assert after(Optimize("stock")) == bag(*ROWS)
