"""Name resolution: what a query yields, and the reason why it makes no sense."""

from __future__ import annotations

import math
import re

import pytest

from tests.ir import (
    Operand,
    agg,
    call,
    cast,
    col,
    columns,
    count_star,
    derived,
    join,
    lit,
    named,
    null,
    select,
    union_all,
    with_,
)
from tests.unit.workload.shop import CUSTOMER, ORDER, VIPS, spending
from workload.errors import WorkloadError
from workload.query import (
    MEMBERSHIP,
    Aggregate,
    AggregateFunction,
    Call,
    JoinKind,
    Literal,
    Query,
    UnionAll,
    With,
)
from workload.schema import Column
from workload.scope import output_columns
from workload.types import BIGINT, BOOLEAN, INT, STRING, decimal

CATALOG = {table.name: table.columns for table in (CUSTOMER, ORDER)}
c, o = columns(CUSTOMER, "c"), columns(ORDER, "o")
customers, orders = named("customer", "c"), named("purchase", "o")
on_k = call("eq", c["k"], o["k"])


def test_output_columns_have_the_names_and_types_of_the_items() -> None:
    assert output_columns(spending(), CATALOG) == (
        Column("k", INT),
        Column("spent", decimal(20, 2)),
        Column("kinds", BIGINT),
    )


def test_the_first_branch_of_a_union_gives_the_names() -> None:
    other = select({"code": o["k"], "label": null(STRING)}, orders)
    assert output_columns(union_all(VIPS, other), CATALOG) == (Column("k", INT), Column("name", STRING))


def test_ctes_see_earlier_ones_and_end_with_their_query() -> None:
    ones = select({"k": c["k"]}, customers)
    again = select({"k": col("g", "k", INT)}, named("ones", "g"))
    assert output_columns(with_({"ones": ones, "twos": again}, again), CATALOG) == (Column("k", INT),)
    with pytest.raises(WorkloadError, match="no relation named ones"):
        output_columns(union_all(with_({"ones": ones}, again), again), CATALOG)


@pytest.mark.parametrize("kind", MEMBERSHIP)
def test_a_semi_join_brings_its_left_side_into_scope(kind: JoinKind) -> None:
    source = join(kind, customers, orders, on_k)
    assert output_columns(select({"name": c["name"]}, source), CATALOG) == (Column("name", STRING),)
    with pytest.raises(WorkloadError, match=r"no column o\.units"):
        output_columns(select({"units": o["units"]}, source), CATALOG)


@pytest.mark.parametrize("kind", [kind for kind in JoinKind if kind not in (JoinKind.CROSS, *MEMBERSHIP)])
def test_a_join_brings_both_sides_into_scope(kind: JoinKind) -> None:
    query = select({"name": c["name"], "units": o["units"]}, join(kind, customers, orders, on_k))
    assert output_columns(query, CATALOG) == (Column("name", STRING), Column("units", BIGINT))


def test_expressions_of_keys_and_aggregates_stand_over_groups() -> None:
    key = call("mod", c["k"], 2)
    items: dict[str, Operand] = {
        "next": call("add", key, 1),
        "per": call("div_guarded", agg("SUM", c["k"]), count_star()),
        "one": lit(1),
    }
    assert len(output_columns(select(items, customers, group_by=[key]), CATALOG)) == 3


def test_a_key_with_a_nan_literal_is_itself() -> None:
    """Two NaN literals, as a file gives them, are one key."""

    def key() -> Call:
        return call("coalesce", o["weight"], float("nan"))

    assert len(output_columns(select({"w": key()}, orders, group_by=[key()]), CATALOG)) == 1


def grouped_by_k(**items: Call) -> Query:
    return select(items, customers, group_by=[c["k"]])


def where(condition: Call | Literal) -> Query:
    return select({"k": c["k"]}, customers, where=condition)


