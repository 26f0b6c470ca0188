"""Statements, steps, values and queries as text."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import duckdb
import pytest
import sqlglot

from generators.generate import scenario_at
from generators.profiles import SMOKE
from oracle.delayed_view import DelayedView
from reports.describe import definition_sql, formatted_sql, lag_text, statement_sql, timeline
from reports.difference import cell
from tests.depth import examples
from tests.unit.reports import sample
from tests.unit.workload.shop import SHOP
from workload.dml import Dml, Insert, Merge, Overwrite, Replace, Restore
from workload.errors import WorkloadError
from workload.query import Call, Item, Literal, Named, Select
from workload.scenario import Commit, Meanwhile, Scenario, View
from workload.sql import Dialect, render_query
from workload.sql.dialect import STANDARD
from workload.sql.passing_time import reads_time
from workload.types import BOOLEAN, INT, Value

CUSTOMERS = sample.CUSTOMERS.columns


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            Merge("customers", ("name",), (("a", True),), Literal(True, BOOLEAN), True),
            """MERGE INTO customers
USING (
  SELECT
    *
  FROM VALUES
    ('a', TRUE) AS literals(name, active)
) AS given
ON customers.name IS NOT DISTINCT FROM given.name
WHEN MATCHED AND TRUE THEN DELETE
WHEN MATCHED THEN UPDATE SET
  active = given.active
WHEN NOT MATCHED THEN INSERT (name, active) VALUES (given.name, given.active)""",
        ),
        (
            Merge("customers", ("name", "active"), (), None, False),
            "/* MERGE of customers without rows: no change */",
        ),
        (Insert("customers", (("a", None),)), "INSERT INTO customers VALUES ('a', CAST(NULL AS BOOLEAN))"),
        (
            Insert("customers", (("a", None), ("b", None))),
            """INSERT INTO customers
VALUES
  ('a', CAST(NULL AS BOOLEAN)),
  ('b', CAST(NULL AS BOOLEAN))""",
        ),
        (Overwrite("customers", (("a", True),)), "INSERT OVERWRITE customers VALUES ('a', TRUE)"),
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


def test_a_statement_that_has_no_text_is_named() -> None:
    short = Insert("customers", (("a",),))
    assert statement_sql(short, CUSTOMERS).startswith("/* cannot be rendered (")


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


def test_a_value_alone_in_parentheses_stays_on_its_line() -> None:
    text = "INSERT INTO r VALUES ((-1e-300), 'a long text'), ((-1), 'another long text'), (3, 'third')"
    assert formatted_sql(text, Dialect.SQLITE).splitlines()[2:4] == [
        "  ((-1e-300), 'a long text'),",
        "  ((-1), 'another long text'),",
    ]
    # What looks like it in a string stays.
    assert "'(\n1\n)'" in formatted_sql(text.replace("third", "(\n1\n)"), Dialect.SQLITE)


def test_formatted_sql_is_the_same_statement() -> None:
    queries = [d.query for index in range(examples(25)) for d in scenario_at(5, SMOKE, index).definitions]
    assert len(queries) > examples(60)
    formatted = 0
    for dialect in Dialect:
        for query in queries:
            try:
                text = render_query(query, dialect)
            except WorkloadError:
                # The dialect has no such type, function or join, or the query no time yet.
                beside = (Dialect.POSTGRES, Dialect.SQLITE, Dialect.MYSQL, *STANDARD)
                assert dialect in beside or reads_time(query)
                continue
            laid_out = formatted_sql(text, dialect)
            formatted += laid_out != text
            assert laid_out == text or parsed(text, dialect) == parsed(laid_out, dialect)
    assert formatted > 2 * len(queries)


def parsed(sql: str, dialect: Dialect) -> str:
    """The syntax tree of a statement, without parentheses."""
    tree = sqlglot.parse_one(sql, read=dialect.value)
    for parentheses in list(tree.find_all(sqlglot.exp.Paren)):
        parentheses.replace(parentheses.this)
    for called in tree.find_all(sqlglot.exp.Anonymous):
        # The names of functions that sqlglot does not know are written in capitals.
        called.set("this", called.name.lower())
    return repr(tree)


def test_a_formatted_query_yields_the_same_rows() -> None:
    compared = 0
    for index in range(8):
        scenario = scenario_at(8, SMOKE, index)
        with DelayedView(scenario) as truth, duckdb.connect() as connection:
            for table in scenario.dynamic_tables:
                text = truth.sql(table.name, scenario.steps[-1].at)
                try:
                    expected = connection.execute(text).fetchall()
                except duckdb.Error:
                    continue  # the query fails on its data
                rows = connection.execute(formatted_sql(text, Dialect.DUCKDB)).fetchall()
                assert sorted(map(repr, rows)) == sorted(map(repr, expected))
                compared += formatted_sql(text, Dialect.DUCKDB) != text
    assert compared > 20


def test_a_text_that_sqlglot_reads_otherwise_stays_as_it_is() -> None:
    """Spark 4 takes two quotes inside a literal for one, sqlglot for two literals side by side."""
    text = f"SELECT 'it''s' AS x FROM t WHERE t.a = '{'long ' * 20}'"
    assert formatted_sql(text, Dialect.SPARK) == text
    assert formatted_sql(text, Dialect.DUCKDB) != text
    assert formatted_sql(f"no SQL {text}", Dialect.SPARK) == f"no SQL {text}"


def test_a_query_that_cannot_be_rendered_says_so() -> None:
    view = View("v", Select((Item(Call("no_such", (), INT), "c"),), Named("t", "t")))
    text = definition_sql(Scenario("s", (), (view,), ()), view)
    assert text.startswith("-- cannot be rendered: no function 'no_such'")


def test_target_lags() -> None:
    assert [lag_text(lag) for lag in (None, 96_000_000, 5)] == [
        "DOWNSTREAM",
        "'96 seconds'",
        "'5 microseconds'",
    ]


SHOP_INSERTS = (Insert("customer", ()),)


def test_what_other_processes_do_is_in_the_title_of_a_step() -> None:
    titles = {entry.at: entry.title for entry in timeline(SHOP)}
    assert titles[20] == (
        "commit to purchase, customer, 2 statements in one transaction, by another process, its last "
        "statement before storage call 2 of the step before, the others before call 0, whose clock is 15 "
        "behind"
    )
    assert titles[30].endswith("in one transaction, by a foreign writer")
    assert titles[41] == "refresh names, killed before its storage call 3 and run again"
    abandoned = replace(SHOP, steps=(Commit(0, SHOP_INSERTS, Meanwhile(abandoned=True)),))
    assert timeline(abandoned)[0].title.endswith(
        "by another process, after a third process, killed in its transaction, inserted the same rows"
    )
