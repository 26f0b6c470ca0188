"""The fold without a query gives what the plan gives, for every change of up to three rows of two ids."""

from __future__ import annotations

from itertools import combinations

import duckdb
import pyarrow as pa

from dynamic_tables.differentiate.apply import fold
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import ACTION, ROW_ID
from dynamic_tables.plan.types import INT
from dynamic_tables.plan.written.render import render
from dynamic_tables.store.tables.small_merge import folded_here

SCHEMA = pa.schema([("k", pa.int32()), (ACTION, pa.string()), (ROW_ID, pa.string())])
ROWS = [(1, "DELETE", "a"), (2, "INSERT", "a"), (None, "DELETE", "b"), (3, "INSERT", "b"), (4, "INSERT", "c")]


def test_it_gives_what_the_plan_gives() -> None:
    text = render(fold((("k", INT),)), DUCKDB, {"change_set": "changes"}).text()
    seen = set()
    for size in range(len(ROWS) + 1):
        for rows in combinations(ROWS, size):
            changes = pa.Table.from_pylist(
                [dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA
            )
            expected = duckdb.connect().register("changes", changes).execute(text).fetchall()
            actual = folded_here(changes)
            assert actual.column_names == ["k", ROW_ID, "$OPERATION"]
            assert sorted(map(repr, zip(*actual.to_pydict().values(), strict=True))) == sorted(
                map(repr, expected)
            )
            seen |= {row[-1] for row in expected}
    assert seen == {"INSERT", "UPDATE", "DELETE"}
