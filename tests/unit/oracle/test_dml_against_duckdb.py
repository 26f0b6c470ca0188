"""The functional DML against DuckDB's own statements, which change a table in place: random histories."""

from __future__ import annotations

from decimal import Decimal

import duckdb
from hypothesis import given, settings, strategies as st

from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from tests.depth import examples
from tests.unit.oracle.words import call, col, holds, plus, scenario, table
from workload.dml import Assignment, Delete, Dml, Insert, Merge, Overwrite, Truncate, Update
from workload.query import Expr, Literal
from workload.sql import Dialect, literal, render_expr
from workload.types import BOOLEAN, Row, Value, decimal

T = table("t: k INT, s STRING, d DECIMAL(4,1), x DOUBLE")
K, S, D, X = (col(T, column.name) for column in T.columns)
TYPES = [column.type for column in T.columns]

keys = st.sampled_from([None, 1, 2, 3])
doubles = st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")])
decimals = st.sampled_from([None, Decimal("0.5"), Decimal("2")])
row = st.tuples(keys, st.sampled_from([None, "", "a'b"]), decimals, doubles)
rows = st.lists(row, max_size=3).map(tuple)
predicates: st.SearchStrategy[Expr | None] = st.sampled_from(
    [
        None,
        holds("gt", K, 1),
        holds("eq", S, ""),
        holds("same", X, float("nan")),
        call("or", BOOLEAN, holds("lt", D, Decimal(1)), call("is_null", BOOLEAN, K)),
        Literal(None, BOOLEAN),
    ]
)
assignments = st.sampled_from(
    [
        (Assignment("k", plus(K, 1)),),
        (Assignment("s", Literal(None, T.columns[1].type)), Assignment("x", Literal(2.0, T.columns[3].type))),
        (Assignment("d", call("neg", decimal(4, 1), D)), Assignment("k", Literal(1, T.columns[0].type))),
    ]
)


def with_distinct_keys(source: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple({given_row[0]: given_row for given_row in source}.values())


merges = st.builds(
    Merge, st.just("t"), st.just(("k",)), rows.map(with_distinct_keys), predicates, st.booleans()
)
statements: st.SearchStrategy[Dml] = st.one_of(
    st.builds(Insert, st.just("t"), rows),
    st.builds(Update, st.just("t"), assignments, predicates),
    st.builds(Delete, st.just("t"), predicates),
    merges,
    st.builds(Overwrite, st.just("t"), rows),
    st.just(Truncate("t")),
)


def values(given_rows: tuple[Row, ...]) -> str:
    def text(cells: tuple[Value, ...]) -> str:
        return ", ".join(
            literal(cell, type_, Dialect.DUCKDB) for cell, type_ in zip(cells, TYPES, strict=True)
        )

    return "VALUES " + ", ".join(f"({text(cells)})" for cells in given_rows)


def condition(where: Expr | None) -> str:
    return "TRUE" if where is None else render_expr(where, Dialect.DUCKDB)


def in_place(statement: Dml) -> list[str]:
    """The statement as DuckDB itself has it."""
    match statement:
        case Insert(_, given_rows):
            return [f"INSERT INTO t {values(given_rows)}"] if given_rows else []
        case Overwrite(_, given_rows):
            return ["TRUNCATE t", *in_place(Insert("t", given_rows))]
        case Update(_, assigned, where):
            sets = ", ".join(f"{a.column} = {render_expr(a.value, Dialect.DUCKDB)}" for a in assigned)
            return [f"UPDATE t SET {sets} WHERE {condition(where)}"]
        case Delete(_, where):
            return [f"DELETE FROM t WHERE {condition(where)}"]
        case Merge(_, _, source, delete_when, inserts) if source:
            deletes = f"WHEN MATCHED AND {condition(delete_when)} THEN DELETE" if delete_when else ""
            insert = "WHEN NOT MATCHED THEN INSERT VALUES (n.k, n.s, n.d, n.x)" if inserts else ""
            sets = "WHEN MATCHED THEN UPDATE SET s = n.s, d = n.d, x = n.x"
            using = f"USING ({values(source)}) AS n(k, s, d, x) ON t.k IS NOT DISTINCT FROM n.k"
            return [f"MERGE INTO t {using} {deletes} {sets} {insert}"]
        case Merge():
            return []
        case _:
            return ["TRUNCATE t"]


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.lists(statements, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4))
def test_both_ways_lead_to_one_bag(
    database: duckdb.DuckDBPyConnection, commits: list[tuple[Dml, ...]]
) -> None:
    database.execute("CREATE OR REPLACE TABLE t (k INTEGER, s VARCHAR, d DECIMAL(4,1), x DOUBLE)")
    case = scenario((T,), commits=dict(enumerate(commits)))
    with DelayedView(case, database) as view:
        for at, commit in enumerate(commits):
            for text in (text for statement in commit for text in in_place(statement)):
                database.execute(text).fetchall()
            expected = database.execute("SELECT * FROM t").fetchall()
            assert Bag.of(view.source_rows("t", at), TYPES) == Bag.of(expected, TYPES)
