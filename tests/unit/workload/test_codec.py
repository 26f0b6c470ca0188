"""Scenarios survive the way through JSON, whatever is in them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.unit.workload.shop import GIVEN_SHOP, SHOP
from workload import dml, expression, query, scenario, schema
from workload.codec import encode, scenario_from_json, scenario_to_json
from workload.dml import Insert
from workload.query import JoinKind
from workload.scenario import SCENARIO_VERSION, Commit, RefreshMode, Scenario
from workload.types import SqlType, Value
from workload.wellformed import check_scenario


def parts(value: Any) -> Iterator[Any]:
    """The value and all values inside it."""
    yield value
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from parts(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from parts(item)


def test_the_shop_is_well_formed_and_holds_every_class() -> None:
    """So that a test that the shop survives is a test of every class."""
    check_scenario(SHOP)
    check_scenario(GIVEN_SHOP)
    defined = {
        cls
        for module in (expression, query, dml, schema, scenario)
        for cls in vars(module).values()
        if isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__module__ == module.__name__
        if not cls.__subclasses__()  # a class that others refine has no values of its own
    }
    assert {type(part) for each in (SHOP, GIVEN_SHOP) for part in parts(each)} >= defined
    assert {part for part in parts(SHOP) if isinstance(part, RefreshMode)} == set(RefreshMode)


@pytest.mark.parametrize("shop", [SHOP, GIVEN_SHOP])
def test_the_shop_survives_and_its_text_is_stable(shop: Scenario) -> None:
    text = scenario_to_json(shop)
    again = scenario_from_json(text)
    assert repr(again) == repr(shop)  # not ==: NaN
    assert scenario_to_json(again) == text
    check_scenario(again)


def test_the_head_names_format_and_version() -> None:
    document = json.loads(scenario_to_json(SHOP))
    assert (document["format"], document["version"]) == ("dvs-scenario", SCENARIO_VERSION)
    assert scenario_to_json(SHOP).endswith("}\n")


def test_fields_at_their_default_are_left_out() -> None:
    assert encode(dml.Truncate("t")) == {"is": "Truncate", "table": "t"}
    assert encode(scenario.DynamicTable("d", SHOP.definitions[0].query)).keys() == {"is", "name", "query"}


@pytest.mark.parametrize("kind", JoinKind)
def test_enums_are_written_by_name(kind: JoinKind) -> None:
    assert encode(kind) == kind.name


def test_types_are_written_as_sql_writes_them() -> None:
    assert [encode(part) for part in parts(SHOP.tables[1]) if isinstance(part, SqlType)] == [
        "INT",
        "DECIMAL(10,2)",
        "BIGINT",
        "DOUBLE",
        "TIMESTAMP_NTZ",
    ]


def test_what_is_no_part_of_a_scenario_has_no_json_form() -> None:
    with pytest.raises(TypeError):
        encode(object())


values: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30),
    st.text(),
    st.dates(),
    st.datetimes(),
)


@given(st.lists(st.lists(values, max_size=4).map(tuple), max_size=4).map(tuple))
def test_every_value_survives_with_its_type(rows: tuple[tuple[Value, ...], ...]) -> None:
    original = Scenario("values", (), (), (Commit(0, (Insert("t", rows),)),))
    (commit,) = scenario_from_json(scenario_to_json(original)).steps
    assert isinstance(commit, Commit)
    (insert,) = commit.statements
    assert isinstance(insert, Insert)
    assert exact_rows(insert.rows) == exact_rows(rows)


def exact_rows(rows: tuple[tuple[Value, ...], ...]) -> list[list[Any]]:
    """The rows as `exact` values."""
    return [[exact(value) for value in row] for row in rows]


def exact(value: Value) -> Any:
    """The value as text that tells apart what `==` does not; equal decimals may differ in exponent."""
    match value:
        case Decimal():
            return "decimal", value.is_signed(), value.normalize()
        case dt.datetime():
            return "timestamp", value.isoformat()
        case _:
            return type(value).__name__, repr(value)
