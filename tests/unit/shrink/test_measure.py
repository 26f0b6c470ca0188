"""Sizes as a report shows them."""

from __future__ import annotations

from shrink import Size, size
from tests.ir import agg, call, columns, count_star, derived, join, named, select, table, union_all, with_
from tests.unit.workload.shop import SHOP
from workload.operators import written_operators
from workload.query import JoinKind
from workload.types import INT

R = table("r", k=INT, a=INT)
r, s = columns(R), columns(R, "s")


def test_a_projection_of_columns_is_no_operator() -> None:
    assert list(written_operators(select({"x": r["k"]}, named("r")))) == []


def test_a_projection_that_computes_is_one() -> None:
    assert list(written_operators(select({"x": call("neg", r["k"]), "y": 1}, named("r")))) == ["projection"]


def test_grouping_with_its_aggregates_and_keys_is_one() -> None:
    keys = [call("neg", r["k"])]
    grouped = select({"k": keys[0], "n": count_star(), "m": agg("MAX", r["a"])}, named("r"), group_by=keys)
    assert list(written_operators(grouped)) == ["grouped aggregation"]


def test_every_clause_counts() -> None:
    both = join(
        JoinKind.LEFT, named("r"), derived(select({"k": s["k"]}, named("r", "s"), distinct=True), "s"), True
    )
    query = select(
        {"n": count_star()},
        both,
        where=call("is_null", r["a"]),
        group_by=[r["k"]],
        having=call("is_null", r["k"]),
    )
    assert sorted(written_operators(query)) == [
        "distinct",
        "filter",
        "filter",
        "grouped aggregation",
        "left join",
    ]


def test_a_cte_counts_once_and_a_union_once() -> None:
    rows = select({"k": r["k"]}, named("r"), where=call("is_null", r["k"]))
    part = select({"k": columns(R, "c")["k"]}, named("c"))
    assert sorted(written_operators(with_({"c": rows}, union_all(part, part, part)))) == [
        "filter",
        "union all",
    ]


def test_rows_and_statements() -> None:
    shop = size(SHOP)
    assert (shop.rows, shop.dml) == (9, 11)
    assert shop.operators > 10
    assert isinstance(shop, Size)
