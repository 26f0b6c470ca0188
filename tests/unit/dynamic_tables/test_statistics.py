"""Delta's statistics of a file that the engine writes itself."""

from __future__ import annotations

import pyarrow as pa

from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.store.tables.small_merge import statistics_of


def test_texts_have_bounds_where_they_are_texts() -> None:
    """Spark also keeps bytes that are no UTF-8 in a STRING, as CAST(X'FF' AS STRING) makes them."""
    no_text = pa.array([b"\xff", b"a", None]).cast(pa.binary()).view(pa.string())
    rows = pa.table({"k": [2, 1, None], "s": ["b", "a", None], "t": no_text, ROW_ID: ["x", "y", "z"]})
    found = statistics_of(rows)
    assert found["minValues"] == {"k": 1, "s": "a", ROW_ID: "x"}
    assert found["maxValues"] == {"k": 2, "s": "b", ROW_ID: "z"}
    assert found["nullCount"] == {"k": 1, "s": 1, "t": 1, ROW_ID: 0}
