"""Text that is not one SELECT: refused in one line that says where and what, in the user's terms."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, strategies as st

from dynamic_tables.errors import DefinitionError
from dynamic_tables.reading.text.parse import parse_query
from dynamic_tables.reading.text.spark_text import SparkText

PLACES = {
    "SELECT": "line 1, column 1: something is missing after 'SELECT'",
    "SELECT FROM r": "line 1, column 1: something is missing after 'SELECT'",
    "SELECT a, FROM r": "line 1, column 9: something is missing after ','",
    "SELECT a,, b FROM r": "line 1, column 9: something is missing after ','",
    "FROM r |> DROP a": (
        "line 1, column 11: the pipe operator DROP is not read; write it as |> SELECT, or as a sub-select"
    ),
    "SELECT a FROM": "line 1, column 10: expected table name but got the end, near 'FROM'",
    "SELECT a FROM r JOIN": "line 1, column 17: expected table name but got the end, near 'JOIN'",
    "SELECT a FROM r WHERE": "line 1, column 17: something is missing after 'WHERE'",
    "SELECT\n  a\nFROM r WHERE a = = 1": "line 3, column 18: something is missing after '='",
    "SELECT a FRM r": "line 1, column 14: unexpected 'r'",
    "SELECT a FROM r)": "line 1, column 16: unexpected ')'",
    "SELECT (a FROM r": "line 1, column 11: expecting ), near 'FROM'",
    "SELECT coalesce() AS y FROM r": "line 1, column 17: something is missing before ')'",
    "SELECT CASE WHEN f THEN 1 FROM r": "line 1, column 25: expected END after CASE, near '1'",
    "SELECT 'abc FROM r": "line 1, column 8: ' is not closed",
    "SELECT a\nFROM `r": "line 2, column 6: ` is not closed",
    "/* never ends": "line 1, column 14: the text ends inside a string, a name or a comment",
}

NOT_ONE_SELECT = {
    "": "nothing",
    " \n ": "nothing",
    "-- only a comment": "nothing",
    "SELECT a FROM r; SELECT 1": "2 statements",
    "SELECT a FROM r; DROP TABLE r": "2 statements",
    "DROP TABLE r": "DROP",
    "CREATE TABLE x AS SELECT a FROM r": "CREATE",
    "INSERT INTO r VALUES (1)": "INSERT",
    "UPDATE r SET a = 1": "UPDATE",
    "DELETE FROM r": "DELETE",
    "SET spark.x = 1": "SET",
    "EXPLAIN SELECT a FROM r": "COMMAND",
    "VALUES (1)": "VALUES",
}


@pytest.mark.parametrize("query", PLACES)
def test_a_syntax_error_says_where_and_what(query: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_query(query)
    assert str(caught.value) == f"syntax error at {PLACES[query]}"


@pytest.mark.parametrize("query", NOT_ONE_SELECT)
def test_only_one_select_is_a_query(query: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_query(query)
    assert str(caught.value) == f"a defining query is one SELECT; found {NOT_ONE_SELECT[query]}"


def test_a_refused_statement_writes_no_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(DefinitionError):
        parse_query("SHOW TABLES IN nowhere")
    assert caplog.records == []


@pytest.mark.parametrize("query", ["SELECT a FROM r;", "(SELECT a FROM r)", "SELECT a FROM r -- done"])
def test_harmless_wrapping_is_accepted(query: str) -> None:
    assert parse_query(query).find(type(parse_query("SELECT 1 AS x")))


def test_a_query_nested_beyond_the_stack_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"^the query is nested too deeply$"):
        parse_query(f"SELECT {'(' * 3000}a{')' * 3000} FROM r")


WORDS = (
    "SELECT FROM WHERE GROUP BY a b r 1 'x' ( ) , ; * + = ` ' \" JOIN ON UNION ALL CASE END MAP IN".split()
)


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_text_parses_or_is_refused_in_one_line_without_the_parsers_words(text: str) -> None:
    message = refusal(text)
    assert [noise for noise in ("\n", "sqlglot", "TokenType", "SENTINEL", "<class") if noise in message] == []


def test_an_assertion_of_the_parser_is_a_refusal() -> None:
    assert "cannot be read as one SELECT" in refusal("FROM r |> UNION ALL TABLE r")


def refusal(text: str) -> str:
    try:
        parse_query(text)
    except DefinitionError as error:
        return str(error)
    return ""


def test_a_compiled_parser_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(SparkText, "parser", refusing)
    with pytest.raises(DefinitionError, match=r"sqlglotc is installed, .*: pip uninstall sqlglotc"):
        parse_query("SELECT a FROM never_read_before")
