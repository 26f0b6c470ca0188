"""Walking the IR: parts of an expression, blocks of a query, names that it reads."""

from __future__ import annotations

from tests.ir import (
    agg,
    all_of,
    call,
    columns,
    count_star,
    derived,
    join,
    lit,
    named,
    select,
    union_all,
    with_,
)
from tests.unit.workload.shop import CUSTOMER, ORDER, VIPS, everyone, spending
from workload.query import JoinKind, blocks, expressions_of, names_read, relations_of, subexpressions

c, o = columns(CUSTOMER, "c"), columns(ORDER, "o")
KEYS = select({"k": c["k"]}, named("customer", "c"))


def test_subexpressions_come_outside_in() -> None:
    total = agg("SUM", call("add", o["units"], 1))
    product = call("mul", total, 2)
    assert list(subexpressions(product)) == [product, total, total.arg, o["units"], lit(1), lit(2)]
    assert list(subexpressions(count_star())) == [count_star()]


def test_expressions_of_a_block_hold_every_clause() -> None:
    on, where, having = call("eq", c["k"], o["k"]), call("is_null", c["name"]), call("gt", count_star(), 1)
    source = join(JoinKind.LEFT, named("customer", "c"), named("purchase", "o"), on)
    block = select({"k": c["k"]}, source, where=where, group_by=[c["k"]], having=having)
    assert list(expressions_of(block)) == [c["k"], on, where, c["k"], having]


def test_expressions_of_nested_joins_come_inside_out() -> None:
    inner, outer = call("eq", c["k"], o["k"]), all_of(True, False)
    nested = join(JoinKind.FULL, named("customer", "c"), named("purchase", "o"), inner)
    source = join(JoinKind.INNER, nested, join(JoinKind.CROSS, named("a"), named("b")), outer)
    assert list(expressions_of(source)) == [inner, outer]
    assert [type(r).__name__ for r in relations_of(source)] == [
        "Join",
        "Join",
        "Named",
        "Named",
        "Join",
        "Named",
        "Named",
    ]


def test_blocks_enter_derived_tables_ctes_and_branches() -> None:
    assert len(list(blocks(spending()))) == 3
    assert len(list(blocks(everyone()))) == 9
    assert len(list(blocks(select({"k": lit(1)}, derived(everyone(), "d"))))) == 10


def test_names_read_are_listed_once_in_order_and_without_ctes() -> None:
    assert names_read(spending()) == ("customer", "purchase")
    assert names_read(union_all(KEYS, KEYS, VIPS)) == ("customer",)


def test_a_cte_hides_a_name_only_from_what_comes_after_it() -> None:
    reads_itself = with_({"ones": select({"k": lit(1)}, named("ones"))}, KEYS)
    forward = with_({"ones": select({"k": lit(1)}, named("twos")), "twos": KEYS}, KEYS)
    beside = union_all(with_({"ones": KEYS}, KEYS), select({"k": lit(1)}, named("ones")))
    assert names_read(reads_itself) == ("ones", "customer")
    assert names_read(forward) == ("twos", "customer")
    assert names_read(beside) == ("customer", "ones")


def test_a_cte_hides_a_name_inside_derived_tables_too() -> None:
    body = select({"k": lit(1)}, derived(select({"k": lit(1)}, named("ones")), "d"))
    assert names_read(with_({"ones": KEYS}, body)) == ("customer",)
