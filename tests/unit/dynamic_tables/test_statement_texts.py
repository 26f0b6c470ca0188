"""Which statements are admitted: all of Spark's functions and forms, over tables of the account."""

from __future__ import annotations

import pytest

from dynamic_tables.definition import BaseTable, Definition, View
from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.types import INT, STRING
from dynamic_tables.store.names.statements import check_statement

COLUMNS = (("k", INT), ("name", STRING))
TABLES = {"r": BaseTable("r", COLUMNS), "u": BaseTable("u", COLUMNS)}


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("DELETE FROM r /* all */ -- of them", "DELETE FROM r"),
        (
            "DELETE FROM r -- a\\b 'x\n WHERE name = '-- no /* comment'",
            "DELETE FROM r WHERE name = '-- no /* comment'",
        ),
        ("/* 'one */ DELETE /* \" two */ FROM r;", "DELETE FROM r"),
        (
            "INSERT INTO r SELECT 1L+2S, -3.5BD, 1.0F, 1e3, 2D FROM u--",
            "INSERT INTO r SELECT 1L+2S, -3.5BD, 1.0F, 1e3, 2D FROM u",
        ),
        ("RESTORE r TO VERSION AS OF 3; -- back", "RESTORE r TO VERSION AS OF 3"),
        ("TRUNCATE TABLE r", "DELETE FROM `r`"),
    ],
)
def test_comments_do_not_reach_spark(text: str, run: str) -> None:
    assert check_statement(text, TABLES).text == run


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM r WHERE name RLIKE '^a.b$' OR regexp_like(name, 'a') OR name ILIKE 'A%'",
        "DELETE FROM r WHERE DECODE(k, 1, TRUE, 2, FALSE)",
        "UPDATE r SET name = CURRENT_USER, k = try_cast(name AS INT)",
        "INSERT INTO r SELECT k, any_function(name) FROM u TABLESAMPLE (5 ROWS)",
        "INSERT INTO r SELECT * FROM explode(array(1)) AS e(k) JOIN (SELECT uuid())",
        "FROM u INSERT INTO r SELECT k, name",
        "INSERT INTO r SELECT * FROM u@v1 JOIN r VERSION AS OF 2 USING (k)",
        "MERGE INTO r USING parquet.`/x` p ON r.k = p.k WHEN MATCHED THEN DELETE",
        "MERGE INTO r USING other.u ON r.k = u.k WHEN NOT MATCHED THEN INSERT *",
    ],
)
def test_what_spark_takes_is_admitted(text: str) -> None:
    assert check_statement(text, TABLES).target == "r"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DELETE FROM r /* a /* b */ c */", "a comment holds /\\*, or ends with a backslash"),
        ("DELETE FROM r -- a \\\n WHERE k = 1", "a comment holds /\\*, or ends with a backslash"),
        ("DELETE FROM r /* a", "the text ends inside a string, a name or a comment"),
        ("UPDATE r SET k = 1 WHERE k IN (SELECT k FROM u)", "Delta takes no subquery in its WHERE"),
        ("DELETE FROM r WHERE EXISTS (SELECT 1 FROM u)", "write MERGE INTO"),
        ("FROM u INSERT INTO r SELECT k, '' INSERT INTO u SELECT k, ''", "write one statement for each"),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO r USING u ON r.k = u.k WHEN MATCHED THEN DELETE",
            "it may add columns; write CREATE OR REPLACE TABLE",
        ),
        ("INSERT INTO r SELECT k, `java_method`('a', 'b') FROM u", "function java_method may run"),
        ("INSERT INTO r SELECT * FROM identifier('u')", "function identifier may run or read anything"),
        ("INSERT INTO r SELECT system.builtin.upper(name), 1 FROM u", "functions go by their plain names"),
        ("INSERT INTO other.r SELECT 1, ''", "write the plain name of a base table"),
        ("DELETE FROM r; DELETE FROM r", "a statement is one INSERT"),
        ("INSERT INTO d SELECT 1, ''", "d is no base table; statements read"),
    ],
)
def test_what_is_refused_is_said_with_the_statement(text: str, why: str) -> None:
    known: dict[str, Definition] = {**TABLES, "d": View("d", "SELECT k, name FROM r")}
    with pytest.raises(DefinitionError, match=why) as caught:
        check_statement(text, known)
    assert str(caught.value).startswith(" ".join(text.split())[:50])
    assert "\n" not in str(caught.value)
