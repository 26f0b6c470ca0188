"""Every function of the registry has Spark's type, and DuckDB's rendering of it has the same one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, strategies as st

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.expressions import Fn, walk
from dynamic_tables.plan.functions import CASE, CAST, FUNCTIONS, IN, WINDOW_END
from dynamic_tables.plan.nodes import Aggregate, walk as nodes
from dynamic_tables.plan.time import expressions
from dynamic_tables.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Kind,
    Type,
    common,
    decimal,
    sum_type,
)
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.values.aggregates import AGGREGATES
from dynamic_tables.reading.values.literals import nearest_float
from tests.unit.dynamic_tables.reading import read, schema

TYPES = {
    "+": [("a + n", "BIGINT"), ("a + x", "DOUBLE"), ("m + m", "DECIMAL(11,2)"), ("m + 1", "DECIMAL(11,2)")],
    "-": [("a - n", "BIGINT"), ("m - a", "DECIMAL(13,2)")],
    "*": [("a * a", "INT"), ("m * m", "DECIMAL(21,4)"), ("m * 1.5", "DECIMAL(13,3)"), ("m * x", "DOUBLE")],
    "/": [("a / n", "DOUBLE"), ("x / a", "DOUBLE")],
    "%": [("a % n", "BIGINT"), ("m % 2", "DECIMAL(3,2)")],
    "negate": [("-a", "INT"), ("-m", "DECIMAL(10,2)"), ("-x", "DOUBLE")],
    "abs": [("abs(a)", "INT"), ("ABS(m)", "DECIMAL(10,2)")],
    "=": [("a = n", "BOOLEAN"), ("a == 1", "BOOLEAN"), ("d = ts", "BOOLEAN")],
    "<>": [("a <> n", "BOOLEAN"), ("b != 'x'", "BOOLEAN")],
    "<": [("a < x", "BOOLEAN")],
    "<=": [("m <= a", "BOOLEAN")],
    ">": [("d > DATE '2020-01-01'", "BOOLEAN")],
    ">=": [("ts >= TIMESTAMP_NTZ '2020-01-01 00:00:00'", "BOOLEAN")],
    "is not distinct from": [("a <=> n", "BOOLEAN"), ("a IS NOT DISTINCT FROM 1", "BOOLEAN")],
    "is distinct from": [("a IS DISTINCT FROM n", "BOOLEAN")],
    "between": [("a BETWEEN 1 AND n", "BOOLEAN"), ("a NOT BETWEEN 1 AND 2", "BOOLEAN")],
    "and": [("f AND a > 1", "BOOLEAN")],
    "or": [("f OR a > 1", "BOOLEAN")],
    "not": [("NOT f", "BOOLEAN"), ("b NOT LIKE 'x%'", "BOOLEAN")],
    "is null": [("a IS NULL", "BOOLEAN"), ("a IS NOT NULL", "BOOLEAN")],
    "is true": [("f IS TRUE", "BOOLEAN")],
    "is false": [("f IS NOT FALSE", "BOOLEAN")],
    "coalesce": [("coalesce(a, n, m)", "DECIMAL(22,2)"), ("ifnull(a, 1)", "INT"), ("nvl(b, '')", "STRING")],
    "nullif": [("nullif(a, n)", "INT")],
    "greatest": [("greatest(a, n)", "BIGINT")],
    "least": [("least(a, x)", "DOUBLE")],
    "concat": [("b || 'x'", "STRING"), ("concat(b, 'x', b)", "STRING")],
    "upper": [("upper(b)", "STRING"), ("ucase(b)", "STRING")],
    "lower": [("lower(b)", "STRING"), ("lcase(b)", "STRING")],
    "trim": [("trim(b)", "STRING")],
    "length": [("length(b)", "INT"), ("char_length(b)", "INT")],
    "substring": [("substring(b, 1, 2)", "STRING"), ("substr(b, 1, 2)", "STRING")],
    "replace": [("replace(b, 'x', 'y')", "STRING"), ("replace(b, 'x')", "STRING")],
    "like": [("b LIKE 'x%'", "BOOLEAN"), ("b LIKE '50!%' ESCAPE '!'", "BOOLEAN")],
    "rlike": [("b RLIKE '^(a|b)+'", "BOOLEAN"), ("regexp_like(b, 'a*')", "BOOLEAN")],
    "date_add": [("date_add(d, 1)", "DATE")],
    WINDOW_END: [("window(ts, '1 hour').start", "TIMESTAMP_NTZ"), ("window(d, '1 day').end", "TIMESTAMP")],
    "datediff": [("datediff(d, DATE '2020-01-01')", "INT")],
    "year": [("year(d)", "INT")],
    "month": [("month(d)", "INT")],
    "day": [("day(d)", "INT")],
    "array": [("array(a, n)", "array<bigint>"), ("array(m, 1)", "array<decimal(12,2)>")],
    "split": [("split(b, ',')", "array<string>")],
    CASE: [
        ("decode(a, 1, 'x', NULL, 'y', b)", "STRING"),
        ("decode(a, 1, n, 2, a, 0)", "BIGINT"),
        ("CASE WHEN f THEN a WHEN a > 1 THEN n END", "BIGINT"),
        ("CASE a WHEN 1 THEN 'x' ELSE NULL END", "STRING"),
        ("if(f, a, m)", "DECIMAL(12,2)"),
    ],
    IN: [("a IN (1, n)", "BOOLEAN"), ("b NOT IN ('x', 'y')", "BOOLEAN")],
    CAST: [
        ("CAST(a AS BIGINT)", "BIGINT"),
        ("CAST(n AS STRING)", "STRING"),
        ("b::INT", "INT"),
        ("CAST(a AS DECIMAL(12,3))", "DECIMAL(12,3)"),
        ("CAST(d AS TIMESTAMP_NTZ)", "TIMESTAMP_NTZ"),
        ("CAST(f AS INT)", "INT"),
    ],
}  # fmt: skip

OF_OTHER_TYPES = {
    "t + h": "SMALLINT", "h * a": "INT", "t - 1Y": "TINYINT", "e + e": "FLOAT", "e * a": "DOUBLE",
    "e - x": "DOUBLE", "t / h": "DOUBLE", "e / e": "DOUBLE", "-t": "TINYINT", "abs(e)": "FLOAT",
    "t % 2Y": "TINYINT", "coalesce(t, h)": "SMALLINT", "greatest(e, a)": "DOUBLE", "nullif(y, X'')": "BINARY",
    "if(t > h, e, t)": "DOUBLE", "e = a": "BOOLEAN", "y < X'ff'": "BOOLEAN", "at > ts": "BOOLEAN",
    "coalesce(at, ts)": "TIMESTAMP", "coalesce(at, DATE '2024-01-01')": "TIMESTAMP",
    "t + 1.5": "DECIMAL(5,1)", "1Y * 1.5": "DECIMAL(6,1)", "1S * 1.5": "DECIMAL(4,1)",
    "at = '2024-01-01'": "BOOLEAN", "CAST(a AS TINYINT)": "TINYINT",
    "CAST(at AS DATE)": "DATE",
    "SUM(t)": "BIGINT", "SUM(e)": "DOUBLE", "AVG(h)": "DOUBLE", "MIN(y)": "BINARY", "MAX(at)": "TIMESTAMP",
}  # fmt: skip

LITERALS = {
    "1": INT,
    "2147483647": INT,
    "-2147483648": INT,
    "2147483648": BIGINT,
    "-9223372036854775808": BIGINT,
    "1L": BIGINT,
    "1Y": TINYINT,
    "-128S": SMALLINT,
    "-128Y": TINYINT,
    "-32768S": SMALLINT,
    "-9223372036854775808L": BIGINT,
    "0.1F": FLOAT,
    "CAST('-Infinity' AS FLOAT)": FLOAT,
    "X'00fF'": BINARY,
    "TIMESTAMP '2020-02-29 12:34:56'": TIMESTAMP,
    "1.50": decimal(3, 2),
    "-0.05": decimal(2, 2),
    "1e3": DOUBLE,
    "1D": DOUBLE,
    "TRUE": BOOLEAN,
    "'x'": STRING,
    '"x"': STRING,
    "DATE '2020-02-29'": DATE,
    "TIMESTAMP_NTZ '2020-02-29 12:34:56'": TIMESTAMP_NTZ,
    "CAST(NULL AS DECIMAL(5,1))": decimal(5, 1),
    "CAST('NaN' AS DOUBLE)": DOUBLE,
    "CAST('-7' AS BIGINT)": BIGINT,
}

AGGREGATED = {
    "COUNT": [("COUNT(*)", "BIGINT"), ("COUNT(b)", "BIGINT"), ("COUNT(DISTINCT b)", "BIGINT")],
    "SUM": [("SUM(a)", "BIGINT"), ("SUM(m)", "DECIMAL(20,2)"), ("SUM(DISTINCT x)", "DOUBLE")],
    "AVG": [("AVG(a)", "DOUBLE"), ("avg(x)", "DOUBLE")],
    "MIN": [("MIN(b)", "STRING"), ("MIN(d)", "DATE")],
    "BOOL_AND": [("bool_and(f)", "BOOLEAN")],
    "BOOL_OR": [("bool_or(f)", "BOOLEAN")],
    "MAX": [("MAX(m)", "DECIMAL(10,2)"), ("MAX(f)", "BOOLEAN"), ("MAX(ts)", "TIMESTAMP_NTZ")],
}  # fmt: skip

HELD = (
    "TINYINT, SMALLINT, INT, BIGINT, DECIMAL(p,s), FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP "
    "or TIMESTAMP_NTZ"
)
NO_AGGREGATE = "COUNT stands where no aggregate may: in WHERE, ON, GROUP BY or in another aggregate"

ILL_TYPED = {
    "a + b": "+ is not defined for (INT, STRING); cast the arguments to types that meet",
    "d * 1": "* is not defined for (DATE, INT); cast the arguments to types that meet",
    "m / 2": "/ is not defined for (DECIMAL(10,2), INT); cast the arguments to types that meet",
    "a = b": "= is not defined for (INT, STRING); cast the arguments to types that meet",
    "b || a": "concat is not defined for (STRING, INT); cast the arguments to types that meet",
    "ts - ts": "(TIMESTAMP_NTZ, TIMESTAMP_NTZ): their difference is an INTERVAL; write datediff(..) or "
    "timestampdiff(SECOND, ..)",
    "NOT a": "not is not defined for (INT); cast the arguments to types that meet",
    "abs(b)": "abs is not defined for (STRING); cast the arguments to types that meet",
    "year(ts)": "year is not defined for (TIMESTAMP_NTZ); cast the arguments to types that meet",
    "b IN (1, 2)": "IN compares STRING, INT, INT; cast them to types that meet",
    "a IN ()": "IN () compares with nothing; list at least one value",
    "CASE WHEN f THEN a ELSE b END": "the branches of a CASE have types that do not meet; cast them",
    "CASE WHEN a THEN 1 ELSE 2 END": "a condition of a CASE is no BOOLEAN; write a comparison",
    "SUM(b)": "SUM is not defined for STRING",
    "AVG(d)": "AVG is not defined for DATE",
    "SUM(COUNT(*))": NO_AGGREGATE,
    "9223372036854775808": (
        "literal 9223372036854775808 is outside BIGINT; write a smaller number, or a DECIMAL"
    ),
    "1e400": "literal 1e400 is larger than any DOUBLE",
    f"0.{'1' * 39}": f"literal 0.{'1' * 39} has too many digits; a DECIMAL holds at most 38",
    "CAST('x' AS INT)": "'x' is no INT",
    "CAST('1_000' AS INT)": "'1_000' is no INT",
    "CAST('2147483648' AS INT)": "'2147483648' is no INT",
    "DATE '2020-02-30'": "'2020-02-30' is no DATE",
    "DATE '20200229'": "'20200229' is no DATE",
    "CAST('128' AS TINYINT)": "'128' is no TINYINT",
    "X'0'": "X'0' is no BINARY: write two hexadecimal digits a byte",
    "CAST(a AS INTERVAL)": f"type INTERVAL is not supported; use {HELD}",
    "CAST(a AS DECIMAL(39,0))": f"type DECIMAL(39, 0) is not supported; use {HELD}",
}  # fmt: skip

CONDITIONS = {
    "SELECT a FROM r WHERE a": "WHERE is of type INT; it must be BOOLEAN",
    "SELECT r.a FROM r JOIN s ON r.b": "ON is of type STRING; it must be BOOLEAN",
    "SELECT b FROM r GROUP BY b HAVING COUNT(*)": "HAVING is of type BIGINT; it must be BOOLEAN",
    "SELECT a FROM r WHERE COUNT(*) > 1": NO_AGGREGATE,
}  # fmt: skip


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE r AS SELECT 3::INTEGER AS a, '7' AS b, 5::BIGINT AS n, 1.25::DECIMAL(10,2) AS m,"
            " 0.5::DOUBLE AS x, true AS f, DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 12:00:00' AS ts"
        )
        connection.execute(
            "CREATE TABLE q AS SELECT 3::TINYINT AS t, 4::SMALLINT AS h, 5::INTEGER AS a, 0.5::FLOAT AS e,"
            " 0.5::DOUBLE AS x, unhex('00ff') AS y, TIMESTAMP '2024-02-29 12:00:00' AS at,"
            " TIMESTAMP '2024-02-29 12:00:00' AS ts"
        )
        yield connection


def typed(expressions: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    return [(name, text, type_) for name, pairs in expressions.items() for text, type_ in pairs]


def duckdb_type(database: duckdb.DuckDBPyConnection, expression: str, source: str = "r") -> str:
    query = render(read(f"SELECT {expression} AS y FROM {source}").plan, DUCKDB).text()
    row = database.execute(f"SELECT typeof(COLUMNS(*)) FROM ({query})").fetchone()
    assert row is not None
    return str(row[0])


def as_duckdb(type_: str) -> str:
    names = {"INT": "INTEGER", "STRING": "VARCHAR", "TIMESTAMP_NTZ": "TIMESTAMP", "BINARY": "BLOB"}
    if type_.startswith("array<"):
        return f"{as_duckdb(type_[6:-1].upper())}[]"
    return names.get(type_, type_)


def test_every_function_and_aggregate_has_its_line_here() -> None:
    assert TYPES.keys() == {*FUNCTIONS, CASE, IN, CAST}
    assert AGGREGATED.keys() == set(AGGREGATES.values())


@pytest.mark.parametrize(("name", "text", "type_"), typed(TYPES))
def test_a_function_has_its_type_in_both_dialects(
    name: str, text: str, type_: str, database: duckdb.DuckDBPyConnection
) -> None:
    bound = read(f"SELECT {text} AS y FROM r")
    assert str(bound.schema[0][1]) == type_
    used = (part for node in nodes(bound.plan) for expr in expressions(node) for part in walk(expr))
    assert name in {part.name for part in used if isinstance(part, Fn)}
    assert duckdb_type(database, text) == as_duckdb(type_)


@pytest.mark.parametrize(("name", "text", "type_"), typed(AGGREGATED))
def test_an_aggregate_has_its_type_in_both_dialects(
    name: str, text: str, type_: str, database: duckdb.DuckDBPyConnection
) -> None:
    bound = read(f"SELECT {text} AS y FROM r")
    assert str(bound.schema[0][1]) == type_
    made = [agg for node in nodes(bound.plan) if isinstance(node, Aggregate) for _, agg in node.aggregates]
    assert [agg.name for agg in made] == [{"BOOL_AND": "MIN", "BOOL_OR": "MAX"}.get(name, name)]
    assert duckdb_type(database, text) == as_duckdb(type_)


@pytest.mark.parametrize("text", OF_OTHER_TYPES)
def test_an_expression_of_another_type_has_it_in_both_dialects(
    text: str, database: duckdb.DuckDBPyConnection
) -> None:
    assert schema(f"SELECT {text} AS y FROM q") == f"y {OF_OTHER_TYPES[text]}"
    assert duckdb_type(database, text, "q") == as_duckdb(OF_OTHER_TYPES[text])


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        # Halfway between two floats as a double, and a little above as a decimal.
        ("3.00000011920928955078125000001", 3.000000238418579),
        ("3.00000011920928955078125", 3.0),
        ("-3.00000011920928955078125000001", -3.000000238418579),
        ("0", 0.0),
        ("1e-60", 0.0),
        ("340282346638528859811704183484516925440", 3.4028234663852886e38),
    ],
)
def test_a_decimal_becomes_the_nearest_float(text: str, nearest: float) -> None:
    assert nearest_float(Decimal(text)) == nearest


def test_a_float_beside_another_number_is_calculated_as_a_double(database: duckdb.DuckDBPyConnection) -> None:
    query = render(read("SELECT 0.1F + a AS y FROM q").plan, DUCKDB).text()
    assert database.execute(query).fetchall() == [(5 + 0.10000000149011612,)]


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_has_its_type_in_both_dialects(text: str, database: duckdb.DuckDBPyConnection) -> None:
    assert schema(f"SELECT {text} AS y FROM r") == f"y {LITERALS[text]}"
    assert duckdb_type(database, text) == as_duckdb(str(LITERALS[text]))


@pytest.mark.parametrize("text", ILL_TYPED)
def test_types_that_do_not_meet_are_named(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(f"SELECT {text} AS y FROM r")
    assert str(caught.value) == ILL_TYPED[text]


@pytest.mark.parametrize("query", CONDITIONS)
def test_a_condition_is_a_boolean_over_rows(query: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(query)
    assert str(caught.value) == CONDITIONS[query]


@pytest.mark.parametrize(
    "text", ["CAST(x AS INT)", "CAST(m AS INT)", "CAST(b AS BOOLEAN)", "CAST(f AS DATE)"]
)
def test_a_cast_that_engines_disagree_on_is_unsupported(text: str) -> None:
    with pytest.raises(
        UnsupportedError, match=r"^unsupported: CAST\(.*\): rounds, fails or prints differently"
    ):
        read(f"SELECT {text} AS y FROM r")


exact = st.builds(lambda p, s: Type(Kind.DECIMAL, p, min(p, s)), st.integers(1, 38), st.integers(0, 38))
all_types = st.sampled_from([Type(kind) for kind in Kind if kind is not Kind.DECIMAL]) | exact


@given(all_types, all_types)
def test_the_common_type_is_symmetric_and_holds_both(left: Type, right: Type) -> None:
    met = common(left, right)
    assert met == common(right, left)
    if met is not None:
        assert common(met, left) == common(met, right) == met


@given(all_types)
def test_the_common_type_of_one_is_itself(type_: Type) -> None:
    assert common(type_, type_) == type_


@given(exact)
def test_a_sum_has_ten_more_digits_as_far_as_there_are_any(type_: Type) -> None:
    summed = sum_type(type_)
    assert summed is not None
    assert (summed.precision, summed.scale) == (min(38, type_.precision + 10), type_.scale)
