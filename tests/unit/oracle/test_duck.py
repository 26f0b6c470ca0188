"""DuckDB as the oracle sets it up: Spark's rules, nothing outside itself, typed answers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from oracle.duck import open_duckdb, run, run_typed
from oracle.errors import OracleError, OracleQueryError, OracleTimeout
from tests.unit.oracle.words import columns
from workload.sql import Dialect, literal, type_name
from workload.types import Value, fits

EVERY_TYPE = columns(
    "i INT, l BIGINT, d DECIMAL(10,2), q DECIMAL(38,0), x DOUBLE, b BOOLEAN, s STRING, dt DATE,"
    " t TIMESTAMP_NTZ"
)
LITERALS = (
    "-2147483648, CAST(9223372036854775807 AS BIGINT), CAST(-1.50 AS DECIMAL(10,2)),"
    " CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0)), CAST('NaN' AS DOUBLE), TRUE, 'ü''',"
    " DATE '9999-12-31', TIMESTAMP '0001-01-01 00:00:00.000001'"
)


def test_every_type_comes_back_as_the_value_that_stands_for_it(database: duckdb.DuckDBPyConnection) -> None:
    names = ", ".join(column.name for column in EVERY_TYPE)
    nulls = ", ".join(f"CAST(NULL AS {type_name(column.type, Dialect.DUCKDB)})" for column in EVERY_TYPE)
    text = f"SELECT * FROM (VALUES ({LITERALS}), ({nulls})) AS v({names})"
    rows = run_typed(database, text, EVERY_TYPE, "every type")
    assert len(rows) == 2
    for row in rows:
        assert all(fits(value, column.type) for value, column in zip(row, EVERY_TYPE, strict=True)), row
    first: dict[str, Value] = dict(zip(names.split(", "), rows[0], strict=True))
    assert (first["i"], first["l"], first["b"], first["s"]) == (-(2**31), 2**63 - 1, True, "ü'")
    rendered = [literal(v, c.type, Dialect.DUCKDB) for v, c in zip(rows[0], EVERY_TYPE, strict=True)]
    again = run_typed(
        database, f"SELECT * FROM (VALUES ({', '.join(rendered)})) AS v({names})", EVERY_TYPE, ""
    )
    assert repr(again) == repr(rows[:1])


@pytest.mark.parametrize(
    ("text", "actual"),
    [
        ("SELECT sum(i) AS n FROM (VALUES (1)) AS v(i)", "n HUGEINT"),
        ("SELECT 1 AS n", "n INTEGER"),
        ("SELECT CAST(1 AS BIGINT) AS m", "m BIGINT"),
        ("SELECT CAST(1 AS BIGINT) AS n, 2 AS o", "n BIGINT, o INTEGER"),
    ],
)
def test_another_type_or_name_than_declared_is_an_error(
    database: duckdb.DuckDBPyConnection, text: str, actual: str
) -> None:
    with pytest.raises(OracleError, match=f"totals: DuckDB gives .{actual}., declared is .n BIGINT"):
        run_typed(database, text, columns("n BIGINT"), "totals")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(2147483647 AS INTEGER) + 1",
        "SELECT 1 / 0",
        "SELECT CAST('0.5' AS DOUBLE) / CAST('0.0' AS DOUBLE)",
        "SELECT 1 % 0",
        "SELECT CAST('x' AS INTEGER)",
        "SELECT CAST(100 AS DECIMAL(3,1))",
        "SELECT DATE '2024-01-01' + 2147483647",
    ],
)
def test_a_query_that_fails_on_its_data(database: duckdb.DuckDBPyConnection, text: str) -> None:
    with pytest.raises(OracleQueryError):
        run(database, text)
    assert run(database, "SELECT 1").rows == ((1,),)


@pytest.mark.parametrize("text", ["SELECT DATE '9999-12-31' + 1 AS d", "SELECT DATE '0001-01-01' - 1 AS d"])
def test_a_date_that_no_python_date_can_hold_is_refused(
    database: duckdb.DuckDBPyConnection, text: str
) -> None:
    with pytest.raises(OracleQueryError, match="outside the years"):
        run_typed(database, text, columns("d DATE"), "later")


@pytest.mark.parametrize("text", ["SELEC 1", "SELECT nothing", "SELECT * FROM nowhere"])
def test_a_text_that_duckdb_refuses_is_the_renderers_fault(
    database: duckdb.DuckDBPyConnection, text: str
) -> None:
    with pytest.raises(OracleError, match="cannot run this") as caught:
        run(database, text)
    assert not isinstance(caught.value, OracleQueryError)


def test_nulls_sort_as_in_spark(database: duckdb.DuckDBPyConnection) -> None:
    values = "(VALUES (2), (NULL), (1)) AS v(i)"
    assert run(database, f"SELECT i FROM {values} ORDER BY i").rows == ((None,), (1,), (2,))
    assert run(database, f"SELECT i FROM {values} ORDER BY i DESC").rows == ((2,), (1,), (None,))


def test_nothing_outside_the_database_can_be_reached(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    for text in (
        f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        f"ATTACH '{tmp_path / 'other.db'}'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET threads = 8",
    ):
        with pytest.raises(OracleError):
            run(database, text)
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]


def test_a_query_over_its_time_limit_is_stopped_and_the_next_one_runs() -> None:
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b"
    with open_duckdb() as connection:
        with pytest.raises(OracleTimeout, match=r"0\.1 s"):
            run(connection, endless, limit_s=0.1)
        assert run(connection, "SELECT 1", limit_s=60).rows == ((1,),)


def test_the_memory_limit_holds() -> None:
    with open_duckdb("20MB") as connection, pytest.raises(OracleError, match="Out of Memory"):
        run(connection, "CREATE TABLE t AS SELECT i, repeat('x', 1000) || i AS s FROM range(1000000) r(i)")


def test_the_optimizer_is_off(database: duckdb.DuckDBPyConnection) -> None:
    query = "EXPLAIN SELECT * FROM (SELECT i FROM range(9) r(i)) AS t WHERE i > 3 AND FALSE"
    assert "Filter" in str(run(database, query).rows)
    with duckdb.connect(":memory:") as optimizing:
        assert "Filter" not in str(run(optimizing, query).rows)


def test_grouping_by_a_sum_gives_every_group_once(database: duckdb.DuckDBPyConnection) -> None:
    """With the optimizer of DuckDB 2.0.0 the answer has the groups (4, 2) and (5, 0)."""
    joined = "(SELECT * FROM e WHERE k = 8) e RIGHT JOIN r ON e.k = r.k"
    sums = f"SELECT r.k AS g, SUM(r.k) AS s FROM {joined} GROUP BY r.k"
    run(database, "CREATE TEMP TABLE r AS SELECT * FROM (VALUES (0), (1), (3), (3), (4), (-1)) AS v(k)")
    run(database, "CREATE TEMP TABLE e (k INTEGER)")
    try:
        rows = run(database, f"SELECT g, s, count(*) FROM ({sums}) GROUP BY g, s").rows
    finally:
        run(database, "DROP TABLE r; DROP TABLE e")
    assert set(rows) == {(-1, -1, 1), (0, 0, 1), (1, 1, 1), (3, 6, 1), (4, 4, 1)}
