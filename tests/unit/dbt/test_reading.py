"""What the text of a model tells: its driving sources, its clock, its constants."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from random import Random

import duckdb
import pytest

from campaign.dbt.facts import base_day, clock_scale, domains_of
from campaign.dbt.project import SourceColumn
from campaign.dbt.reading import (
    TextRead,
    all_renames,
    check_literals,
    clock_of,
    columns_of,
    grouping as grouping_of,
    read_text,
    roles,
    with_clocks,
    with_repeats,
)
from campaign.dbt.rows import DOT, NEWEST, NULL, Domains
from tests.unit.dbt.projects import BY_COUNTRY, CUSTOMERS, ORDERS, SHOP, model

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
    assert found.filtered == ("updated_at", "src.updated_at")
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


def test_null_that_is_asked_for_days_and_negative_numbers_are_constants() -> None:
    found = read(
        "select 1 from shop.main.orders where gone_at is null and paid is not null "
        "and day >= '2024-02-29' and amount between -1.5 and 2"
    )
    assert found.constants["gone_at"] == found.constants["paid"] == ("NULL",)
    assert set(found.constants["day"]) == {"'2024-02-28'", "'2024-02-29'", "'2024-03-01'"}
    assert set(found.constants["amount"]) == {"-1.6", "-1.5", "-1.4", "1", "2", "3"}


def test_constants_reach_the_columns_of_sources_through_renames() -> None:
    staged = read("select id, customer_id as buyer, round(amount) as total from shop.main.orders")
    above = read("select * from shop.main.staged s join shop.main.people p on p.id = s.buyer where total = 7")
    found = domains_of(SHOP, {"staged": staged, "above": above}, [])
    assert set(found.constants) == {"amount"}
    assert found.links["customer_id"] == {"id"}


def test_rows_meet_what_models_ask_of_a_part_of_a_column() -> None:
    """A document, a struct or a list holds the constant, also where another model named the part."""
    types = {
        "payload": "JSON",
        "ctx": "STRUCT(country VARCHAR, n INTEGER)",
        "tags": "VARCHAR[]",
        "nums": "BIGINT[]",
    }
    columns = tuple(SourceColumn(name, type_, False) for name, type_ in types.items())
    project = replace(SHOP, sources={ORDERS.id: replace(ORDERS, columns=columns, clock=None)})
    staged = read(
        "select payload->>'$.type' as kind, e.ctx.country, ctx['n'] as n, payload->'a'->>'b' as b, "
        "tags, nums from shop.main.orders e where list_contains(tags, 'vip') and 7 = any(nums)"
    )
    above = read(
        "select * from shop.main.staged where kind in ('click', 'it''s') "
        "and b is null and country = 'DE' and n = 7"
    )
    domains = domains_of(project, {"staged": staged, "above": above}, [])
    drawn = {name: domains.compared(name, type_, required=True) for name, type_ in types.items()}
    assert drawn["payload"] == [
        """'{"type": "click", "a": {"b": null}}'::JSON""",
        """'{"type": "it''s", "a": {"b": null}}'::JSON""",
    ]
    assert drawn["ctx"] == [f"{{'country': 'DE', 'n': {n}}}" for n in (7, 8, 6)]
    assert (drawn["tags"], drawn["nums"]) == (["['vip']"], ["[7]", "[8]", "[6]"])
    with duckdb.connect() as connection:
        for name, type_ in types.items():
            for literal in drawn[name]:
                connection.execute(f"SELECT CAST({literal} AS {type_})")


def test_texts_that_models_read_as_json_are_documents() -> None:
    """Random texts are malformed, so that the model could not be built, or had no row in any trial."""
    types = {"data": "VARCHAR", "raw": "JSON", "id": "INTEGER"}
    columns = tuple(SourceColumn(name, type_, True) for name, type_ in types.items())
    project = replace(SHOP, sources={ORDERS.id: replace(ORDERS, columns=columns, clock=None)})
    staged = read("select data as payload, raw from shop.main.orders where json_array_length(raw) is null")
    above = read(
        "select (payload::json->>'$.id')::int as id, ((payload->'user')->>'at')::timestamp as at, "
        "raw->>'b' as b from shop.main.staged where payload->>'$.type' = 'click' "
        "and (payload->>'at')::timestamp > (select max(at) from shop.main.by_country)"
    )
    domains = domains_of(project, {"staged": staged, BY_COUNTRY.id: above}, [])
    assert above.filtered == ("payload.at",)
    assert {*domains.documents["data"]} == {"id", "user.at", "type", "at"}
    with duckdb.connect() as connection:
        for number in range(20):
            row = [domains.draw(Random(number), name, types[name], required=True) for name in ("data", "raw")]
            domains.redrawn(Random(1), "data", "VARCHAR", True, row[0])
            across = domains.across(Random(number), "data", "VARCHAR", True, row[0])
            read_back = "d->>'id', (d->'user'->>'at')::timestamp, d->>'type', r->>'b'"
            query = f"SELECT {read_back} FROM (SELECT (%s)::VARCHAR d, {row[1]} r)"
            before, after = (connection.execute(query % each).fetchone() for each in (row[0], across))
            again = connection.execute(query % domains.redrawn(Random(1), "data", "VARCHAR", True, row[0]))
            assert before
            assert after
            assert None not in before
            # A part that is the model's key stays, and what the model asks for changes.
            assert before[0] == after[0] == (again.fetchone() or [None])[0]
            assert before[2] != after[2]


def test_a_key_of_groups_is_no_key_of_a_part() -> None:
    text = "select data->>'kind' as id, count(*) as n from shop.main.orders group by 1"
    columns = (SourceColumn("data", "VARCHAR", True),)
    project = replace(SHOP, sources={ORDERS.id: replace(ORDERS, columns=columns, clock=None)})
    assert domains_of(project, {BY_COUNTRY.id: read(text)}, []).unique == frozenset()
    plain = domains_of(project, {BY_COUNTRY.id: read("select data->>'kind' as id from shop.main.orders")}, [])
    assert plain.unique == {"data.kind"}


@pytest.mark.parametrize(
    ("text", "latest"),
    [
        (
            "select * from (select *, row_number() over (partition by id order by a) n from t) where n = 1",
            True,
        ),
        ("select * from t qualify row_number() over (partition by id order by at desc) = 1", True),
        ("select distinct on (id) * from t order by id, at desc", True),
        ("select distinct id from t", False),
        ("select *, row_number() over (order by at) as sk from t where state = 1", False),
    ],
)
def test_a_model_that_takes_the_latest_row_of_a_key(text: str, latest: bool) -> None:
    found = read(text)
    assert (found.latest, found.groups) == (latest, text == "select distinct id from t")
    assert with_repeats(SHOP, {BY_COUNTRY.id: found}) == (
        frozenset({BY_COUNTRY.id}) if latest else frozenset()
    )


@pytest.mark.parametrize(
    ("text", "grouping"),
    [
        ("select customer_id as id, count(*) from orders group by 1", True),
        ("with g as (select distinct id from orders), h as (select * from g) select * from h", True),
        ("select id from orders union all select id from customers group by id", True),
        (
            "with new as (select id from orders group by id) select * from orders where id in (from new)",
            False,
        ),
        ("with t as (select distinct id from orders) select o.* from orders o join t using (id)", False),
        ("select id, sum(amount) over (order by id) from orders where at > (select max(at) from m)", False),
    ],
)
def test_a_model_that_groups_has_no_key_of_a_source(text: str, grouping: bool) -> None:
    """With a row for each of its keys, a model that replaces a total by that of new rows was never wrong."""
    found = read(text)
    assert found.groups is grouping
    # A model above it has its rows.
    above = replace(model("above", BY_COUNTRY.id), id="model.shop.above")
    models = {BY_COUNTRY.id: BY_COUNTRY, above.id: above}
    ancestors = {**SHOP.ancestors, above.id: frozenset({BY_COUNTRY.id})}
    project = replace(SHOP, models=models, ancestors=ancestors)
    assert grouping_of(project, {BY_COUNTRY.id: found}) == (frozenset(models) if grouping else frozenset())


def test_a_field_of_a_table_is_no_part() -> None:
    found = domains_of(
        SHOP, {"m": read("select o.amount as a from shop.main.orders o where o.amount = 7")}, []
    )
    assert found.compared("amount", "DECIMAL(10,2)", required=True) == ["7", "8", "6"]


def test_texts_that_are_read_as_times_are_known() -> None:
    found = read(
        "select cast(a as timestamp), b::date, strptime(c, '%Y'), cast(d as integer) from shop.main.orders"
    )
    assert found.times == {"a", "b", "c"}
    domains = Domains(dt.date(2024, 1, 1), {"a": ("'x'",)}, times=found.times)
    drawn = {domains.draw(Random(number), "A", "VARCHAR", required=True) for number in range(20)}
    assert drawn == {f"'2024-02-14 {hour}:00:00'" for hour in (21, 22, 23)}


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


def test_what_is_looked_up_in_the_model_is_no_clock() -> None:
    """With ticks in place of keys, no order had a customer, and models of both had no row in any trial."""
    found = read(
        "with old as (select customer_id, amount, updated_at from shop.main.by_country) select * from orders "
        "where customer_id in (select customer_id from old) and amount = (select max(amount) from old)"
    )
    assert (found.filtered, found.matched) == ((), ("customer_id", "amount"))
    plain = replace(ORDERS, clock=None)
    assert clock_of(plain, ["customer_id", "amount"]) == "amount"
    project = replace(SHOP, sources={ORDERS.id: plain})
    assert with_clocks(project, {BY_COUNTRY.id: found}).sources[ORDERS.id].clock == "updated_at"
    days = replace(found, matched=("made",))
    made = replace(plain, columns=(*plain.columns, SourceColumn("made", "DATE", False)))
    project = replace(SHOP, sources={ORDERS.id: made})
    assert with_clocks(project, {BY_COUNTRY.id: days}).sources[ORDERS.id].clock == "made"


def test_names_are_followed_through_renames() -> None:
    renamed = all_renames(
        [
            read("select cast(updated_at as date) as synced from shop.main.orders"),
            read("select synced as day, id as order_id from shop.main.stg"),
        ]
    )
    assert columns_of(ORDERS, "day", renamed) == ["updated_at"]
    assert columns_of(ORDERS, "ORDER_ID", renamed) == ["id"]
    assert columns_of(ORDERS, "amount", renamed) == ["amount"]
    assert columns_of(ORDERS, "nothing", renamed) == []


def test_the_inner_comparison_has_the_clock() -> None:
    found = read(
        "select day, sum(amount) as s from shop.main.orders where day in (select day from shop.main.orders "
        "where updated_at >= (select max(updated_at) from shop.main.by_country)) group by day"
    )
    assert found.filtered == ("updated_at",)


def test_an_ephemeral_parent_is_seen_through() -> None:
    base = replace(model("base", CUSTOMERS.id), materialized="ephemeral", relation="")
    above = model("above", ORDERS.id, base.id)
    models = {base.id: base, above.id: above}
    ancestors = {base.id: frozenset({CUSTOMERS.id}), above.id: frozenset({CUSTOMERS.id, ORDERS.id, base.id})}
    project = replace(SHOP, models=models, ancestors=ancestors)
    text = (
        "with __dbt__cte__base as (select * from shop.main.customers) "
        "select * from shop.main.orders o left join __dbt__cte__base b on b.id = o.customer_id"
    )
    found = roles(project, {above.id: read(text)})
    assert found.driving[above.id] == {ORDERS.id}
    assert found.joined[above.id] == {CUSTOMERS.id}


def test_all_clocks_that_models_filter_by_are_known() -> None:
    days = (SourceColumn("made", "DATE", False), SourceColumn("seen", "DATE", False))
    both = replace(ORDERS, clock=None, columns=(*ORDERS.columns, *days))
    one, two, of_another = model("one"), model("two"), model("of_another")
    above = frozenset({ORDERS.id})
    project = replace(
        SHOP,
        sources={ORDERS.id: both, CUSTOMERS.id: CUSTOMERS},
        models={each.id: each for each in (one, two, of_another)},
        ancestors={one.id: above, two.id: above, of_another.id: frozenset({CUSTOMERS.id})},
    )
    filtered = {
        each.id: replace(read("select 1 from shop.main.orders"), filtered=(name,))
        for each, name in ((one, "updated_at"), (two, "made"), (of_another, "seen"))
    }
    found = with_clocks(project, filtered).sources[ORDERS.id]
    assert (found.clock, found.clocks) == ("updated_at", ("made",))


@pytest.mark.parametrize(
    ("type_", "condition", "clock", "literal"),
    [
        ("JSON", "(doc->>'$.meta.at')::timestamp", "doc.meta.at", "'2024-02-15 01:00:00'"),
        ("VARCHAR", "json_extract_string(doc, '$.n')::bigint", "doc.n", "64860"),
        ("JSON", "(doc->'items'->0->>'at')::timestamp", "doc.items.[0].at", "'2024-02-15 01:00:00'"),
        ("VARCHAR", "(doc->>'$.\"a.b\"[1]')::date", f"doc.a{DOT}b.[1]", "'2024-02-15 01:00:00'"),
        ("STRUCT(tm TIMESTAMP, v INTEGER)", "doc.tm", "doc.tm", "TIMESTAMP '2024-02-15 01:00:00'"),
    ],
)
def test_a_part_of_a_column_is_a_clock(type_: str, condition: str, clock: str, literal: str) -> None:
    """Drawn at random, the part was older than the newest: rows that were "appended" were late ones."""
    columns = (SourceColumn("id", "INTEGER", True), SourceColumn("doc", type_, False))
    project = replace(SHOP, sources={ORDERS.id: replace(ORDERS, columns=columns, clock=None, foreign=())})
    reads = {
        BY_COUNTRY.id: read(
            f"select id, at from (select *, {condition} as at from shop.main.orders) "
            "where at > (select max(at) from shop.main.by_country)"
        )
    }
    source = with_clocks(project, reads).sources[ORDERS.id]
    assert source.clock == clock
    domains = domains_of(replace(project, sources={ORDERS.id: source}), reads, [])
    assert domains.clock(source, clock).literal(NEWEST + 60) == literal
    part = source.part(clock)
    assert part is not None
    whole = domains.with_part(part, NULL, literal)
    bare = literal.removeprefix("TIMESTAMP ").strip("'")
    assert bare in whole
    other = domains.with_part_of(part, domains.with_part(part, whole, NULL), whole)
    assert bare in other
    assert (type_ == "JSON") == other.endswith("::JSON")


@pytest.mark.parametrize(
    ("type_", "condition"),
    [
        ("VARCHAR", "doc.made::timestamp"),
        ("JSON[]", "(doc[1]->>'made')::timestamp"),
        ("JSON", "doc.made::date"),
    ],
)
def test_what_is_no_part_of_a_column_is_no_clock(type_: str, condition: str) -> None:
    """The table was called as its column of text: the column was written as a document, with a traceback."""
    columns = (SourceColumn("doc", type_, False), SourceColumn("made", "TIMESTAMP", False))
    project = replace(SHOP, sources={ORDERS.id: replace(ORDERS, columns=columns, clock=None, foreign=())})
    text = (
        f"select {condition} as made from shop.main.orders as doc "
        f"where {condition} > (select max(made) from shop.main.by_country)"
    )
    source = with_clocks(project, {BY_COUNTRY.id: read(text)}).sources[ORDERS.id]
    assert (source.clock, source.clocks) == ("made", ())


def test_days_and_units_come_from_the_constants_beside_a_clock() -> None:
    assert base_day(["'2024-06-01'", "'x'"], timed=False) == dt.date(2024, 6, 1)
    assert base_day(["'9999-12-31'", "'2024-02-31'"], timed=False) == dt.date(2024, 1, 1)
    assert base_day([], timed=False) == dt.date(2024, 1, 1)
    assert (clock_scale(["172800"]), clock_scale(["3600000"]), clock_scale(["7", "'a'"])) == (60, 60_000, 1)


def test_literals_of_checks() -> None:
    assert ("qty", "101") in check_literals("CHECK((qty > 100))")
    assert check_literals("((") == []
