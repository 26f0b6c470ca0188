"""Items of a select list without an alias have the names that Spark 4.2 showed for them."""

from __future__ import annotations

import pytest

from dynamic_tables.reading.blocks.output_names import own_name
from dynamic_tables.reading.text.parse import parse_query


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("k", "k"),
        ("((r.k))", "k"),
        ("st.f", "f"),
        ("CAST(k AS STRING)", "k"),
        ("(CAST((r.k) AS STRING))", "k"),
        ("TRY_CAST(k AS STRING)", "k"),
        ("k::string", "k"),
        ("string(k)", "k"),
        ("timestamp(d)", "d"),
        ("to_timestamp(d)", ""),
        ("to_date(d)", ""),
        ("CAST(st.f AS STRING)", ""),
        ("CAST(CAST(k AS INT) AS STRING)", ""),
        ("CAST(k + 1 AS INT)", ""),
        ("DATE '2020-01-01'", ""),
        ("-k", ""),
    ],
)
def test_own_names(item: str, name: str) -> None:
    query = parse_query(f"SELECT {item} FROM r")
    assert own_name(query.expressions[0], query) == name
