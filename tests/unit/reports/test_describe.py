"""Statements, steps, values and queries as text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import get_args

import pytest

from reports.describe import lag_text, query_sql, statement_sql, timeline
from reports.layout import lay_out
from reports.values import cell, values_row
from tests.unit.reports import sample
from workload.dml import Dml, Insert, Merge, Overwrite, Replace, Restore
from workload.query import Call, Item, Literal, Named, Select, UnionAll
from workload.scenario import Commit
from workload.sql import Dialect, render_query
from workload.types import BOOLEAN, INT, STRING, Value

CUSTOMERS = sample.CUSTOMERS.columns


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            Merge("customers", ("name",), (("a", True),), Literal(True, BOOLEAN), True),
            "MERGE INTO customers\n"
            "USING (VALUES ('a', TRUE)) AS source (name, active)\n"
            "ON customers.name <=> source.name\n"
            "WHEN MATCHED AND TRUE THEN DELETE\n"
            "WHEN MATCHED THEN UPDATE SET active = source.active\n"
            "WHEN NOT MATCHED THEN INSERT (name, active) VALUES (source.name, source.active)",
        ),
        (
            Merge("customers", ("name", "active"), (), None, False),
            "MERGE INTO customers\n"
            "USING (VALUES /* no rows */) AS source (name, active)\n"
            "ON customers.name <=> source.name AND customers.active <=> source.active",
        ),
        (Insert("customers", (("a", None),)), "INSERT INTO customers (name, active) VALUES ('a', NULL)"),
        (
            Overwrite("customers", (("a", True), ("b", False))),
            "INSERT OVERWRITE customers (name, active) VALUES\n  ('a', TRUE),\n  ('b', FALSE)",
        ),
        (Replace("customers", ()), "CREATE OR REPLACE TABLE customers (name STRING, active BOOLEAN)"),
        (Restore("customers", 7), "RESTORE TABLE customers TO TIMESTAMP AS OF 7 /* logical time */"),
    ],
)
def test_a_statement_reads_as_spark_sql(statement: Dml, text: str) -> None:
    assert statement_sql(statement, CUSTOMERS) == text


def test_every_kind_of_statement_is_in_the_sample_and_described() -> None:
    kinds = {type(s) for step in sample.LONG.steps if isinstance(step, Commit) for s in step.statements}
    assert kinds == set(get_args(Dml))
    assert all(entry.statements for entry in timeline(sample.LONG))


def test_a_row_of_values_keeps_types_apart() -> None:
    row = (None, True, 1, 1.0, -0.0, float("-inf"), Decimal("1.50"), "1", dt.date(2024, 2, 29))
    assert values_row(row) == (
        "(NULL, TRUE, 1, 1.0D, -0.0D, double('-Infinity'), 1.50, '1', DATE '2024-02-29')"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("NULL", "'NULL'"),
        (None, "NULL"),
        ("a'\\\n\0", "'a''\\\\\\n\\u0000'"),
        (float("nan"), "NaN"),
        (1.0, "1.0"),
    ],
)
def test_a_cell_is_one_unambiguous_line(value: Value, text: str) -> None:
    assert cell(value) == text


def test_layout_changes_white_space_outside_literals_only() -> None:
    scan = Select((Item(Literal("x FROM y (SELECT '' \\", STRING), "c"),), Named("t", "t"))
    differs = Call("differs", (Literal(1, INT), Literal(2, INT)), BOOLEAN)
    query = UnionAll((scan, Select(scan.items, scan.source, where=differs)))
    for dialect in Dialect:
        flat = render_query(query, dialect)
        laid = lay_out(flat, dialect)
        assert "".join(laid.split()) == "".join(flat.split())
        assert "x FROM y (SELECT '" in laid
        assert "(1 IS DISTINCT FROM 2)" in laid
        assert laid.splitlines()[:3] == ["(", "  " + laid.splitlines()[1].strip(), "  FROM t"]


def test_a_query_that_cannot_be_rendered_says_so() -> None:
    query = Select((Item(Call("no_such", (), INT), "c"),), Named("t", "t"))
    assert query_sql(query, Dialect.SPARK).startswith("-- cannot be rendered: no function 'no_such'")


def test_target_lags() -> None:
    assert [lag_text(lag) for lag in (None, 96_000_000, 5)] == [
        "DOWNSTREAM",
        "'96 seconds'",
        "'5 microseconds'",
    ]
