"""Literals of every type are read by the database as values of that type, and differ."""

from __future__ import annotations

from random import Random

import duckdb
import pytest

from campaign.dbt.rows import DOT, Clock, Domains, document_of, may_hold, value_of
from tests.unit.dbt.projects import BASE

TYPES = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UINTEGER", "DECIMAL(10,2)", "DECIMAL(4,0)"),
    *("DOUBLE", "FLOAT", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIME"),
    *("UUID", "BLOB", "BIT", "JSON", "INTERVAL", "ENUM('red', 'green', 'it''s')", "INTEGER[]", "VARCHAR[3]"),
    *("STRUCT(a INTEGER, b VARCHAR[])", "MAP(VARCHAR, INTEGER)", "STRUCT(x STRUCT(y DATE))[]"),
)


@pytest.mark.parametrize("type_", TYPES)
def test_three_values_of_a_type(type_: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (n INTEGER, v {type_})")
        for number in (1, 2, 3):
            connection.execute(f"INSERT INTO t VALUES ({number}, {value_of(type_, number, BASE)})")
        assert connection.execute("SELECT count(DISTINCT v::VARCHAR) FROM t").fetchone() == (3,)


@pytest.mark.parametrize(
    ("type_", "literal", "may"),
    [
        ("INTEGER", "5", True),
        ("INTEGER", "'a'", False),
        ("VARCHAR", "'a'", True),
        ("VARCHAR", "5", False),
        ("DATE", "'2024-01-01'", True),
        ("TIMESTAMP", "'a'", False),
        ("JSON", "'order'", False),
        ("ENUM('red', 'green')", "'red'", True),
        ("ENUM('red', 'green')", "'blue'", False),
        ("INTEGER[]", "5", False),
    ],
)
def test_a_constant_is_drawn_for_types_that_may_hold_it(type_: str, literal: str, may: bool) -> None:
    assert may_hold(type_, literal) is may


@pytest.mark.parametrize("type_", ["TIMESTAMP", "DATE", "INTEGER", "VARCHAR", "TIMESTAMP WITH TIME ZONE"])
def test_clock_values_grow_with_their_ticks(type_: str) -> None:
    clock = Clock(type_, BASE)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (v {type_})")
        connection.execute(f"INSERT INTO t VALUES ({clock.literal(0)}), ({clock.literal(clock.unit)})")
        assert connection.execute("SELECT count(DISTINCT v) FROM t").fetchone() == (2,)


def test_documents_have_the_lists_and_names_with_dots_of_their_paths() -> None:
    parts = {"items.[0].at": "'2024'", "items.[2].n": "3", f"a{DOT}b": "'x'"}
    found = document_of(parts)
    assert found == """'{"items": [{"at": "2024"}, null, {"n": 3}], "a.b": "x"}'::JSON"""
    assert document_of({"[1].x": "1"}) == """'[null, {"x": 1}]'::JSON"""
    domains = Domains(BASE, {}, documents={"doc": list(parts)}, unique=frozenset({"doc.items.[0].at"}))
    drawn = {domains.redrawn(Random(seed), "doc", "JSON", True, found) for seed in range(9)}
    assert len(drawn) > 1
    assert all('"items": [{"at": "2024"}, null, {"n": ' in each for each in drawn)
