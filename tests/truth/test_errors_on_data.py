"""Which errors of Spark a query owes to its data: then the engine is not to blame."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from campaign.judging.texts import ON_DATA
from engines.errors import shown, sql_state
from engines.rows import rows_of

pytestmark = pytest.mark.spark

TWO_ROWS = "(SELECT a FROM VALUES (1), (2) AS two(a))"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        (f"SELECT {TWO_ROWS}", "SCALAR_SUBQUERY_TOO_MANY_ROWS"),
        # The same in a condition over rows fails in another thread of the JVM, and arrives wrapped twice.
        (f"SELECT id FROM range(5) WHERE id BETWEEN {TWO_ROWS} AND 9", "SCALAR_SUBQUERY_TOO_MANY_ROWS"),
        ("SELECT 1 / (id - 1) FROM range(3)", "DIVIDE_BY_ZERO"),
        ("SELECT CAST(CONCAT('x', id) AS INT) FROM range(3)", "CAST_INVALID_INPUT"),
        ("SELECT CAST(id + 300 AS TINYINT) FROM range(3)", "CAST_OVERFLOW"),
        ("SELECT array(1)[id + 1] FROM range(3)", "INVALID_ARRAY_INDEX"),
        ("SELECT make_date(2024, 13 + id, 1) FROM range(3)", "DATETIME_FIELD_OUT_OF_BOUNDS"),
        ("SELECT raise_error(CONCAT('bad row ', id)) FROM range(3)", "bad row"),
        ("SELECT map(CAST(NULL AS STRING), id) FROM range(3)", "NULL_MAP_KEY"),
    ],
)
def test_the_data_are_at_fault(spark: SparkSession, query: str, named: str) -> None:
    with pytest.raises(Exception) as raised:  # the class differs by the way it arrives
        rows_of(spark.sql(query))
    assert named in shown(raised.value)
    assert sql_state(raised.value).startswith(ON_DATA)


@pytest.mark.parametrize(
    "query", ["SELECT nothing FROM range(3)", "SELECT FROM WHERE", "SELECT f(id) FROM range(3)"]
)
def test_the_query_is_at_fault(spark: SparkSession, query: str) -> None:
    with pytest.raises(Exception) as raised:
        rows_of(spark.sql(query))
    assert not sql_state(raised.value).startswith(ON_DATA)
