"""The evaluator against DuckDB: every function, aggregate and join, over extreme and special values."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from tests.ir import agg, call, case, cast, columns, derived, lit, named, select, union_all
from tests.truth import duckdb_truth
from tests.truth.bag_evaluator import Relation, evaluate
from tests.truth.matrix_queries import QUERIES
from tests.truth.matrix_scalars import MATRIX, scalar_query
from tests.truth.matrix_tables import RELATIONS, column_lists
from tests.truth.scalar_functions import LAZY, STRICT
from tests.truth.values import EvaluationError, canonical_rows
from workload import query as ir
from workload.aggregates import FORMS
from workload.query import AggregateFunction, Expr, JoinKind, Query, blocks, relations_of, subexpressions
from workload.schema import Column
from workload.scope import output_columns
from workload.sql.functions import CASE, FUNCTIONS, IN
from workload.types import BIGINT, INT, TINYINT, decimal

EVERY_FUNCTION = {*FUNCTIONS, CASE, IN}


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_truth.connect(RELATIONS) as connection:
        yield connection


def assert_same(expected: Relation, actual: Relation) -> None:
    assert duckdb_truth.shown_types(actual.columns) == duckdb_truth.shown_types(expected.columns)
    assert canonical_rows(actual.rows) == canonical_rows(expected.rows)


def test_the_evaluator_knows_every_function_once() -> None:
    assert STRICT.keys() | LAZY.keys() == EVERY_FUNCTION
    assert not STRICT.keys() & LAZY.keys()


def test_the_matrix_holds_every_function_aggregate_and_join() -> None:
    aggregates = {
        (part.function, part.distinct)
        for query in QUERIES.values()
        for block in blocks(query)
        for item in block.items
        for part in subexpressions(item.expr)
        if isinstance(part, ir.Aggregate)
    }
    joins = {
        relation.kind
        for query in QUERIES.values()
        for block in blocks(query)
        for relation in relations_of(block.source)
        if isinstance(relation, ir.Join)
    }
    assert MATRIX.keys() == EVERY_FUNCTION
    assert all(any(part.function == name for part in calls) for name, calls in MATRIX.items())
    # The forms have a matrix of their own.
    with_argument = [f for f in AggregateFunction if f not in {AggregateFunction.COUNT_STAR, *FORMS}]
    assert aggregates >= {(f, distinct) for f in with_argument for distinct in (False, True)}
    assert joins == set(JoinKind)


@pytest.mark.parametrize("function", MATRIX)
def test_function(function: str, database: duckdb.DuckDBPyConnection) -> None:
    for expression in MATRIX[function]:
        query = scalar_query([expression])
        assert_same(evaluate(query, RELATIONS), duckdb_truth.answer(database, query))


@pytest.mark.parametrize("name", QUERIES)
def test_query(name: str, database: duckdb.DuckDBPyConnection) -> None:
    query = QUERIES[name]
    expected = evaluate(query, RELATIONS)
    assert expected.columns == output_columns(query, column_lists())
    assert_same(expected, duckdb_truth.answer(database, query))


a = columns(RELATIONS["specimen"].columns, "a")
total_of = columns((Column("value", BIGINT),), "u")["value"]


def of_one_row(value: Expr) -> Query:
    """A query that yields the value over the row with a.i = 7, a.l = 3_000_000_000, a.s = 'abc'."""
    return select({"value": value}, named("specimen", "a"), where=call("eq", a["id"], 4))


ERRORS: dict[str, Query] = {
    "INT overflow": of_one_row(call("add", a["i"], 2**31 - 1)),
    "INT underflow": of_one_row(call("sub", -(2**31) + 1, a["i"])),
    "INT product": of_one_row(call("mul", a["i"], 2**31 - 1)),
    "BIGINT overflow": of_one_row(call("add", a["l"], 2**63 - 1)),
    "BIGINT product": of_one_row(call("mul", a["l"], call("mul", a["l"], a["l"]))),
    "minus the least INT": of_one_row(call("neg", call("sub", -(2**31) + 7, a["i"]))),
    "absolute least INT": of_one_row(call("abs", call("sub", -(2**31) + 7, a["i"]))),
    "remainder by zero": of_one_row(call("mod", a["i"], call("sub", a["i"], a["i"]))),
    "remainder by zero, DOUBLE": of_one_row(call("mod", a["x"], 0.0)),
    "TINYINT overflow": of_one_row(call("add", call("mul", a["y"], lit(20, TINYINT)), a["y"])),
    "SMALLINT overflow": of_one_row(call("mul", a["h"], call("mul", a["h"], a["h"]))),
    "too big for TINYINT": of_one_row(cast(a["l"], TINYINT)),
    "too big for INT": of_one_row(cast(a["l"], INT)),
    "too big for DECIMAL": of_one_row(cast(a["l"], decimal(5, 2))),
    "no number": of_one_row(cast(a["s"], INT)),
    "SUM beyond BIGINT": select(
        {"total": agg("SUM", total_of)},
        derived(union_all(of_one_row(lit(2**63 - 1)), of_one_row(lit(1, BIGINT))), "u"),
        group_by=[],
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_query_without_a_value_is_an_error_on_both_sides(
    name: str, database: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(EvaluationError):
        evaluate(ERRORS[name], RELATIONS)
    with pytest.raises(duckdb.Error):
        duckdb_truth.answer(database, ERRORS[name])


def test_a_branch_not_taken_is_not_evaluated() -> None:
    never = call("mod", a["i"], 0)
    false = call("and", False, call("eq", never, 0))
    guarded = case((call("lt", a["i"], 0), never), (false, never), otherwise=1)
    assert evaluate(of_one_row(guarded), RELATIONS).rows == ((1,),)
