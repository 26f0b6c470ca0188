"""Delayed view semantics: contents at t are the defining query at t, from the scenario alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from oracle.duck import open_duckdb, run, run_typed
from oracle.errors import OracleError, OracleQueryError, OracleTimeout
from tests.unit.oracle.words import (
    COUNT,
    call,
    col,
    delete,
    holds,
    insert,
    join,
    named,
    plus,
    rows,
    scenario,
    select,
    table,
    totals,
    update,
)
from workload.errors import WorkloadError
from workload.query import Cte, Item, Join, JoinKind, Named, Relation, Select, UnionAll, With
from workload.scenario import DynamicTable, Scenario, View
from workload.schema import Table
from workload.sql import Dialect
from workload.types import BIGINT, Row, fits

ORDERS = table("orders: id INT, city STRING, amount BIGINT")
CITIES = table("cities: city STRING, country STRING")
ID, CITY, AMOUNT = (col(ORDERS, column.name) for column in ORDERS.columns)

BIG = select(named(ORDERS), ("id", ID), ("city", CITY), ("amount", AMOUNT), where=holds("ge", AMOUNT, 10))
BY_CITY = totals(Named("big", "orders"), CITY, AMOUNT, BIGINT)
ALL_CITIES = select(
    join(JoinKind.LEFT, CITIES, ORDERS, "city"), ("country", col(CITIES, "country")), ("amount", AMOUNT)
)


def history(*definitions: View | DynamicTable) -> Scenario:
    """Orders arrive at 10, change at 20, go at 30; the cities are written at 15 only."""
    return scenario(
        (ORDERS, CITIES),
        *definitions,
        commits={
            10: (insert(ORDERS, "1 rome 10; 2 rome 20; 3 oslo 5"),),
            15: (insert(CITIES, "rome italy; oslo norway; bonn germany"),),
            20: (update(ORDERS, "amount", plus(AMOUNT, 10), holds("eq", CITY, "oslo")),),
            30: (delete(ORDERS, holds("eq", CITY, "rome")),),
        },
    )


DEFINITIONS = (
    DynamicTable("big", BIG),
    DynamicTable("by_city", BY_CITY),
    DynamicTable("all_cities", ALL_CITIES),
)


@pytest.fixture
def view(database: duckdb.DuckDBPyConnection) -> Iterator[DelayedView]:
    with DelayedView(history(*DEFINITIONS), database) as opened:
        yield opened


def same(view: DelayedView, name: str, actual: tuple[Row, ...], expected: str) -> bool:
    columns = view.columns(name)
    types = [column.type for column in columns]
    return Bag.of(actual, types) == Bag.of(rows(columns, expected), types)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, ""),
        (9, ""),
        (10, "1 rome 10; 2 rome 20; 3 oslo 5"),
        (19, "1 rome 10; 2 rome 20; 3 oslo 5"),
        (20, "1 rome 10; 2 rome 20; 3 oslo 15"),
        (31, "3 oslo 15"),
    ],
)
def test_a_base_table_is_as_of_its_latest_commit(view: DelayedView, timestamp: int, expected: str) -> None:
    assert same(view, "orders", view.source_rows("orders", timestamp), expected)
    assert view.contents("orders", timestamp) == view.source_rows("orders", timestamp)


@pytest.mark.parametrize(
    ("name", "timestamp", "expected"),
    [
        ("big", 9, ""),
        ("big", 10, "1 rome 10; 2 rome 20"),
        ("big", 20, "1 rome 10; 2 rome 20; 3 oslo 15"),
        ("by_city", 9, ""),
        ("by_city", 10, "rome 2 30"),
        ("by_city", 20, "rome 2 30; oslo 1 15"),
        ("by_city", 30, "oslo 1 15"),
        ("all_cities", 14, ""),
        ("all_cities", 15, "italy 10; italy 20; norway 5; germany NULL"),
        ("all_cities", 30, "italy NULL; norway 15; germany NULL"),
    ],
)
def test_contents_are_the_defining_query_at_the_timestamp(
    view: DelayedView, name: str, timestamp: int, expected: str
) -> None:
    assert same(view, name, view.contents(name, timestamp), expected)


def test_columns_are_those_of_the_definitions(view: DelayedView) -> None:
    assert [str(column.type) for column in view.columns("by_city")] == ["STRING", "BIGINT", "BIGINT"]
    assert view.columns("orders") == ORDERS.columns


def test_a_key_less_aggregate_of_nothing_is_one_row(database: duckdb.DuckDBPyConnection) -> None:
    counted = Select((Item(COUNT, "n"),), Named("big", "big"), group_by=())
    with DelayedView(history(DynamicTable("big", BIG), DynamicTable("n", counted)), database) as view:
        assert view.contents("n", 0) == ((0,),)
        assert view.contents("n", 20) == ((3,),)


def test_ctes_of_two_definitions_may_have_one_name(database: duckdb.DuckDBPyConnection) -> None:
    ids = select(named(ORDERS), ("id", ID))
    small = select(named(ORDERS), ("id", ID), where=holds("lt", ID, 3))
    first = With((Cte("c", ids),), select(Named("c", "orders"), ("id", ID)))
    branches = tuple(select(Named(name, "orders"), ("id", ID)) for name in ("c", "lower"))
    second = With((Cte("c", small),), UnionAll(branches))
    with DelayedView(history(View("lower", first), DynamicTable("upper", second)), database) as view:
        assert same(view, "upper", view.contents("upper", 10), "1; 2; 1; 2; 3")
        assert same(view, "lower", view.contents("lower", 10), "1; 2; 3")


def test_contents_are_computed_once_for_one_state_of_what_they_read(view: DelayedView) -> None:
    assert view.contents("big", 10) is view.contents("big", 19)
    assert view.contents("by_city", 15) is view.contents("by_city", 10)
    assert view.contents("all_cities", 15) is not view.contents("all_cities", 10)


def test_several_scenarios_share_a_connection_and_leave_it_clean() -> None:
    with open_duckdb() as connection:
        first = DelayedView(history(*DEFINITIONS), connection)
        second = DelayedView(scenario((ORDERS,), commits={10: (insert(ORDERS, "7 bonn 7"),)}), connection)
        assert len(first.contents("big", 10)) == 2
        first.close()
        assert second.contents("orders", 10) == ((7, "bonn", 7),)
        second.close()
        assert run(connection, "SELECT table_name FROM duckdb_tables()").rows == ()


def test_without_a_connection_it_opens_its_own() -> None:
    with DelayedView(history(*DEFINITIONS)) as view:
        assert same(view, "by_city", view.contents("by_city", 30), "oslo 1 15")


EVERY = table(
    "every: i INT, l BIGINT, d DECIMAL(10,2), q DECIMAL(38,18), x DOUBLE, b BOOLEAN, s STRING, dt DATE,"
    " t TIMESTAMP_NTZ"
)
EXTREME = (
    "-2147483648 9223372036854775807 -99999999.99 12345678901234567890.123456789012345678 nan true ü'--"
    " 0001-01-01 9999-12-31T23:59:59.999999; NULL NULL NULL NULL NULL NULL NULL NULL NULL;"
    " 0 0 0 0 -0.0 false '' 1970-01-01 1970-01-01T00:00:00"
)


def copy_of(of: Table) -> Select:
    return select(named(of), *((column.name, col(of, column.name)) for column in of.columns))


def test_values_of_every_type_pass_unchanged(database: duckdb.DuckDBPyConnection) -> None:
    case = scenario((EVERY,), DynamicTable("copy", copy_of(EVERY)), commits={1: (insert(EVERY, EXTREME),)})
    with DelayedView(case, database) as view:
        contents = view.contents("copy", 1)
        assert same(view, "copy", contents, EXTREME)
        types = [column.type for column in EVERY.columns]
        assert all(fits(v, t) for row in contents for v, t in zip(row, types, strict=True))


@pytest.mark.parametrize("timestamp", [0, 10, 15, 30])
@pytest.mark.parametrize("name", ["orders", "big", "by_city", "all_cities"])
def test_the_text_for_display_gives_the_contents_by_itself(
    view: DelayedView, database: duckdb.DuckDBPyConnection, name: str, timestamp: int
) -> None:
    types = [column.type for column in view.columns(name)]
    alone = run(database, view.sql(name, timestamp)).rows
    assert Bag.of(alone, types) == Bag.of(view.contents(name, timestamp), types)


def test_the_text_for_display_comes_in_both_dialects(view: DelayedView) -> None:
    assert view.sql("big", 30, Dialect.SPARK).splitlines() == [
        "WITH orders(id, city, amount) AS (VALUES (3, 'oslo', CAST('15' AS BIGINT)))",
        "SELECT orders.id AS id, orders.city AS city, orders.amount AS amount FROM orders"
        " WHERE (orders.amount >= CAST('10' AS BIGINT))",
    ]
    empty = "CAST(NULL AS STRING) AS city"
    assert empty in view.sql("big", 0, Dialect.SPARK)
    assert empty not in view.sql("big", 0)


def test_a_type_other_than_declared_is_the_harness_at_fault(database: duckdb.DuckDBPyConnection) -> None:
    too_wide = select(named(ORDERS), ("n", call("add", BIGINT, ID, ID)))
    with (
        DelayedView(history(DynamicTable("n", too_wide)), database) as view,
        pytest.raises(OracleError, match=r"n: DuckDB gives \(n INTEGER\), declared is \(n BIGINT\)"),
    ):
        view.contents("n", 10)


def test_a_failing_query_is_named_and_fails_only_at_the_timestamps_where_it_must(
    database: duckdb.DuckDBPyConnection,
) -> None:
    near_the_bound = select(named(ORDERS), ("n", plus(AMOUNT, 2**63 - 12)))
    with DelayedView(history(DynamicTable("high", near_the_bound)), database) as view:
        assert view.contents("high", 9) == ()
        with pytest.raises(OracleQueryError, match=r"high: .*Overflow"):
            view.contents("high", 10)
        assert view.contents("high", 9) == ()


MOMENTS = (9, 10, 15, 19, 20, 30)
ALL_MOMENTS = {definition.name: MOMENTS for definition in DEFINITIONS}


def test_known_moments_change_no_answer(database: duckdb.DuckDBPyConnection, view: DelayedView) -> None:
    with DelayedView(history(*DEFINITIONS), database, moments=ALL_MOMENTS) as together:
        for name in ALL_MOMENTS:
            for at in (20, 9, 31, *MOMENTS):
                assert sorted(together.contents(name, at)) == sorted(view.contents(name, at)), (name, at)


def test_a_query_is_evaluated_at_all_its_moments_by_one_statement(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def counted(connection: duckdb.DuckDBPyConnection, text: str, *rest: Any) -> tuple[Row, ...]:
        texts.append(text)
        return run_typed(connection, text, *rest)

    monkeypatch.setattr("oracle.delayed_view.run_typed", counted)
    with DelayedView(history(*DEFINITIONS), database, moments=ALL_MOMENTS) as together:
        states = [together.contents("all_cities", at) for at in MOMENTS]
        assert [len(rows) for rows in states] == [0, 0, 4, 4, 4, 3]
        assert len(texts) == 1


@pytest.mark.parametrize("first", [9, 10, 30])
def test_a_query_that_fails_at_one_of_its_moments_has_answers_at_the_others(
    database: duckdb.DuckDBPyConnection, first: int
) -> None:
    above = select(named(ORDERS), ("n", plus(AMOUNT, 2**63 - 20)))
    case = history(DynamicTable("high", above))
    with DelayedView(case, database, moments={"high": MOMENTS}) as view:
        for at in (first, *MOMENTS):
            if at in (9, 30):
                assert len(view.contents("high", at)) == (at == 30)
            else:
                with pytest.raises(OracleQueryError, match=r"^high: .*Overflow"):
                    view.contents("high", at)


def test_a_query_may_have_a_time_limit(database: duckdb.DuckDBPyConnection) -> None:
    numbers = table("numbers: n INT")
    alias = [Named("numbers", f"n{i}") for i in range(8)]
    product: Relation = alias[0]
    for other in alias[1:]:
        product = Join(JoinKind.CROSS, product, other, None)
    endless = Select((Item(COUNT, "n"),), product, group_by=())
    hundred = insert(numbers, ";".join(map(str, range(100))))
    case = scenario((numbers,), DynamicTable("endless", endless), commits={1: (hundred,)})
    with DelayedView(case, database, limit_s=0.1) as view:
        assert view.contents("endless", 0) == ((0,),)
        with pytest.raises(OracleTimeout):
            view.contents("endless", 1)


def test_only_well_formed_scenarios_are_taken(database: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(WorkloadError, match="reads nowhere"):
        DelayedView(history(View("v", select(Named("nowhere", "orders"), ("id", ID)))), database)


@pytest.mark.parametrize("method", ["contents", "source_rows", "sql"])
def test_unknown_names_are_key_errors(view: DelayedView, method: str) -> None:
    with pytest.raises(KeyError):
        getattr(view, method)("nothing", 10)
