"""Statements may call every function that the harness draws, and the spellings that people use."""

from __future__ import annotations

import pytest

from dynamic_tables.definition import BaseTable
from dynamic_tables.plan.types import INT, STRING
from dynamic_tables.store.statements import check_statement
from tests.truth.matrix_scalars import MATRIX
from workload.sql import Dialect, render_expr

TABLES = {"r": BaseTable("r", (("k", INT), ("name", STRING)))}


@pytest.mark.parametrize("function", MATRIX)
def test_functions_that_are_drawn(function: str) -> None:
    for call in MATRIX[function]:
        condition = f"({render_expr(call, Dialect.SPARK)}) IS NULL"
        assert check_statement(f"DELETE FROM r WHERE {condition}", TABLES).target == "r"


@pytest.mark.parametrize(
    "condition",
    ["name RLIKE '^a.b$'", "regexp_like(name, 'a')", "name ILIKE 'A%'", "DECODE(k, 1, TRUE, 2, FALSE)"],
)
def test_spellings_of_people(condition: str) -> None:
    assert check_statement(f"DELETE FROM r WHERE {condition}", TABLES).target == "r"
