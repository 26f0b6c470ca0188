"""The aggregates with further arguments: which are well formed, how they are lifted, what an estimate is."""

from __future__ import annotations

import pytest

from tests.ir import agg, call, columns, count_star, named, select, table
from workload.codec import decode, encode
from workload.errors import WorkloadError
from workload.lift.queries import lifted_query
from workload.query import (
    Aggregate,
    AggregateFunction,
    ColumnRef,
    Query,
    Select,
    children,
    rebuilt,
    subexpressions,
)
from workload.schema import Column
from workload.scope import output_columns
from workload.sql import Dialect, render_query
from workload.types import BOOLEAN, DOUBLE, ESTIMATE, INT, STRING, array_of, parse_type

R = table("r", k=INT, v=INT, s=STRING)
r = columns(R)
CATALOG = {"r": R.columns}


def over(aggregate: Aggregate) -> Select:
    """The aggregate by `k`."""
    return select({"k": r["k"], "y": aggregate}, named("r"), group_by=[r["k"]])


@pytest.mark.parametrize(
    ("aggregate", "type_"),
    [
        (agg("STDDEV_SAMP", r["v"]), ESTIMATE),
        (agg("COVAR_POP", r["v"], r["k"]), ESTIMATE),
        (agg("MAX_BY", r["s"], r["v"], r["s"]), STRING),
        (agg("MIN_BY", r["k"], r["v"]), INT),
        (agg("COLLECT_LIST", r["v"], True), array_of(INT)),
        (agg("LISTAGG", r["s"], ",", False), STRING),
        (agg("PERCENTILE", r["v"], 0.5), DOUBLE),
        (agg("COUNT", r["v"], r["s"], distinct=True), count_star().type),
    ],
)
def test_a_form_is_well_formed_and_its_parts_are_its_arguments(aggregate: Aggregate, type_: object) -> None:
    assert output_columns(over(aggregate), CATALOG)[1].type == type_
    assert rebuilt(aggregate, children(aggregate)) == aggregate
    assert decode(encode(aggregate), Aggregate, "aggregate") == aggregate


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        (agg("MAX_BY", r["s"], r["v"]), "may have other values"),
        (agg("MAX_BY", r["s"]), "may have other values"),
        (agg("COVAR_POP", r["v"]), "takes two values"),
        (agg("PERCENTILE", r["v"], 1.5), "between 0 and 1"),
        (agg("PERCENTILE", r["v"], r["k"]), "takes constants of the types DOUBLE"),
        (agg("LISTAGG", r["s"], ","), "takes constants of the types STRING, BOOLEAN"),
        (agg("MIN", r["s"], r["v"]), "takes one argument"),
        (Aggregate(AggregateFunction.VAR_POP, r["v"], False, DOUBLE), "is an estimate"),
        (agg("PERCENTILE", call("cast", r["v"], type_=ESTIMATE), 0.5), "over an estimate"),
    ],
)
def test_what_has_no_one_answer_is_refused(aggregate: Aggregate, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        output_columns(over(aggregate), CATALOG)


def test_lifted_arguments_are_columns_below_the_join_and_equal_ones_are_one_column() -> None:
    text = call("upper", r["s"])
    whole = select(
        {"y": agg("MAX_BY", text, r["v"], text), "l": agg("LISTAGG", text, ",", True)},
        named("r"),
        group_by=[],
    )
    lifted: Query = lifted_query(whole)
    assert isinstance(lifted, Select)
    names = [
        [part.name for part in subexpressions(item.expr) if isinstance(part, ColumnRef)]
        for item in lifted.items
    ]
    assert names == [["a0", "a1", "a0"], ["a0"], ["world"]]
    worlds = {"worlds": (Column("world", INT),), "r": (*R.columns, Column("world", INT))}
    assert [column.type for column in output_columns(lifted, worlds)] == [STRING, STRING, INT]


def test_an_estimate_is_a_double_to_engines_and_has_its_own_name() -> None:
    assert parse_type(str(ESTIMATE)) == ESTIMATE != DOUBLE == ESTIMATE.stored
    assert BOOLEAN.stored == BOOLEAN
    cast = select({"y": call("cast", r["v"], type_=ESTIMATE)}, named("r"))
    assert "AS DOUBLE)" in render_query(cast, Dialect.SPARK)


def test_postgres_has_no_text_for_corr() -> None:
    with pytest.raises(WorkloadError, match="CORR has no text in postgres"):
        render_query(over(agg("CORR", r["v"], r["k"])), Dialect.POSTGRES)
