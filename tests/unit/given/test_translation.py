"""Relations behind commas are joined by their conditions, and the rows of the query stay as they are."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot.optimizer.qualify import qualify

from given.translation import join_listed_relations

SCHEMA: dict[str, object] = {name: {"k": "INT", "n": "INT"} for name in "abcd"}

JOINED = {
    "SELECT a.n FROM a, b WHERE a.k = b.k": "FROM a AS a INNER JOIN b AS b ON a.k = b.k",
    "SELECT a.n FROM a, b WHERE a.k = b.k AND a.n > 1": "ON a.k = b.k WHERE a.n > 1",
    "SELECT a.n FROM a CROSS JOIN b WHERE (a.k = b.k AND b.n = a.n)": "ON a.k = b.k AND b.n = a.n",
    # Not in the order of the list: no condition compares a with b.
    "SELECT a.n FROM a, b, c WHERE a.k = c.k AND c.n = b.n": (
        "FROM a AS a INNER JOIN c AS c ON a.k = c.k INNER JOIN b AS b ON c.n = b.n"
    ),
    "SELECT a.n FROM a LEFT JOIN b ON a.k = b.k, c WHERE b.n = c.n": "INNER JOIN c AS c ON b.n = c.n",
    "SELECT COUNT(*) AS n FROM (SELECT a.k FROM a, b WHERE a.k = b.k) AS q": "INNER JOIN b AS b ON a.k = b.k",
}

STAR = "SELECT * FROM a, b, c WHERE a.k = c.k AND c.n = b.n"
"""Read in another order, its columns would stand in another one."""

LEFT_ALONE = [
    "SELECT a.n FROM a JOIN b ON a.k = b.k",
    "SELECT a.n FROM a, b WHERE a.k = b.k OR a.n = b.n",
    "SELECT a.n FROM a, b WHERE a.k < b.k",
    "SELECT a.n FROM a, b",
    # A row of a that only the outer join keeps meets the condition with NULL.
    "SELECT a.n FROM a, b FULL JOIN c ON b.k = c.k WHERE a.k = b.k",
    "SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
]


@pytest.mark.parametrize("text", [*JOINED, *LEFT_ALONE])
def test_listed_relations_are_joined_by_their_conditions(text: str) -> None:
    tree = qualify(sqlglot.parse_one(text, read="databricks"), schema=SCHEMA, quote_identifiers=False)
    before = tree.sql("duckdb")
    assert join_listed_relations(tree) == (text in JOINED)
    after = tree.sql("duckdb")
    assert JOINED.get(text, before) in after
    with duckdb.connect() as connection:
        for name in SCHEMA:
            rows = f"SELECT hash(i, '{name}') % 4, hash(i, '{name}', 1) % 3 FROM range(9) AS r(i)"
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM ({rows}) AS q(k, n)")
        assert sorted(connection.execute(before).fetchall()) == sorted(connection.execute(after).fetchall())


def test_columns_of_a_star_keep_their_order() -> None:
    tree = sqlglot.parse_one(STAR, read="databricks")
    join_listed_relations(tree)
    joined = "FROM a CROSS JOIN b INNER JOIN c ON a.k = c.k AND c.n = b.n"
    assert tree.sql("duckdb") == f"SELECT * {joined}"
