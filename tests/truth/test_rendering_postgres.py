"""PostgreSQL and DuckDB give the same values for the two texts of one query; refusals are listed."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import psycopg
import pytest

from engines import Transaction
from engines.engine import opened
from engines.others.pg_ivm import PgIvm
from tests.truth import duckdb_truth
from tests.truth.matrix_queries import QUERIES
from tests.truth.matrix_scalars import MATRIX, scalar_query
from tests.truth.matrix_tables import RELATIONS, column_lists
from tests.truth.values import canonical_rows
from tests.unit.engines.pglite import needs_pglite
from workload.dml import Insert
from workload.errors import WorkloadError
from workload.query import Call, Query
from workload.schema import Table
from workload.scope import output_columns
from workload.sql import Dialect, create_table_text, render_expr, render_query
from workload.types import Kind

pytestmark = [pytest.mark.slow, needs_pglite]

REFUSED_QUERIES = {
    **dict.fromkeys(
        [
            f"FULL JOIN: {on}"
            for on in ("same keys", "inequality", "either", "left side only", "right side only")
        ],
        "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
    ),
}
"""What PostgreSQL does not run, with its words. None of it but these kinds of join is generated."""


def refused(call: Call) -> str | None:
    """PostgreSQL's words for a call of the matrix that it does not run; none of these is generated."""
    if call.function == "mod" and call.type.kind in (Kind.FLOAT, Kind.DOUBLE):
        return "operator does not exist"
    if call.function == "cast" and {call.type.kind, call.args[0].type.kind} == {Kind.BIGINT, Kind.BOOLEAN}:
        return "cannot cast type"
    if "\0" in render_expr(call, Dialect.POSTGRES):
        return "unterminated quoted string"
    return None


@pytest.fixture(scope="module")
def postgres() -> Iterator[PgIvm]:
    """The relations of the matrix as tables."""
    tables = {name: Table(name, relation.columns) for name, relation in RELATIONS.items()}
    inserts = tuple(Insert(name, relation.rows) for name, relation in RELATIONS.items() if relation.rows)
    with opened(PgIvm) as adapter:
        assert isinstance(adapter, PgIvm)
        for table in tables.values():
            adapter.create_table(table, create_table_text(table, Dialect.POSTGRES))
        adapter.commit(Transaction(1, inserts, tables, Dialect.POSTGRES))
        yield adapter


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_truth.connect(RELATIONS) as connection:
        yield connection


def assert_alike(
    query: Query, refusal: str | None, postgres: PgIvm, database: duckdb.DuckDBPyConnection
) -> None:
    """The same values, or the refusal."""
    text, declared = render_query(query, Dialect.POSTGRES), output_columns(query, column_lists())
    if refusal is not None:
        with pytest.raises(psycopg.Error, match=refusal):
            postgres.evaluate(text, declared)
        return
    answer = canonical_rows(list(postgres.evaluate(text, declared)))
    assert answer == canonical_rows(duckdb_truth.answer(database, query).rows), text


@pytest.mark.parametrize("function", MATRIX)
def test_function(function: str, postgres: PgIvm, database: duckdb.DuckDBPyConnection) -> None:
    for call in MATRIX[function]:
        assert_alike(scalar_query([call]), refused(call), postgres, database)


WITHOUT_TEXT = [name for name in QUERIES if name.startswith(("SEMI JOIN", "ANTI JOIN"))]


@pytest.mark.parametrize("name", WITHOUT_TEXT)
def test_a_query_without_a_text_is_refused_before_it_runs(name: str) -> None:
    with pytest.raises(WorkloadError, match="has no text in postgres"):
        render_query(QUERIES[name], Dialect.POSTGRES)


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in WITHOUT_TEXT])
def test_query(name: str, postgres: PgIvm, database: duckdb.DuckDBPyConnection) -> None:
    assert_alike(QUERIES[name], REFUSED_QUERIES.get(name), postgres, database)
