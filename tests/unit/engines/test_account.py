"""The account over tables in memory: definitions, modes, refreshes, and every error a user can meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import DefinitionError, RefreshFailed, UnsupportedError, ValidationFailed
from dynamic_tables.store.port import Action
from tests.shop import TOTALS, World, shop
from workload.dml import Delete, Insert


@pytest.fixture
def world() -> Iterator[World]:
    with shop() as opened:
        yield opened


# ----------------------------------------------------------------------------------------------------
# Definitions


def test_a_table_is_created_incremental_and_initialized(world: World) -> None:
    created = world.account.create_dynamic_table("Totals", TOTALS)
    assert (created.name, created.incremental, created.reason) == ("totals", True, "")
    assert created.sources == ("orders",)
    description = world.account.describe("TOTALS")
    assert description.data_timestamp == 10
    assert [record.action for record in description.refreshes] == [Action.INITIALIZE]
    assert world.rows("totals") == [("rome", 30), (None, 5)]


def test_full_when_asked_for(world: World) -> None:
    created = world.account.create_dynamic_table("d", TOTALS, refresh_mode=RefreshMode.FULL)
    assert (created.incremental, created.reason) == (False, "refresh mode FULL was asked for")
    world.at(20, Insert("orders", ((4, "oslo", 1),))).account.refresh("d")
    assert [record.action for record in world.account.describe("d").refreshes] == [
        Action.INITIALIZE,
        Action.FULL,
    ]
    assert world.rows("d") == [("oslo", 1), ("rome", 30), (None, 5)]


def test_incremental_over_an_operator_without_a_rule_is_refused(world: World) -> None:
    with pytest.raises(
        UnsupportedError, match=r"no differentiation rule yet; d cannot be INCREMENTAL, use AUTO or FULL$"
    ):
        world.account.create_dynamic_table(
            "d", "SELECT city FROM orders SORT BY city", refresh_mode=RefreshMode.INCREMENTAL
        )
    assert "d" not in world.account.store.definitions()


@pytest.mark.parametrize("mode", [RefreshMode.AUTO, RefreshMode.FULL])
def test_a_store_that_cannot_analyse_text_says_so(world: World, mode: RefreshMode) -> None:
    with pytest.raises(UnsupportedError) as caught:
        world.account.create_dynamic_table("d", "SELECT city FROM orders SORT BY city", refresh_mode=mode)
    assert str(caught.value) == (
        "unsupported: SORT BY: no differentiation rule yet, and only an account on Delta asks Spark for it"
    )


@pytest.mark.parametrize("mode", RefreshMode)
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT rand() AS y FROM orders", "function rand is refused"),
        (
            "SELECT java_method('java.lang.System', 'exit', 0) AS y FROM orders",
            "function java_method is refused",
        ),
        ("SELECT * FROM read_csv('/etc/passwd')", "is refused: a query reads relations of its account"),
        ("SELECT * FROM parquet.`/tmp/x`", "is refused: a query reads relations of its account"),
        ("SELECT TRANSFORM(id) USING 'cat' AS (y) FROM orders", "a query runs no scripts"),
        ("SELECT id FROM orders; DROP TABLE orders", "found 2 statements"),
        ("DROP TABLE orders", "found DROP"),
        ("SELECT id FROM", "syntax error at line 1, column 11"),
        ("SELECT id FROM nope", "unknown table nope"),
        ("SELECT nope FROM orders", "unknown column nope"),
    ],
)
def test_a_query_that_may_not_run_is_refused_in_every_mode(
    world: World, mode: RefreshMode, query: str, message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        world.account.create_dynamic_table("d", query, refresh_mode=mode)
    with pytest.raises(DefinitionError, match=message):
        world.account.create_view("v", query)
    assert world.account.store.definitions().keys() == {"orders", "cities"}


@pytest.mark.parametrize("name", ["", "1st", "a b", "a;b", "a`b", "../x", "ünicode", "_x", "x" * 129])
def test_a_name_is_a_plain_word(world: World, name: str) -> None:
    for create in (world.account.create_dynamic_table, world.account.create_view):
        with pytest.raises(
            DefinitionError,
            match=r"(use letters, digits and _, starting with a letter|has 128 at most|give a text)$",
        ):
            create(name, TOTALS)


@pytest.mark.parametrize("name", ["orders", "ORDERS", "v", "d"])
def test_a_name_is_taken_once(world: World, name: str) -> None:
    world.account.create_view("v", "SELECT city FROM orders")
    world.account.create_dynamic_table("d", TOTALS)
    for create in (world.account.create_dynamic_table, world.account.create_view):
        with pytest.raises(
            DefinitionError, match=f"^{name} exists already; drop it first or take another name$"
        ):
            create(name, TOTALS)


@pytest.mark.parametrize("lag", [0, -1])
def test_a_target_lag_is_positive(world: World, lag: int) -> None:
    with pytest.raises(DefinitionError, match=f"^target lag of d is {lag} microseconds; the least"):
        world.account.create_dynamic_table("d", TOTALS, target_lag=lag)


def test_names_with_a_dollar_are_the_engines(world: World) -> None:
    with pytest.raises(
        DefinitionError, match=r"^column \$ROW_ID of d: names with a leading \$ are the engine's$"
    ):
        world.account.create_dynamic_table("d", "SELECT id AS `$ROW_ID` FROM orders")


def test_this_store_keeps_no_base_tables_of_the_accounts(world: World) -> None:
    with pytest.raises(DefinitionError, match="this account's store keeps no base tables"):
        world.account.create_base_table("x", {"a": "INT"})
    with pytest.raises(DefinitionError, match="column a: type INTERVAL is not supported"):
        world.account.create_base_table("x", {"a": "INTERVAL"})
    with pytest.raises(DefinitionError, match="write them where they live"):
        world.account.execute("DELETE FROM orders")


@pytest.mark.parametrize(
    "call", ["describe", "refresh", "drop", "initialize", "dynamic_table", "fresh_contents"]
)
def test_an_unknown_name_is_answered_with_the_known_ones(world: World, call: str) -> None:
    with pytest.raises(DefinitionError, match=r"^no table or view named nope; there are: orders, cities$"):
        getattr(world.account, call)("nope")


@pytest.mark.parametrize("call", ["describe", "refresh", "initialize", "fresh_contents"])
def test_a_base_table_or_view_is_no_dynamic_table(world: World, call: str) -> None:
    world.account.create_view("v", TOTALS)
    for name in ("orders", "v"):
        with pytest.raises(DefinitionError, match=f"^{name} is no dynamic table$"):
            getattr(world.account, call)(name)


def test_what_is_read_cannot_be_dropped(world: World) -> None:
    account = world.account
    account.create_view("v", "SELECT city, amount FROM orders")
    account.create_dynamic_table("d", "SELECT city FROM v")
    account.create_dynamic_table("shadow", "WITH d AS (SELECT city FROM d) SELECT city FROM d")
    for read, reader in (("orders", "v"), ("v", "d"), ("d", "shadow")):
        with pytest.raises(DefinitionError, match=f"^{read} is read by {reader}; drop that first$"):
            account.drop(read)
    for name in ("shadow", "d", "v"):
        account.drop(name)
    assert account.store.definitions().keys() == {"orders", "cities"}


# ----------------------------------------------------------------------------------------------------
# Refreshes


def test_a_refresh_is_incremental_and_the_empty_one_is_no_data(world: World) -> None:
    account = world.account
    account.create_dynamic_table("d", TOTALS)
    (first,) = world.at(20, Insert("orders", ((4, "rome", 1),))).account.refresh("d")
    (second,) = world.at(30).account.refresh("d")
    assert (first.action, first.record.reason, first.timestamp) == (Action.INCREMENTAL, "changed: orders", 20)
    assert (first.record.inserted, first.record.deleted) == (1, 1)
    assert (second.action, second.record.reason, second.timestamp) == (
        Action.NO_DATA,
        "no source changed",
        30,
    )
    assert world.rows("d") == [("rome", 31), (None, 5)]
    assert account.refresh("d", 30) == (), "it has that data timestamp"


def test_a_refresh_takes_the_upstream_tables_along(world: World) -> None:
    account = world.account
    account.create_dynamic_table("a", "SELECT city, amount FROM orders")
    account.create_view("v", "SELECT city, amount FROM a WHERE amount > 5")
    account.create_dynamic_table("b", "SELECT city, SUM(amount) AS total FROM v GROUP BY city")
    seen: list[str] = []
    world.at(20, Insert("orders", ((4, "oslo", 7),)))
    results = account.refresh("b", 20, observe=lambda result: seen.append(result.table))
    assert [result.table for result in results] == seen == ["a", "b"]
    assert [table.name for table in account.upstream(account.dynamic_table("b"))] == ["a"]
    assert world.rows("b") == [("oslo", 7), ("rome", 30)]


def test_the_initial_timestamp_is_the_upstreams_if_within_the_lag(world: World) -> None:
    account = world.account
    account.create_dynamic_table("a", "SELECT city, amount FROM orders")
    world.at(100)
    account.create_dynamic_table("near", "SELECT city FROM a", target_lag=90)
    assert account.describe("near").data_timestamp == 10
    account.create_dynamic_table("far", "SELECT city FROM a", target_lag=89)
    assert account.describe("far").data_timestamp == 100
    assert account.describe("a").data_timestamp == 100, "refreshed along"


@pytest.mark.parametrize("replaced", ["a table", "a view below it"])
def test_a_new_table_does_not_show_what_was_replaced(world: World, replaced: str) -> None:
    """Its upstreams share an earlier data timestamp, but one of them meant something else then."""
    account = world.account
    account.create_view("v", "SELECT city, amount FROM orders")
    account.create_dynamic_table("a", "SELECT city, amount FROM v")
    account.create_dynamic_table("b", "SELECT city FROM orders")
    world.at(20).account.refresh("a")
    account.refresh("b")
    other = "SELECT city, amount FROM orders WHERE amount > 5"
    account = world.at(30).account
    if replaced == "a table":
        account.create_dynamic_table("a", other, or_replace=True)
    else:
        account.create_view("v", other, or_replace=True)
    world.at(40).account.create_dynamic_table("c", "SELECT a.amount FROM a JOIN b ON a.city = b.city")
    assert account.describe("c").data_timestamp == 40
    assert world.rows("c") == [(10,), (10,), (20,), (20,)]


def test_the_future_cannot_be_read(world: World) -> None:
    world.account.create_dynamic_table("d", TOTALS)
    with pytest.raises(DefinitionError, match=r"^refresh of d at 11: the future cannot be read yet$"):
        world.account.refresh("d", 11)


def test_time_does_not_go_back(world: World) -> None:
    world.account.create_dynamic_table("d", TOTALS)
    world.at(20).account.refresh("d")
    with pytest.raises(
        RefreshFailed,
        match=r"^refresh of d at 15 failed: its data timestamp is 20, and time does not go back$",
    ):
        world.account.refresh("d", 15)


def test_an_uninitialized_table_is_refreshed_before_it_is_read(world: World) -> None:
    account = world.account
    account.create_dynamic_table("a", "SELECT city FROM orders", initialize=False)
    assert account.describe("a").data_timestamp is None
    account.create_dynamic_table("b", "SELECT city FROM a")
    assert account.describe("a").data_timestamp == account.describe("b").data_timestamp == 10


def test_an_upstream_that_moved_on_fails_the_refresh(world: World) -> None:
    account = world.account
    account.create_dynamic_table("a", "SELECT city FROM orders")
    account.create_dynamic_table("b", "SELECT city FROM a")
    world.at(20).account.refresh("a")
    with pytest.raises(RefreshFailed, match=r"^refresh of a at 15 failed: its data timestamp is 20"):
        account.refresh("b", 15)
    with pytest.raises(
        ValidationFailed, match=r"a has no version with this data timestamp \(latest: 10, 20\)"
    ):
        account.refreshing(account.dynamic_table("b")).run(15)


def test_an_error_in_the_data_fails_the_refresh_and_nothing_is_lost(world: World) -> None:
    account = world.account
    account.create_dynamic_table("d", "SELECT id, 100 / amount AS share FROM orders")
    world.at(20, Insert("orders", ((4, "oslo", 0),)))
    with pytest.raises(RefreshFailed, match=r"^refresh of d at 20 failed: "):
        account.refresh("d")
    assert account.describe("d").data_timestamp == 10
    world.at(30, Delete("orders", None)).account.refresh("d")
    assert world.rows("d") == []


def test_a_failed_initialization_leaves_nothing_behind(world: World) -> None:
    world.at(20, Insert("orders", ((4, "oslo", 0),)))
    with pytest.raises(RefreshFailed):
        world.account.create_dynamic_table("d", "SELECT id, 100 / amount AS share FROM orders")
    assert "d" not in world.account.store.definitions()
    world.at(30, Delete("orders", None)).account.create_dynamic_table(
        "d", "SELECT 100 / amount AS share FROM orders"
    )


def test_a_source_that_vanished_is_named(world: World) -> None:
    account = world.account
    account.create_dynamic_table("a", "SELECT city FROM orders")
    account.create_dynamic_table("b", "SELECT city FROM a")
    account.store.drop(account.dynamic_table("a"))
    with pytest.raises(
        DefinitionError, match=r"^b reads a, which was dropped or renamed; bring it back, or replace b$"
    ):
        world.at(20).account.refresh("b")


def test_a_changed_view_reinitializes(world: World) -> None:
    account = world.account
    view = account.create_view("v", "SELECT city FROM orders WHERE amount > 5")
    account.create_dynamic_table("d", "SELECT city FROM v")
    account.store.drop(view)
    account.create_view("v", "SELECT city FROM orders")
    (result,) = world.at(20).account.refresh("d")
    assert (result.action, result.record.reason) == (
        Action.REINITIALIZE,
        "the definition, or a view in it, changed",
    )
    assert len(world.rows("d")) == 3


def test_strings_and_names_as_spark_reads_them(world: World) -> None:
    account = world.account
    account.create_dynamic_table(
        "d", "select ORDERS.City, 'it''s' AS `so so`, \"dq\" AS q FROM Orders where ID = 1"
    )
    assert account.dynamic_table("d").columns[1][0] == "so so"
    assert world.rows("d") == [("rome", "it's", "dq")]


def test_fresh_contents_are_those_of_the_frontier(world: World) -> None:
    account = world.account
    account.create_dynamic_table("d", TOTALS)
    world.at(20, Delete("orders", None))
    assert {row[:2] for row in account.fresh_contents("d").rows()} == {("rome", 30), (None, 5)}


def test_a_refresh_mode_may_be_given_by_name(world: World) -> None:
    created = world.account.create_dynamic_table("totals", TOTALS, refresh_mode="full")
    assert (created.mode, created.incremental) == (RefreshMode.FULL, False)
    with pytest.raises(
        DefinitionError, match=r"^no refresh mode 'sometimes'; there are: AUTO, FULL, INCREMENTAL$"
    ):
        world.account.create_dynamic_table("t", TOTALS, refresh_mode="sometimes")
