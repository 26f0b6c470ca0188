"""A constant time that an interval moves, in the text for each dialect."""

from __future__ import annotations

import datetime as dt

import duckdb

from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import Project
from dynamic_tables.plan.time import at_times
from dynamic_tables.plan.written.render_expression import render_expression
from dynamic_tables.reading.bind import bind_query


def test_no_microsecond_is_lost_far_from_today() -> None:
    # More than 2 ** 53 microseconds: as a DOUBLE, the number would be another one.
    query = "SELECT now() + INTERVAL '-12219379200000155' MICROSECOND AS moved FROM r"
    plan = at_times(bind_query(query, declare(["r(a INT)"])).plan, None, 155)
    assert isinstance(plan, Project)
    (moved,) = (expr for name, expr in plan.items if name == "moved")
    text = render_expression(moved, DUCKDB)
    assert duckdb.execute(f"SELECT {text}").fetchall() == [(dt.datetime(1582, 10, 14),)]  # noqa: DTZ001


def test_a_date_minus_a_number_is_a_date() -> None:
    plan = bind_query("SELECT d - 1 AS moved FROM r", declare(["r(d DATE)"])).plan
    assert isinstance(plan, Project)
    (moved,) = (expr for name, expr in plan.items if name == "moved")
    text = render_expression(moved, DUCKDB)
    row = duckdb.execute(
        f"SELECT moved, typeof(moved) FROM (SELECT {text} AS moved FROM (SELECT DATE '2024-03-01' AS d))"
    )
    assert row.fetchall() == [(dt.date(2024, 2, 29), "DATE")]
