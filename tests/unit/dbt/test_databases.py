"""Sources and models on DuckDB and on Spark: what is written, dropped and read of a script."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from campaign.dbt.databases import DATABASES, Written, described
from campaign.dbt.driver import Driver
from campaign.errors import CampaignError

DUCKDB, SPARK = DATABASES["duckdb"], DATABASES["spark"]

COLUMNS = [("id", "INTEGER", True), ("name", "VARCHAR", False), ("at", "TIMESTAMP WITH TIME ZONE", False)]
ROWS = [("1", "'it''s'", "TIMESTAMP '2024-02-15 00:00:00'"), ("2", "NULL", "NULL")]


def test_a_source_on_duckdb_is_a_table_with_its_constraints() -> None:
    with duckdb.connect() as connection:
        for statement in DUCKDB.write(Written("orders", COLUMNS, ["CHECK((id > 0))"], ROWS)):
            connection.execute(statement)
        assert connection.execute("SELECT count(*), max(name) FROM orders").fetchone() == (2, "it's")
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO orders VALUES (0, NULL, NULL)")


def test_names_may_hold_quotes_spaces_and_dots() -> None:
    columns = [('a"b', "INTEGER", True), ("größe in cm", "VARCHAR", False)]
    with duckdb.connect() as connection:
        for statement in DUCKDB.write(Written('"Order Lines"', columns, [], [("1", "'x'")])):
            connection.execute(statement)
        assert connection.execute('SELECT "a""b", "größe in cm" FROM "Order Lines"').fetchone() == (1, "x")
    (view,) = SPARK.write(Written("t", [("a`b", "INTEGER", True)], [], [("1",)]))
    assert view.endswith("SELECT CAST(`a``b` AS INT) AS `a``b` FROM VALUES (1) AS t(`a``b`)")


@pytest.mark.parametrize(
    "script",
    [
        'CREATE TABLE "ERP Raw"."Order" ("Order Id" INTEGER);',
        'CREATE SCHEMA "ERP Raw"; CREATE OR REPLACE TABLE "ERP Raw" . "Order" ("Order Id" INTEGER)',
        'CREATE TABLE "ERP Raw"."Order" ("Order Id" INTEGER); CREATE SCHEMA "ERP Raw";',
        'CREATE SCHEMA "ERP Raw"; USE "ERP Raw"; CREATE TABLE "Order" ("Order Id" INTEGER)',
    ],
)
def test_a_script_may_quote_its_schema(tmp_path: Path, script: str) -> None:
    """With a statement that makes the schema, before or after its tables, and without one."""
    (tmp_path / "schema.sql").write_text(script)
    (table,) = Driver(str, print).tables({"script": str(tmp_path / "schema.sql")})["tables"]
    assert (table["schema"], table["name"]) == ("ERP Raw", "Order")
    assert [column["name"] for column in table["columns"]] == ["Order Id"]


def test_a_source_on_spark_is_a_view_in_the_words_of_spark() -> None:
    view, check = SPARK.write(Written("raw.orders", COLUMNS, ["CHECK((id > 0))"], ROWS))
    assert view == (
        "CREATE OR REPLACE VIEW raw.orders AS SELECT CAST(`id` AS INT) AS `id`, "
        "CAST(`name` AS STRING) AS `name`, CAST(`at` AS TIMESTAMP) AS `at` "
        r"FROM VALUES (1, 'it\'s', CAST('2024-02-15 00:00:00' AS TIMESTAMP_NTZ)), "
        "(2, NULL, NULL) AS t(`id`, `name`, `at`)"
    )
    assert check == "SELECT raise_error('a CHECK is broken') FROM raw.orders WHERE NOT (((id > 0)))"


def test_a_source_without_rows_keeps_its_types() -> None:
    (view,) = SPARK.write(Written("raw.orders", COLUMNS, ["id > 0"], []))
    assert view.endswith("FROM VALUES (NULL, NULL, NULL) AS t(`id`, `name`, `at`) WHERE false")


def test_models_are_dropped_as_what_they_are() -> None:
    relations = {"shop.main.above": "view", "shop.main.orders": "incremental"}
    assert SPARK.drop(relations, []) == [
        "DROP VIEW IF EXISTS shop.main.above",
        "DROP TABLE IF EXISTS shop.main.orders",
    ]
    quoted = {'"shop"."main"."above"': "view", '"shop"."main"."gone"': "incremental"}
    listed = [("shop", "main", "above", "VIEW")]
    assert DUCKDB.drop(quoted, listed) == ['DROP VIEW "shop"."main"."above"']


def test_names_are_quoted_as_the_database_quotes_them() -> None:
    assert DUCKDB.named("raw", "orders") == '"raw"."orders"'
    assert SPARK.named("raw", "orders") == "`raw`.`orders`"


def test_a_script_for_spark_is_read() -> None:
    script = (
        "CREATE SCHEMA raw; -- made with the table\n"
        "CREATE TABLE raw.orders (id BIGINT NOT NULL, name STRING, at TIMESTAMP_NTZ, PRIMARY KEY (id)) "
        "USING delta;"
    )
    (table,) = described(script, "spark")
    assert (table["schema"], table["name"], table["keys"]) == ("raw", "orders", [["id"]])
    assert [(c["type"], c["required"]) for c in table["columns"]] == [
        ("BIGINT", True),
        ("VARCHAR", False),
        ("TIMESTAMP", False),
    ]
    with pytest.raises(CampaignError, match="a table cannot be read"):
        described("CREATE TABLE orders (id", "spark")
