"""Definitions over VARIANT columns: parts of documents are drawn like columns, DuckDB reads them as JSON."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
import sqlglot

from generators.generate import scenario_at
from generators.given.documents import DocumentPart, document, part_value, path_text
from generators.given.model import Given
from generators.profiles import SMOKE
from given.documents import taken
from given.read import Described, read_definitions
from given.script import ScriptError
from given.translation import duckdb_text
from oracle.bag import Bag
from workload.schema import Column
from workload.sql import Dialect, literal
from workload.types import BIGINT, INT, STRING, TIMESTAMP, Value, document_text, fits, parse_type
from workload.wellformed import check_scenario

VARIANT = parse_type("VARIANT")

SCRIPT = """
CREATE TABLE trains (id INT NOT NULL PRIMARY KEY);
CREATE TABLE events (id BIGINT, payload VARIANT NOT NULL);
CREATE VIEW orders AS SELECT id, payload:order AS o FROM events;
CREATE DYNAMIC TABLE arrivals AS
  SELECT t.id, e.payload:time::timestamp AS at FROM events e JOIN trains t ON e.payload:train::int = t.id
  WHERE variant_get(e.payload, '$.kind', 'string') = 'ARRIVAL';
CREATE DYNAMIC TABLE lines AS
  SELECT o.id, v.value:sku::string AS sku FROM orders o, LATERAL variant_explode(o.o:lines) AS v
  WHERE v.value:qty::int > 3 AND try_variant_get(o.o, '$.total', 'decimal(10,2)') IS NOT NULL;
