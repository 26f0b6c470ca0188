"""`dvs explain` and `dvs operators`: what they print, and their exit status."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.exit_codes import ExitCode
from dynamic_tables.differentiate.registry import NOT_YET, OPERATORS
from dynamic_tables.plan.functions import FUNCTIONS

TABLE = ["--table", "r(a INT, b STRING, m DECIMAL(10,2))"]


def dvs(*arguments: str) -> Result:
    """The command line, in this process."""
    return CliRunner().invoke(main, list(arguments))


def test_explain_shows_tree_ids_and_change_query() -> None:
    result = dvs("explain", "SELECT b, COUNT(*) AS n FROM r WHERE a > 1 GROUP BY b", *TABLE)
    assert result.exit_code == ExitCode.OK
    lines = result.stdout.splitlines()
    assert lines[:3] == ["incremental: true", "sources: r", "columns: b STRING, n BIGINT"]
    assert "    grouped aggregation: by `b` AS `b_2`; COUNT(*) AS `count`" in lines
    assert "      filter: (`a` > 1)" in lines
    assert lines[3] == "maintained from hidden columns: $STATE_rows"
    assert "change query, which gives the same changes (spark)" in lines
    assert "  FROM `r@delta`" in [line[2:] for line in lines]


def test_explain_in_json() -> None:
    answer = json.loads(
        dvs("explain", "SELECT a FROM v", *TABLE, "--view", "v=SELECT a FROM r", "--json").stdout
    )
    assert list(answer) == [
        *("incremental", "reason", "sources", "columns", "plan", "change_query", "row_id", "hidden"),
        *("frozen_where", "operators"),
    ]
    assert answer["incremental"] is True
    assert answer["reason"] is None
    assert answer["operators"] == ["projection", "scan"]
    assert answer["columns"] == [{"name": "a", "type": "INT"}]
    assert answer["sources"] == ["r"]
    assert answer["row_id"] == "`$ROW_ID`"
    assert answer["plan"]["children"][0]["children"][0]["detail"] == "r"


def test_explain_shows_the_key_of_a_source() -> None:
    result = dvs("explain", "SELECT a FROM r", "--table", "r(b STRING, a INT, PRIMARY KEY (A))")
    assert "scan: r by its key (a)" in map(str.strip, result.stdout.splitlines())
    wrong = dvs("explain", "SELECT a FROM r", "--table", "r(a INT, PRIMARY KEY (z))")
    assert wrong.exit_code == ExitCode.MISUSE
    assert "r has no column z for its primary key; there are: a" in wrong.output


def test_explain_shows_the_frozen_part_and_keeps_no_hidden_columns_for_it() -> None:
    grouped = "SELECT a, COUNT(*) AS n FROM r GROUP BY a"
    lines = dvs("explain", grouped, *TABLE, "--frozen-where", "a < 7").stdout.splitlines()
    assert lines[:4] == [
        "incremental: true",
        "sources: r",
        "columns: a INT, n BIGINT",
        "frozen: rows with a < 7",
    ]
    assert "change query (spark)" in lines
    first = dvs("explain", "SELECT a FROM r ORDER BY a LIMIT 1", *TABLE, "--frozen-where", "a < 7")
    assert (
        "reason: unsupported: LIMIT: the first rows are found among all, frozen ones included" in first.stdout
    )
    thawing = dvs("explain", grouped, *TABLE, "--frozen-where", "a > length(current_date())")
    assert thawing.exit_code == ExitCode.MISUSE
    assert "rows may only become frozen as time goes on" in thawing.output


def test_explain_in_duckdbs_words() -> None:
    result = dvs("explain", "SELECT a FROM r", *TABLE, "--dialect", "duckdb")
    assert 'FROM "r@delta"' in result.stdout
    assert "`" not in result.stdout


def test_a_function_that_only_spark_knows_is_no_last_word() -> None:
    result = dvs("explain", "SELECT md5(b) AS h FROM r", *TABLE)
    assert "reason: unsupported: function md5" in result.stdout
    assert "an account passes such a function to Spark" in result.stdout


def test_a_query_without_a_rule_is_explained_and_well() -> None:
    query = ("explain", "SELECT a FROM r SORT BY a", *TABLE)
    reason = "unsupported: SORT BY: no differentiation rule yet"
    result = dvs(*query)
    assert result.exit_code == ExitCode.OK
    assert result.stdout.splitlines()[:2] == ["incremental: false", f"reason: {reason}"]
    answer = json.loads(dvs(*query, "--json").stdout)
    assert (answer["incremental"], answer["reason"], answer["plan"]) == (False, reason, None)


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("SELECT z FROM r", TABLE, "unknown column z; in scope: r.a, r.b, r.m"),
        ("SELECT a FROM nope", TABLE, "unknown table nope; create the table or correct the name"),
        (
            "SELECT a FROM",
            TABLE,
            "syntax error at line 1, column 10: expected table name but got the end, near 'FROM'",
        ),
        (
            "SELECT rand() AS y FROM r",
            TABLE,
            "function rand is refused: its value does not depend on the data alone",
        ),
        ("SELECT a FROM r", ["--table", "r a INT"], "table 'r a INT': write it as name(column TYPE, ...)"),
        ("SELECT a FROM r", ["--table", "r(a)"], "table r: 'a' is no column; write a name and a type"),
        ("SELECT a FROM r", [*TABLE, *TABLE], "r is declared twice"),
        ("SELECT a FROM r", [*TABLE, "--view", "v"], "view 'v': write it as name=SELECT ..."),
    ],
)
def test_a_wrong_request_is_one_line_and_misuse(query: str, options: list[str], message: str) -> None:
    result = dvs("explain", query, *options)
    assert result.exit_code == ExitCode.MISUSE
    assert result.stderr == f"error: {message}\n"
    assert result.stdout == ""


def test_operators_come_from_the_registries() -> None:
    answer = json.loads(dvs("operators", "--json").stdout)
    assert {row["operator"] for row in answer["operators"] if row["incremental"]} == OPERATORS.keys()
    assert {
        row["operator"]: row["reason"] for row in answer["operators"] if not row["incremental"]
    } == NOT_YET
    assert set(FUNCTIONS) < set(answer["functions"])
    assert answer["aggregates"][:7] == ["COUNT", "SUM", "AVG", "MIN", "MAX", "BOOL_AND", "BOOL_OR"]
    assert {"STDDEV_SAMP", "MAX_BY", "LISTAGG", "sort_array(COLLECT_LIST)"} < set(answer["aggregates"])


def test_operators_in_markdown_are_one_table_and_lists() -> None:
    lines = dvs("operators", "--markdown").stdout.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + len(OPERATORS) + len(NOT_YET)
    assert {row.replace(r"\|", "").count("|") for row in rows} == {7}
    for name in (*OPERATORS, *NOT_YET):
        assert any(row.startswith(f"| {name} |") for row in rows)
    assert any(line.startswith("**Aggregates**: `COUNT, SUM, AVG, MIN, MAX, BOOL_AND") for line in lines)


def test_operators_on_a_terminal_names_them_all() -> None:
    result = dvs("operators")
    assert result.exit_code == ExitCode.OK
    assert "grouped" in result.stdout
    assert "  recursive CTE: no differentiation rule yet" in result.stdout


def test_one_format_at_a_time() -> None:
    assert dvs("operators", "--json", "--markdown").exit_code == ExitCode.MISUSE
