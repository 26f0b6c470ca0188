"""EXISTS over an aggregate of all rows: its HAVING decides, and no table that it reads is forgotten."""

from __future__ import annotations

from tests.unit.dynamic_tables.reading import read


def test_a_table_that_only_the_select_list_reads_stays_a_source() -> None:
    query = "SELECT 1 AS x FROM s WHERE EXISTS (SELECT (SELECT MAX(a) FROM r) FROM s HAVING COUNT(*) > 1)"
    assert set(read(query).sources) == {"r", "s"}
