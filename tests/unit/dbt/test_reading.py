"""What the text of a model tells: its driving sources, its clock, its constants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.dbt.project import SourceColumn
from campaign.dbt.reading import TextRead, clock_of, read_text, roles, with_clocks
from tests.unit.dbt.projects import BY_COUNTRY, CUSTOMERS, ORDERS, SHOP

ITSELF = "shop.main.by_country"


def read(text: str) -> TextRead:
    """What a text of the model reads."""
    found = read_text(text, ITSELF)
    assert found is not None
    return found


def test_from_drives_and_join_does_not() -> None:
    found = read(
        'with src as (select * from "shop"."main"."orders"), c as (select * from "shop"."main"."customers") '
        "select * from src left join c on c.id = src.customer_id "
        'where src.updated_at > (select max(updated_at) from "shop"."main"."by_country")'
    )
    assert found.driving == {"shop.main.orders"}
    assert found.joined == {"shop.main.customers"}
    assert found.filtered == ("updated_at",)
    assert found.links == {("id", "customer_id"), ("customer_id", "id")}
    model_roles = roles(SHOP, {BY_COUNTRY.id: found})
    assert model_roles.driving[BY_COUNTRY.id] == {ORDERS.id}
    assert model_roles.joined[BY_COUNTRY.id] == {CUSTOMERS.id}


def test_both_sides_of_a_union_drive() -> None:
    found = read('select 1 from "shop"."main"."orders" union all select 2 from "shop"."main"."customers"')
    assert found.driving == {"shop.main.orders", "shop.main.customers"}


def test_a_looked_up_table_is_joined() -> None:
    found = read("select * from shop.main.orders where customer_id in (select id from shop.main.customers)")
    assert found.driving == {"shop.main.orders"}
    assert found.joined == {"shop.main.customers"}


def test_constants_come_with_their_neighbours() -> None:
    found = read("select case when amount > 5 then 1 end from shop.main.orders where kind like 'wine%'")
    assert set(found.constants["amount"]) >= {"4", "5", "6"}
    assert found.constants["kind"] == ("'winea'",)


@pytest.mark.parametrize(
    ("text", "timed"),
    [
        ("select * from shop.main.orders where updated_at > current_date - 3", True),
        ("select *, current_timestamp as loaded_at from shop.main.orders", False),
    ],
)
def test_only_conditions_depend_on_the_time(text: str, timed: bool) -> None:
    assert read(text).timed is timed


def test_a_text_that_cannot_be_read_makes_all_sources_drive() -> None:
    assert read_text("select frm where", ITSELF) is None
    assert roles(SHOP, {}).driving[BY_COUNTRY.id] == {ORDERS.id, CUSTOMERS.id}


def test_the_clock_is_what_models_filter_by() -> None:
    plain = replace(ORDERS, clock=None, columns=(*ORDERS.columns, SourceColumn("batch", "INTEGER", False)))
    assert clock_of(plain, ["batch"]) == "batch"
    assert clock_of(plain, []) == "updated_at"
    assert clock_of(replace(plain, clock="batch"), ["updated_at"]) == "batch"
    assert clock_of(CUSTOMERS, []) is None
    assert with_clocks(SHOP, {}).sources[ORDERS.id].clock == "updated_at"