"""

COLUMNS = {
    "orders": (Column("id", BIGINT), Column("o", VARIANT)),
    "arrivals": (Column("id", INT), Column("at", TIMESTAMP)),
    "lines": (Column("id", BIGINT), Column("sku", STRING)),
}


def read(folder: Path, script: str = SCRIPT) -> Given:
    (folder / "s.sql").write_text(script)
    with duckdb.connect() as connection:
        return read_definitions(
            folder / "s.sql", lambda each, _: Described(COLUMNS[each.name]), connection, by_duckdb=False
        )


def test_parts_are_drawn_like_columns(tmp_path: Path) -> None:
    given = read(tmp_path)
    trains, events = given.tables
    assert sorted(column.name for column in events.columns[2:]) == [
        "payload:kind",
        "payload:order.lines[0].qty",
        "payload:order.lines[0].sku",
        "payload:order.lines[1].qty",
        "payload:order.lines[1].sku",
        "payload:order.total",
        "payload:time",
        "payload:train",
        "payload:unread",
    ]
    values = {events.columns[each.positions[0]].name: each for each in events.domains}
    assert "payload" not in values
    assert {(3,), (4,)} <= {*values["payload:order.lines[0].qty"].values[:3]}
    assert values["payload:kind"].values[0] == ("ARRIVAL",)
    assert values["payload:train"].meets == (("trains", "id"),)
    assert ("events", "payload:train") in trains.domains[0].meets
    witness = given.witnesses["arrivals"][0]
    assert witness.rows[0].values == (("payload:kind", "ARRIVAL"),)
    assert ((0, "payload:train"), (1, "id")) in witness.equal


def test_a_row_is_put_together_from_parts_and_taken_apart(tmp_path: Path) -> None:
    events = read(tmp_path).tables[1]
    drawn: dict[str, Value] = {
        "id": 7,
        "payload:train": 3,
        "payload:kind": "ARRIVAL",
        "payload:time": dt.datetime(2024, 2, 29, 12),  # noqa: DTZ001  # as the SQL type
        "payload:order.total": Decimal("100.01"),
        "payload:order.lines[1].qty": 4,
    }
    row = events.row(
        {place: drawn.get(column.name) for place, column in enumerate(events.columns) if place != 1}
    )
    assert fits(row[1], VARIANT)
    assert {each.name: events.value(row, n) for n, each in enumerate(events.columns) if n != 1} == {
        each.name: drawn.get(each.name) for n, each in enumerate(events.columns) if n != 1
    }
    assert json.loads(str(row[1]))["order"]["lines"][1]["qty"] in (4, "4")


def test_a_document_that_a_check_reads_is_drawn_as_a_whole(tmp_path: Path) -> None:
    """Put together from parts it would not keep the CHECK, and the column beside it would have no values.

    What witnesses and joins ask of its parts is left to chance.
    """
    checked = SCRIPT.replace(
        "payload VARIANT NOT NULL", "payload VARIANT CHECK (payload:a::int > 0 OR id > 1)"
    )
    given = read(tmp_path, checked)
    (_, events) = given.tables
    assert events.parts == ()
    assert [domain.positions for domain in events.domains] == [(0, 1)]
    for index in range(4):
        check_scenario(scenario_at(1, replace(SMOKE, given=given), index))
    assert {(0, '{"a":1}'), (2, "{}")} <= {*events.domains[0].values}
    assert (0, '{"b":1}') not in events.domains[0].values


def test_documents_of_a_user_are_written_as_they_like(tmp_path: Path) -> None:
    (tmp_path / "dvs.toml").write_text(
        '[events]\nvalues.payload = [\'{"total": 3.0, "kind": "ORDER"}\', "null"]\n'
    )
    (_, events) = read(tmp_path).tables
    assert events.parts == ()
    assert events.domains[1].values == (('{"kind":"ORDER","total":3}',), ("null",))
    (tmp_path / "dvs.toml").write_text('[events]\nvalues.payload = ["{torn"]\n')
    with pytest.raises(ScriptError, match=r"dvs\.toml: events: '\{torn' is no VARIANT"):
        read(tmp_path)


def test_null_parts_are_missing_or_null_and_numbers_now_and_then_texts() -> None:
    first, second = DocumentPart(0, ("a",), INT), DocumentPart(0, ("b", "c"), INT)
    texts = {document({first: number, second: None}) for number in range(40)}
    made = [json.loads(text) for text in texts]
    assert any("b" not in each for each in made)
    assert any(each.get("b", 0) == {"c": None} for each in made)
    assert {type(each["a"]) for each in made} == {int, str}
    assert {part_value(text, first) for text in texts} == {*range(40)}
    assert {part_value(text, second) for text in texts} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "payload:a.b[0]::int",
        "CAST(payload:a.b[0] AS INT)",
        "variant_get(payload, '$.a.b[0]', 'int')",
        "(payload:a.b[0])::int",
    ],
)
def test_one_part_however_it_is_written(text: str) -> None:
    part = taken(sqlglot.parse_one(text, read="databricks"))
    assert part is not None
    assert part.type is not None
    assert (path_text(part.path), part.type.sql("spark")) == (":a.b[0]", "INT")


@pytest.mark.parametrize("text", ["payload:a[*]::int", "payload", "variant_get(payload, '$.a', 'no type')"])
def test_what_is_no_part_of_one_place(text: str) -> None:
    assert taken(sqlglot.parse_one(text, read="databricks")) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("payload:n::int", 12),
        ("payload:s::string", "x"),
        ("payload:day::date", dt.date(2024, 2, 29)),
        ("payload:none::int", None),
        ("payload:null::string", None),
        ("try_variant_get(payload, '$.s', 'int')", None),
        ("variant_get(payload, '$.deep[1].k', 'decimal(10,2)')", Decimal("1.50")),
    ],
)
def test_duckdb_reads_parts(text: str, value: Value) -> None:
    """By hand: what Spark gives for the same document."""
    payload = document_text(
        {"n": "12", "s": "x", "day": "2024-02-29", "null": None, "deep": [None, {"k": 1.5}]}
    )
    shown = duckdb_text(sqlglot.parse_one(text, read="databricks"))
    with duckdb.connect() as connection:
        query = f"SELECT {shown} FROM (SELECT {literal(payload, VARIANT, Dialect.DUCKDB)} AS payload)"
        assert connection.execute(query).fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("relation", "rows"),
    [
        ("LATERAL variant_explode(p) AS v", "1 0 None 1; 1 1 None {'a':2}; 2 0 a 1; 2 1 b null"),
        ("LATERAL variant_explode(p:b) AS v", ""),
        (
            "LATERAL variant_explode_outer(p:[1]) AS v",
            "1 0 a 2; " + "; ".join(f"{n} None None None" for n in range(2, 7)),
        ),
    ],
)
def test_duckdb_makes_rows_of_elements(relation: str, rows: str) -> None:
    """By hand: what Spark gives."""
    documents = ('[1,{"a":2}]', '{"b":null,"a":1}', "[]", "null", '"x"', None)
    shown = ", ".join(
        f"({n}, {literal(each, VARIANT, Dialect.DUCKDB)})" for n, each in enumerate(documents, 1)
    )
    text = duckdb_text(sqlglot.parse_one(f"SELECT k, v.* FROM r, {relation}", read="databricks"))
    with duckdb.connect() as connection:
        found = connection.execute(f"WITH r(k, p) AS (VALUES {shown}) {text} ORDER BY ALL").fetchall()
    assert "; ".join(" ".join(map(str, row)).replace('"', "'") for row in found) == rows


def test_documents_are_compared_whatever_the_order_of_their_keys() -> None:
    one, two, other = ('{"b": [1.0, "x"], "a": null}', '{"a":null,"b":[1,"x"]}', '{"a":null,"b":["x",1]}')
    assert Bag.of([(one,)], [VARIANT]) == Bag.of([(two,)], [VARIANT])
    assert Bag.of([(one,)], [VARIANT]) != Bag.of([(other,)], [VARIANT])
    assert not fits(one, VARIANT)
    assert fits(two, VARIANT)
