"""Scripts of users: what is read from them, and one line that helps where something cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from given.facts import Resolver, in_order
from given.script import ScriptError, read_scripts
from workload.scenario import RefreshMode

SHOP = """
-- Tables may come after what reads them.
CREATE DYNAMIC TABLE totals TARGET_LAG = '5 minutes' REFRESH_MODE = FULL AS
  -- a comment; with a semicolon
  SELECT region, SUM(n) AS n FROM busy GROUP BY region;
CREATE OR REPLACE DYNAMIC TABLE busy AS
SELECT s.region, v.n FROM shops s JOIN visits v ON v.shop = s.id;
CREATE TABLE shops (id INT PRIMARY KEY, region VARCHAR(10) NOT NULL, size DECIMAL(5) CHECK (size > 0));
CREATE TABLE visits (shop INT REFERENCES shops, n INT, `at` TIMESTAMP_NTZ, UNIQUE (shop, at));
"""


def script(tmp_path: Path, text: str) -> Path:
    """A folder with one script."""
    (tmp_path / "a.sql").write_text(text)
    return tmp_path


def test_a_script_is_read_with_promises_lags_and_modes(tmp_path: Path) -> None:
    read = read_scripts(script(tmp_path, SHOP))
    shops, visits = read.tables
    assert [str(column.type) for column in shops.table.columns] == ["INT", "STRING", "DECIMAL(5,0)"]
    assert shops.keys == (("id",),)
    assert shops.required == {"id", "region"}
    assert [check.sql() for check in shops.checks] == ["size > 0"]
    assert visits.foreign == ((("shop",), "shops", ()),)
    assert visits.keys == (("shop", "at"),)
    totals, busy = read.definitions
    assert (totals.name, totals.lag, totals.mode) == ("totals", 300_000_000, RefreshMode.FULL)
    assert totals.text == "SELECT region, SUM(n) AS n FROM busy GROUP BY region"
    assert (totals.place.line, totals.line) == (3, 5)
    assert (busy.lag, busy.mode) == (None, RefreshMode.AUTO)


def test_definitions_come_after_those_that_they_read(tmp_path: Path) -> None:
    read = read_scripts(script(tmp_path, SHOP))
    ordered, circular = in_order(read)
    assert ([definition.name for definition in ordered], circular) == (["busy", "totals"], {})


def test_names_of_several_parts_become_names_of_one(tmp_path: Path) -> None:
    read = read_scripts(
        script(
            tmp_path,
            "CREATE TABLE raw.stores (id INT PRIMARY KEY, place STRUCT<city: STRING>);\n"
            "CREATE TABLE `raw`.Sales (id INT, store INT REFERENCES raw.stores (id));\n"
            "CREATE DYNAMIC TABLE mart.by_city AS\n"
            "SELECT s.place.city, COUNT(raw.sales.id) AS n, MAX(sales.id) AS last\n"
            "FROM lake.\n raw.stores s JOIN `raw`.sales ON sales.store = s.id GROUP BY s.place.city;\n"
            "CREATE TABLE lake.raw.stores (id INT, place STRUCT<city: STRING>);",
        )
    )
    stores, sales, other = read.tables
    assert [each.table.name for each in read.tables] == ["raw__stores", "raw__sales", "lake__raw__stores"]
    assert sales.foreign == ((("store",), "raw__stores", ("id",)),)
    assert (stores.place.line, other.place.line) == (1, 7)
    (by_city,) = read.definitions
    assert (by_city.name, by_city.line) == ("mart__by_city", 4)
    assert by_city.text == (
        "SELECT s.place.city, COUNT(sales.id) AS n, MAX(sales.id) AS last\n"
        "FROM lake__raw__stores\n s JOIN raw__sales AS sales ON sales.store = s.id GROUP BY s.place.city"
    )


def test_a_part_of_a_name_that_is_no_word_is_read_too(tmp_path: Path) -> None:
    text = "CREATE TABLE `my-db`.`t 1` (a INT);\nCREATE DYNAMIC TABLE d AS SELECT `t 1`.a FROM `my-db`.`t 1`;"
    read = read_scripts(script(tmp_path, text))
    assert read.tables[0].table.name == "my_db__t_1"
    assert read.definitions[0].text == "SELECT `t 1`.a FROM my_db__t_1 AS `t 1`"


def test_a_script_of_windows_and_a_name_with_a_blank_are_read(tmp_path: Path) -> None:
    text = "\ufeffCREATE TABLE `Order Lines` (a INT);\r\n\r\nCREATE VIEW v AS SELECT a FROM `order lines`"
    (tmp_path / "a.sql").write_bytes(text.encode())
    read = read_scripts(tmp_path)
    assert [each.table.name for each in read.tables] == ["order_lines"]
    (view,) = read.definitions
    assert (view.text, view.line) == ("SELECT a FROM order_lines AS `order lines`", 3)


def test_functions_are_written_out_where_they_are_called(tmp_path: Path) -> None:
    text = (
        "CREATE TABLE r (k INT, v INT);\n"
        "CREATE FUNCTION twice(x INT) RETURNS INT\nRETURN 2 * x;\n"
        "CREATE FUNCTION more(x INT, y INT) RETURNS BIGINT RETURN twice(x) + r.y;\n"
        "CREATE DYNAMIC TABLE t AS SELECT k, more(v,\n twice(k)) AS w FROM r;\n"
        "CREATE DYNAMIC TABLE u AS SELECT k FROM r;"
    )
    first, second = read_scripts(script(tmp_path, text)).definitions
    twice = "CAST((2 * CAST({} AS INT)) AS INT)"
    value = f"CAST(({twice.format('CAST(v AS INT)')} + r.y) AS BIGINT)"
    assert first.text.replace("\n", "") == f"SELECT k, {value} AS w FROM r"
    assert (first.place.line, second.place.line) == (5, 7)


TABLE = "CREATE TABLE t (a INT);\n"
REFUSED = {
    "CREATE DYNAMIC TABLE x AS SELECT a, COUNT(* FROM t;": "line 2: the statement cannot be read",
    "INSERT INTO t VALUES (1);": "line 2: INSERT INTO t is none of CREATE TABLE",
    "CREATE TABLE u AS SELECT 1 AS a;": "line 2: a table is given by its columns",
    "CREATE TABLE t (b INT);": "line 2: t is defined twice, first in",
    "CREATE TABLE u (a INT, A STRING);": "line 2: table u has the column a twice; rename one",
    "CREATE TABLE u (a CHAR(3));": "line 2: column a is a CHAR",
    "CREATE TABLE u (`a b` INT);": "line 2: table u: 'a b' is no name of a column here",
    "CREATE TABLE u (a INT CHECK (b > 0));": "line 2: table u has no column b, which a CHECK names",
    "CREATE TABLE u (a INT REFERENCES w);": "line 2: a foreign key of u names w, which no script creates",
    "CREATE TABLE u (a INT REFERENCES t);": "line 2: a foreign key of u does not fit the columns of t",
    "CREATE TABLE u (a INT, PRIMARY KEY (b));": "line 2: table u has no column b, which a key names",
    "CREATE DYNAMIC TABLE x TARGET_LAG = 'soon' AS SELECT a FROM t;": "line 2: TARGET_LAG is 'soon'",
    "CREATE FUNCTION f(x INT) RETURN x;": "line 2: write CREATE FUNCTION f(x TYPE, ..) RETURNS TYPE",
    "CREATE FUNCTION f(x INT) RETURNS INT RETURN x; CREATE VIEW v AS SELECT f(a, a) FROM t;": (
        "function f takes 1 arguments, and a call has 2"
    ),
    "CREATE FUNCTION f(x INT) RETURNS INT RETURN f(x); CREATE VIEW v AS SELECT f(a) FROM t;": "in a circle",
    "CREATE DYNAMIC TABLE x REFRESH_MODE = SLOW AS SELECT a FROM t;": "line 2: REFRESH_MODE is SLOW",
}


@pytest.mark.parametrize(("statement", "message"), REFUSED.items())
def test_what_cannot_be_used_is_named_with_its_line(tmp_path: Path, statement: str, message: str) -> None:
    """What creates a name leaves the other statements alone; what creates none, or twice, stops all."""
    try:
        (unfit,) = read_scripts(script(tmp_path, TABLE + statement)).unfit.values()
        refused = unfit.wrong
    except ScriptError as error:
        refused = str(error)
    assert message in refused
    assert "a.sql" in refused
    assert "\n" not in refused


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("CREATE TABLE", "a.b"),
        ("CREATE TABLE IF NOT EXISTS", "b"),
        ("CREATE OR REPLACE DYNAMIC TABLE", "`A`.b"),
        ("create view", "b"),
    ],
)
def test_a_torn_statement_is_known_by_the_name_that_it_creates(tmp_path: Path, head: str, name: str) -> None:
    read = read_scripts(script(tmp_path, f"{TABLE}{head} {name} AS SELECT (;"))
    assert list(read.unfit) == ["a__b" if "." in name else "b"]


def test_a_circle_and_an_unknown_source_are_named(tmp_path: Path) -> None:
    circle = "CREATE VIEW v AS SELECT * FROM w;\nCREATE VIEW w AS SELECT * FROM v;"
    _, circular = in_order(read_scripts(script(tmp_path, circle)))
    assert circular["v"].endswith("line 1: v reads w reads v; remove one of these readings")
    assert circular["w"].endswith("line 2: w reads v reads w; remove one of these readings")
    read = read_scripts(script(tmp_path, f"{TABLE}CREATE VIEW v AS\nSELECT * FROM t, missing;"))
    with pytest.raises(ScriptError, match=r"line 3: v reads missing, which no script creates"):
        Resolver(read).resolve(read.definitions[0])


def test_a_folder_without_scripts_is_no_pass(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="no file that ends in"):
        read_scripts(tmp_path)
    with pytest.raises(ScriptError, match="no such file or folder"):
        read_scripts(tmp_path / "none")
