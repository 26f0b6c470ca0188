"""A table in the place of another one with columns of other names."""

from shrink.reductions.tables import merge_tables
from tests.unit.oracle.words import call, col, insert, named, plus, scenario, select, table, update
from workload.query import Derived, Named
from workload.scenario import DynamicTable
from workload.sql import Dialect, render_query
from workload.types import BOOLEAN
from workload.wellformed import check_scenario

SALES = table("sales: id INT, amount INT")
RETURNS = table("returns: k INT, a INT")


def test_every_column_gets_the_name_that_it_has_in_the_other_table() -> None:
    inner = select(
        Named("returns", "i"), ("k", col(RETURNS, "k", "i")), ("a", plus(col(RETURNS, "a", "i"), 1))
    )
    query = select(
        Derived(inner, "o"),
        ("k", col(RETURNS, "k", "o")),
        where=call("gt", BOOLEAN, col(RETURNS, "a", "o"), col(RETURNS, "k", "o")),
    )
    whole = scenario(
        (SALES, RETURNS),
        DynamicTable("d", query),
        DynamicTable("e", select(named(RETURNS), ("a", col(RETURNS, "a")))),
        commits={10: (insert(RETURNS, "1 2"), update(RETURNS, "a", plus(col(RETURNS, "a"), 1)))},
    )
    merged = next(each for each in merge_tables(whole) if each.tables == (SALES,))
    check_scenario(merged)
    assert [render_query(each.query, Dialect.SPARK) for each in merged.definitions] == [
        "SELECT o.k AS k FROM (SELECT i.id AS k, (i.amount + 1) AS a FROM sales AS i) AS o WHERE (o.a > o.k)",
        "SELECT returns.amount AS a FROM sales AS returns",
    ]
