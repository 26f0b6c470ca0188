"""Explanations: the plan, the ids and the change query of a definition, or why there is none."""

from __future__ import annotations

import doctest
from dataclasses import replace

import duckdb
import pytest
import sqlglot

from dynamic_tables import explain as explanations
from dynamic_tables.differentiate.registry import OPERATORS, RULES, change_plan
from dynamic_tables.errors import DefinitionError
from dynamic_tables.explain import declare, explain
from dynamic_tables.plan.dialects import DUCKDB, SPARK, Dialect
from dynamic_tables.plan.types import BIGINT, INT, STRING, decimal
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.bind import bind_query
from tests.unit.dynamic_tables.reading import WORLD

TOTALS = "SELECT v.b, COUNT(*) AS n FROM v LEFT JOIN s ON v.a = s.a WHERE v.b <> 'x FROM y' GROUP BY v.b"


def test_an_incremental_query_is_shown_whole() -> None:
    explanation = explain(TOTALS, WORLD)
    assert explanation.incremental
    assert explanation.reason is None
    assert explanation.sources == ("r", "s")
    assert explanation.columns == (("b", STRING), ("n", BIGINT))
    assert explanation.operators == ("projection", "grouped aggregation", "left join", "filter", "scan")
    assert explanation.change_query is not None
    assert "\nFROM" in explanation.change_query


def test_the_row_id_of_the_result_is_that_of_the_operator_that_makes_it() -> None:
    ids = {
        "SELECT a + 1 AS k FROM r WHERE a > 1": "`$ROW_ID`",
        "SELECT b, COUNT(*) AS n FROM v GROUP BY b": "('g' || coalesce('s' || CAST(length(`b_3`) AS STRING)",
        "SELECT COUNT(*) AS n FROM r": "'g'",
        "SELECT a FROM r UNION ALL SELECT a FROM s": "('u0:' || `$ROW_ID`); ('u1:' || `$ROW_ID`)",
        "SELECT r.a FROM r JOIN s ON r.a = s.a": "(('j' || coalesce('s' || CAST(length(`$LEFT_ID`)",
    }
    for query, expression in ids.items():
        row_id = explain(query, WORLD).row_id
        assert row_id is not None
        assert row_id.startswith(expression), query


def test_every_operator_of_the_tree_has_its_row_id() -> None:
    plan = explain(TOTALS, WORLD).plan
    assert plan is not None
    assert [node.operator for node in plan.walk() if not node.row_id] == []
    details = {node.operator: node.detail for node in plan.walk()}
    assert details["scan"] in ("r", "s")
    assert details["left join"] == "(`a_2` = `a_3`)"
    assert details["filter"] == "(`b` <> 'x FROM y')"
    assert details["grouped aggregation"].endswith("; COUNT(*) AS `count`")


def test_a_query_without_a_plan_has_a_reason() -> None:
    explanation = explain("SELECT a FROM w SORT BY a", WORLD)
    assert not explanation.incremental
    assert explanation.reason == "unsupported: SORT BY: no differentiation rule yet"
    assert explanation.sources == ("r",)
    assert (explanation.plan, explanation.change_query, explanation.row_id) == (None, None, None)


def test_a_plan_whose_operator_has_no_rule_is_shown_with_the_reason() -> None:
    rules = replace(RULES, operators={name: rule for name, rule in OPERATORS.items() if name != "left join"})
    explanation = explain(TOTALS, WORLD, rules=rules)
    assert not explanation.incremental
    assert explanation.reason == "unsupported: left join: no differentiation rule"
    assert explanation.plan is not None
    assert explanation.change_query is None


@pytest.mark.parametrize(
    "query", ["SELECT z FROM r", "SELECT reflect(a) AS y FROM r", "SELECT rand() AS y FROM r ORDER BY 1"]
)
def test_a_wrong_query_is_an_error(query: str) -> None:
    with pytest.raises(DefinitionError):
        explain(query, WORLD)


def test_an_expression_that_only_spark_can_type_is_full() -> None:
    explanation = explain("SELECT CAST(a AS DECIMAL(10, 2)) / 3 AS c FROM r", WORLD)
    assert not explanation.incremental
    assert "only Spark can type: / is not defined for (DECIMAL(10,2), INT)" in str(explanation.reason)


def test_the_examples_in_the_docstrings_hold() -> None:
    results = doctest.testmod(explanations)
    assert results.attempted > 0
    assert results.failed == 0


def test_the_change_query_is_shown_over_many_lines() -> None:
    shown = explain("SELECT a FROM r", WORLD).change_query
    assert shown is not None
    assert shown.startswith("SELECT\n  `a`,\n  (\n    CASE WHEN (")
    assert "\nFROM (\n  SELECT\n    `a`,\n    `$ROW_ID`," in shown