NONSENSE: list[tuple[Query, str]] = [
    (select({"k": c["k"]}, named("nobody", "c")), "no relation named nobody; known: customer, purchase"),
    (select({"k": o["k"]}, customers), "no column o.k of type INT in scope"),
    (select({"k": col("c", "age", INT)}, customers), "no column c.age of type INT"),
    (select({"k": col("c", "k", BIGINT)}, customers), "no column c.k of type BIGINT"),
    (select({}, customers), "a SELECT without columns"),
    (with_({"ones": VIPS}, select({"k": c["k"]}, derived(VIPS, "d"))), "no column c.k"),
    (UnionAll(()), "a UNION ALL without branches"),
    (union_all(VIPS, select({"k": c["k"]}, customers)), "different types"),
    (union_all(VIPS, select({"k": c["name"], "n": c["name"]}, customers)), "different types"),
    (with_({"customer": VIPS}, VIPS), "CTE customer hides another relation"),
    (
        With((*with_({"x": VIPS}, VIPS).ctes, *with_({"x": VIPS}, VIPS).ctes), VIPS),
        "CTE x hides another relation",
    ),
    (With((), VIPS), "without"),
    (where(call("add", c["k"], 1)), "WHERE is not a BOOLEAN"),
    (where(call("gt", count_star(), 1)), "an aggregate where none may stand"),
    (select({"n": count_star()}, customers), "an aggregate where none may stand"),
    (select({"k": lit(2**31, INT)}, customers), "2147483648 is no INT"),
    (select({"k": lit("x", INT)}, customers), "'x' is no INT"),
    (select({"k": c["k"]}, customers, having=lit(True)), "HAVING without GROUP BY"),
    (select({"n": count_star()}, customers, group_by=[c["k"]], having=c["k"]), "HAVING is not a BOOLEAN"),
    (select({"n": c["name"]}, customers, group_by=[c["k"]]), "c.name is neither grouped by nor aggregated"),
    (grouped_by_k(n=call("concat", c["name"], "x")), "c.name is neither grouped by nor aggregated"),
    (select({"n": count_star()}, customers, group_by=[lit(1)]), "a literal would be read as a position"),
    (select({"n": count_star()}, customers, group_by=[count_star()]), "an aggregate where none may stand"),
    (grouped_by_k(n=call("abs", agg("SUM", agg("SUM", c["k"])))), "an aggregate where none may stand"),
    (grouped_by_k(n=call("abs", agg("SUM", o["k"]))), "no column o.k"),
    (select({"one": lit(1)}, customers, group_by=[]), "no aggregate over it"),
    (select({"one": lit(1)}, join(JoinKind.INNER, customers, orders)), "INNER JOIN without a condition"),
    (select({"one": lit(1)}, join(JoinKind.CROSS, customers, orders, on_k)), "CROSS JOIN with a condition"),
    (select({"one": lit(1)}, join(JoinKind.LEFT, customers, orders, c["k"])), "ON is not a BOOLEAN"),
    (select({"one": lit(1)}, join(JoinKind.CROSS, customers, named("purchase", "c"))), "duplicate alias c"),
    (
        select(
            {"one": lit(1)},
            join(JoinKind.LEFT, join(JoinKind.LEFT, customers, orders, lit(True)), customers, on_k),
        ),
        "duplicate alias c",
    ),
    (where(call("sqrt", c["k"], type_=BOOLEAN)), "no function 'sqrt' of 1 arguments"),
    (where(Call("eq", (c["k"],), BOOLEAN)), "no function 'eq' of 1 arguments"),
    (where(Call("coalesce", (), BOOLEAN)), "no function 'coalesce' of 0 arguments"),
    (where(Call("in", (c["k"],), BOOLEAN)), "no function 'in' of 1 arguments"),
    (where(Call("case", (c["vip"], c["vip"]), BOOLEAN)), "no function 'case' of 2 arguments"),
    (
        where(Call("case", (c["vip"], c["vip"], c["vip"], c["vip"]), BOOLEAN)),
        "no function 'case' of 4 arguments",
    ),
    (grouped_by_k(n=call("abs", Aggregate(AggregateFunction.SUM, None, False, BIGINT))), "SUM"),
    (
        grouped_by_k(n=call("abs", Aggregate(AggregateFunction.COUNT_STAR, c["k"], False, BIGINT))),
        r"COUNT\(\*\)",
    ),
    (
        grouped_by_k(n=call("abs", Aggregate(AggregateFunction.COUNT_STAR, None, True, BIGINT))),
        r"COUNT\(\*\)",
    ),
]


@pytest.mark.parametrize(("query", "reason"), NONSENSE)
def test_nonsense_is_refused_with_the_reason(query: Query, reason: str) -> None:
    with pytest.raises(WorkloadError) as refused:
        output_columns(query, CATALOG)
    assert re.search(reason, str(refused.value))


def test_output_names_are_unique() -> None:
    twice = VIPS.items[:1] * 2
    with pytest.raises(WorkloadError, match="duplicate output column k"):
        output_columns(type(VIPS)(twice, VIPS.source), CATALOG)


def test_a_condition_on_one_side_does_not_see_the_other_joins_sides() -> None:
    """ON sees the two sides of its own join only."""
    inner = join(JoinKind.INNER, orders, named("purchase", "p"), on_k)
    with pytest.raises(WorkloadError, match=r"no column c\.k"):
        output_columns(select({"k": c["k"]}, join(JoinKind.LEFT, customers, inner, on_k)), CATALOG)


def test_literals_of_awkward_values_are_in_order() -> None:
    items: dict[str, Operand] = {"nan": lit(math.nan), "none": null(BOOLEAN), "text": cast(1, STRING)}
    assert [column.name for column in output_columns(select(items, customers), CATALOG)] == list(items)
