"""How paths, durations and units of other dialects are read, and how documents are compared."""

from __future__ import annotations

import json

import pytest

from dynamic_tables.define import read_query
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.changes import ANY, comparable, consolidate
from dynamic_tables.differentiate.registry import RULES, initial_plan
from dynamic_tables.errors import CorruptTable, DefinitionError, UnsupportedError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.expressions import Col
from dynamic_tables.plan.nested_types import holds_variant
from dynamic_tables.plan.nodes import ACTION, ROW_ID, Aggregate, Explode, Leaf, walk
from dynamic_tables.plan.types import INT, STRING, VARIANT, Columns, Kind, Type
from dynamic_tables.plan.written.render import render
from dynamic_tables.plan.written.render_expression import render_expression
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.parse import parse_query
from dynamic_tables.reading.text.spark_text import SparkText, spelt_for_spark
from dynamic_tables.store.log.log import TableMetadata
from dynamic_tables.store.names.catalog import attached, parse_type

R = BaseTable("r", (("k", INT), ("p", VARIANT)))


def typed(text: str, columns: Columns) -> Type | None:
    """Spark's answer for the expressions of these tests."""
    return INT if text.upper().startswith(("CAST", "TRY_VARIANT_GET")) else VARIANT


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("p:a", "VARIANT_GET(p, '$.a')"),
        ("r.p:a.b[0]::INT", "CAST(VARIANT_GET(r.p, '$.a.b[0]') AS INT)"),
        ("p:['a b'].c", r"VARIANT_GET(p, '$[\'a b\'].c')"),
        ("p:`a b`", r"VARIANT_GET(p, '$[\'a b\']')"),
        ("p:a:b", "VARIANT_GET(VARIANT_GET(p, '$.a'), '$.b')"),
        ("CASE WHEN k = 1 THEN p:a END", "CASE WHEN k = 1 THEN VARIANT_GET(p, '$.a') END"),
        ("date_trunc(hour, k)", "DATE_TRUNC('hour', k)"),
        ("date_trunc(r.hour, k)", "DATE_TRUNC(r.hour, k)"),
        ("k - k > '10 minutes'", "k - k > INTERVAL '10 minutes'"),
        ("'1 day' <= (k - k)", "INTERVAL '1 day' <= (k - k)"),
        ("p > '10 minutes'", "p > '10 minutes'"),
    ],
)
def test_an_expression_is_read(written: str, read: str) -> None:
    assert parse_query(f"SELECT {written} FROM r").expressions[0].sql(SparkText) == read


def test_only_what_spark_refuses_is_spelt_in_another_way() -> None:
    text = "SELECT date_trunc(Hour, t) AS hour, a - b > '10 minutes', 'x > ''1 hour''' FROM r"
    spelt = "SELECT date_trunc('Hour', t) AS hour, a - b > INTERVAL '10 minutes', 'x > ''1 hour''' FROM r"
    assert spelt_for_spark(text) == spelt
    assert spelt_for_spark("SELECT date_trunc('hour', t) FROM r") == "SELECT date_trunc('hour', t) FROM r"


@pytest.mark.parametrize(
    ("item", "name"),
    [("p:a", "a"), ("p:a.b[0]", "b"), ("p:a.B::INT", "B"), ("p:a[0]:c", "c"), ("p:a AS x", "x")],
)
def test_a_path_has_the_name_of_its_last_key(item: str, name: str) -> None:
    assert [each for each, _ in bind_query(f"SELECT {item} FROM r", {"r": R}, typed).schema] == [name]


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("variant", False),
        ("array<variant>", True),
        ("map<string,array<variant>>", True),
        ("struct<`variant`:int>", False),
        ("struct<`a`:struct<`b`:variant>>", True),
    ],
)
def test_which_types_hold_documents(text: str, nested: bool) -> None:
    type_ = parse_type(text)
    assert type_ is not None
    assert holds_variant(type_) is nested


def test_a_document_is_compared_by_its_text_and_types_and_comes_out_as_it_was() -> None:
    text = render_expression(comparable(Col("p", VARIANT)), SPARK)
    assert "to_json(`p`)" in text
    assert "schema_of_variant(`p`)" in text
    changes = Leaf(
        "c", tuple((c.name, c) for c in (Col("p", VARIANT), Col(ACTION, STRING), Col(ROW_ID, STRING)))
    )
    (netted,) = (node for node in walk(consolidate(changes)) if isinstance(node, Aggregate))
    assert {name: key.type for name, key in netted.keys} == {"p": STRING, ROW_ID: STRING}
    assert [(name, call.name) for name, call in netted.aggregates][1:] == [(f"{ANY}p", "ANY_VALUE")]


@pytest.mark.parametrize(
    ("query", "outer"),
    [
        ("SELECT v.pos, v.key, v.value FROM r, LATERAL variant_explode(r.p) AS v", False),
        ("SELECT v.pos, v.key, v.value FROM r, LATERAL variant_explode_outer(p) AS v", True),
        ("SELECT v.pos, v.key, v.value FROM r LEFT JOIN LATERAL variant_explode(p) AS v ON TRUE", True),
        ("SELECT a AS pos, b AS key, c AS value FROM r, LATERAL variant_explode(p) AS v(a, b, c)", False),
    ],
)
def test_variant_explode_makes_rows_of_position_key_and_value(query: str, outer: bool) -> None:
    bound = bind_query(query, {"r": R})
    assert bound.schema == (("pos", INT), ("key", STRING), ("value", VARIANT))
    (node,) = (node for node in walk(bound.plan) if isinstance(node, Explode))
    assert node.outer is outer
    assert "posexplode(coalesce(transform(" in render(initial_plan(bound, RULES, ids=True), SPARK).text()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, variant_explode(p) FROM r",
        "SELECT k FROM r LATERAL VIEW variant_explode(p) v",
        "SELECT k FROM r, LATERAL variant_explode(r.k) AS v",
        "SELECT k FROM r, LATERAL variant_explode(p, k) AS v",
    ],
)
def test_where_variant_explode_may_not_stand(query: str) -> None:
    with pytest.raises(DefinitionError, match="variant_explode"):
        bind_query(query, {"r": R})


@pytest.mark.parametrize(
    ("query", "source", "why"),
    [
        ("SELECT k, p FROM r", R, ""),
        ("SELECT COUNT(DISTINCT p) AS n FROM r", R, "a key of type variant"),
        ("SELECT DISTINCT p FROM r", R, "DISTINCT by a value of type variant"),
        ("SELECT k, array(p) AS x FROM r", R, "column x of type array<variant>"),
        ("SELECT k, p FROM r", BaseTable("r", R.columns, row_ids=False), ""),
        (
            "SELECT k FROM r",
            BaseTable("r", (("k", INT), ("p", Type(Kind.OTHER, name="array<variant>")))),
            "column p",
        ),
    ],
)
def test_what_is_maintained(query: str, source: BaseTable, why: str) -> None:
    unsupported = read_query(query, {"r": source}, RULES).unsupported
    assert why in str(unsupported) if why else unsupported is None
    assert unsupported is None or isinstance(unsupported, UnsupportedError)


def test_a_column_of_another_type_is_refused_with_its_name() -> None:
    schema = json.dumps({"fields": [{"name": "a", "type": "time(6)"}, {"name": "p", "type": "variant"}]})
    with pytest.raises(CorruptTable, match=r"column a is of type time\(6\), which"):
        attached("t", "/t", TableMetadata(id="1", properties={}, schema=schema))