QUERIES = [
    TOTALS,
    "SELECT r.a, s.c FROM r FULL JOIN s ON r.a = s.a AND s.c <> '  FROM   (SELECT '",
    "SELECT a FROM r UNION SELECT a FROM s",
    "SELECT COUNT(*) AS n, MAX(b) AS m FROM r",
    "WITH t AS (SELECT a FROM s) SELECT p.a, q.a AS k FROM t p JOIN t q ON p.a < q.a",
]


@pytest.mark.parametrize("dialect", [SPARK, DUCKDB], ids=["spark", "duckdb"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_layout_of_the_change_query_changes_nothing_but_the_layout(query: str, dialect: Dialect) -> None:
    text = render(change_plan(bind_query(query, WORLD), RULES), dialect).text()
    shown = explain(query, WORLD, dialect=dialect).change_query
    assert shown is not None
    assert sqlglot.parse_one(shown, read=dialect.name) == sqlglot.parse_one(text, read=dialect.name)


@pytest.mark.parametrize("query", QUERIES)
def test_the_shown_change_query_runs(query: str) -> None:
    shown = explain(query, WORLD, dialect=DUCKDB).change_query
    assert shown is not None
    with duckdb.connect(":memory:") as database:
        for table in ("r", "s"):
            columns = WORLD[table]
            typed = ", ".join(
                f'"{name}" {DUCKDB.type_name(type_)}' for name, type_ in getattr(columns, "columns", ())
            )
            for end, extra in (("t0", ""), ("t1", ""), ("delta", ', "$ACTION" VARCHAR')):
                database.execute(f'CREATE TABLE "{table}@{end}" ({typed}{extra}, "$ROW_ID" VARCHAR)')
        database.execute("INSERT INTO \"s@t1\" VALUES (1, 'x', 'b1')")
        database.execute("INSERT INTO \"s@delta\" VALUES (1, 'x', 'INSERT', 'b1')")
        described = database.execute(shown).description
    assert [column[0] for column in described or ()][-2:] == ["$ACTION", "$ROW_ID"]


def test_declarations_are_read() -> None:
    declared = declare([" r ( a INT,B decimal(10, 2) , c String)"], ["v = SELECT a FROM r"])
    relation = declared["r"]
    assert getattr(relation, "columns", None) == (("a", INT), ("B", decimal(10, 2)), ("c", STRING))
    assert getattr(declared["v"], "text", None) == "SELECT a FROM r"
    assert "nope" not in declared


def test_a_struct_is_read_with_and_without_colons() -> None:
    declared = declare(["r(y STRUCT<a INT, b: ARRAY<STRUCT<c: INT>>>, d DECIMAL(5,2))"])
    bound = bind_query("SELECT y.a AS e, r.y.B AS f, struct(d, y.a AS e) AS g FROM r", declared)
    shown = [(name, str(column.type)) for name, column in bound.outputs]
    assert shown == [("e", "INT"), ("f", "ARRAY<STRUCT<c: INT>>"), ("g", "struct<`d`:decimal(5,2),`e`:int>")]
    with pytest.raises(DefinitionError, match=r"unknown table y in y\.c; in scope: r"):
        bind_query("SELECT y.c AS e FROM r", declared)


BAD_TABLES = {
    "r": "table 'r': write it as name(column TYPE, ...)",
    "r(a INT": "table 'r(a INT': write it as name(column TYPE, ...)",
    "1r(a INT)": "table '1r(a INT)': write it as name(column TYPE, ...)",
    "r()": "table r: '' is no column; write a name and a type",
    "r(a)": "table r: 'a' is no column; write a name and a type",
    "r(a INT,)": "table r: '' is no column; write a name and a type",
    "r(a INT, A STRING)": "table r: column A is declared twice",
    "r(a INTERVAL)": "column a: type INTERVAL is not supported; use TINYINT, SMALLINT, INT, BIGINT, "
    "DECIMAL(p,s), FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, VARIANT, "
    "ARRAY, MAP or STRUCT",
}


@pytest.mark.parametrize("text", BAD_TABLES)
def test_a_bad_declaration_is_named(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        declare([text])
    assert str(caught.value) == BAD_TABLES[text]


@pytest.mark.parametrize("text", ["v", "v=", "=SELECT 1", "1=SELECT a FROM r"])
def test_a_bad_view_is_named(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"write it as name=SELECT \.\.\.$"):
        declare([], [text])


def test_a_name_is_declared_once() -> None:
    with pytest.raises(DefinitionError, match=r"^R is declared twice$"):
        declare(["r(a INT)"], ["R=SELECT 1"])
