"""The current time in scenarios: a function in an engine's text, a constant for a judge."""

from __future__ import annotations

import datetime as dt

import pytest

from workload.errors import WorkloadError
from workload.query import Call, Literal, Verbatim
from workload.scope import check_call
from workload.sql import Dialect, render_expr
from workload.sql.passing_time import at_time, current_time, reads_time
from workload.types import BIGINT, DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, SqlType

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("offset", "type_", "text", "value"),
    [
        (
            -5,
            TIMESTAMP,
            "(current_timestamp() + INTERVAL '-5' MICROSECOND)",
            dt.datetime.fromisoformat("1970-01-01T00:00:02"),
        ),
        (
            DAY,
            TIMESTAMP_NTZ,
            f"(localtimestamp() + INTERVAL '{DAY}' MICROSECOND)",
            dt.datetime.fromisoformat("1970-01-02T00:00:02"),
        ),
        (-DAY, DATE, "(current_date() + INTERVAL '-1' DAY)", dt.date(1969, 12, 31)),
        (1, DATE, "(CAST(current_timestamp() + INTERVAL '1' MICROSECOND AS DATE))", dt.date(1970, 1, 1)),
    ],
)
def test_an_engine_gets_a_function_and_a_judge_a_constant(
    offset: int, type_: SqlType, text: str, value: dt.date
) -> None:
    now = current_time(offset, type_)
    check_call(now)
    assert reads_time(now)
    assert render_expr(now, Dialect.SPARK) == text
    two_seconds = 2_000_000 + (5 if offset == -5 else 0)
    constant: object = at_time(now, two_seconds)
    assert constant == Literal(value, type_)
    with pytest.raises(WorkloadError, match="no text in duckdb"):
        render_expr(now, Dialect.DUCKDB)


def test_texts_of_users_get_a_constant_but_not_in_strings_and_comments() -> None:
    text = "SELECT 'now()', `current_date` /* now() */ FROM r WHERE d < CURRENT_DATE AND t > NOW()"
    query = Verbatim(text, "SELECT a FROM r WHERE d < CURRENT_DATE", (), (("a", INT),))
    assert reads_time(query)
    moved = at_time(query, DAY)
    assert moved.text == (
        "SELECT 'now()', `current_date` /* now() */ FROM r "
        "WHERE d < DATE '1970-01-02' AND t > TIMESTAMP '1970-01-02 00:00:00'"
    )
    assert moved.translated == "SELECT a FROM r WHERE d < DATE '1970-01-02'"


@pytest.mark.parametrize("args", [(), (Literal(1, INT),), (Literal(1, BIGINT), Literal(1, BIGINT))])
def test_the_offset_is_one_constant(args: tuple[Literal, ...]) -> None:
    with pytest.raises(WorkloadError, match="no function 'now'"):
        check_call(Call("now", args, DATE))
