"""Queries in which only Spark knows whether the blanks of CHAR(n) columns count."""

from __future__ import annotations

import pytest

from dynamic_tables.define import read_query
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.registry import RULES
from dynamic_tables.plan.types import INT, STRING

COLUMNS = (("id", INT), ("s", STRING))

QUERIES = {
    "SELECT s FROM b EXCEPT SELECT s FROM o": False,
    "SELECT id FROM b WHERE s IN (SELECT s FROM o)": False,
    "SELECT id FROM (SELECT id, s FROM o UNION ALL SELECT id, s FROM b) WHERE s = 'ab'": False,
    "SELECT * FROM b PIVOT (COUNT(*) AS n FOR s IN ('ab' AS x))": False,
    "SELECT id FROM b WHERE CAST(s AS STRING) = 'ab'": False,
    "SELECT id FROM b WHERE s::string = 'ab'": False,
    "SELECT id FROM b WHERE CAST(s AS CHARACTER(2)) = 'ab'": False,
    "SELECT id FROM b WHERE s = 'string'": True,
    "SELECT b.id FROM b LEFT JOIN o ON b.s = o.s WHERE o.s = 'ab'": True,
    "SELECT s, COUNT(*) AS n FROM b GROUP BY s HAVING s = 'ab'": True,
}


@pytest.mark.parametrize("query", QUERIES)
def test_comparisons_that_overlook_no_blanks_are_left_to_spark(query: str) -> None:
    plain = BaseTable("o", COLUMNS)
    for padded in (False, True):
        read = read_query(query, {"b": BaseTable("b", COLUMNS, padded=padded), "o": plain}, RULES, None)
        assert (read.unsupported is None) == (QUERIES[query] or not padded), read.unsupported
