"""Truth: values that Spark rounds to one result are as near to each other as `plan.rewrites.rounded` says."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.plan.nodes import Aggregate, walk
from dynamic_tables.plan.rewrites.rounded import rounded
from dynamic_tables.reading.bind import bind_query
from tests.views import view_rows
from tests.written_in_memory import written_in_memory

pytestmark = pytest.mark.spark

ROUNDINGS = (
    *(
        "date_trunc('YEAR', ts)",
        "date_trunc('quarter', d)",
        "date_trunc('MONTH', nt)",
        "date_trunc('WEEK', ts)",
    ),
    *(
        "date_trunc('DAY', d)",
        "date_trunc('HOUR', ts)",
        "trunc(ts, 'MM')",
        "trunc(d, 'QUARTER')",
        "to_date(ts)",
    ),
    *("date(nt)", "year(ts)", "year(d)", "CAST(nt AS DATE)", "window(ts, '90 minutes')"),
    *("window(nt, '1 day', '1 day', '3 hours')", "n DIV 7"),
)


def test_what_has_one_result_lies_as_near_as_is_assumed(spark: SparkSession) -> None:
    """Rounded are the times of seven years, some of them a second before midnight, and numbers around 0."""
    with written_in_memory(spark) as account:
        account.create_base_table("e", {"ts": "TIMESTAMP", "nt": "TIMESTAMP_NTZ", "d": "DATE", "n": "INT"})
        account.execute(
            "INSERT INTO e SELECT t, CAST(t AS TIMESTAMP_NTZ), CAST(t AS DATE), CAST(id - 2500 AS INT) FROM "
            "(SELECT id, timestamp_seconds(1704067199 + (id DIV 2 - 1250) * 86400 + id % 2) AS t "
            "FROM RANGE(5000))"
        )
        view_rows(account, "e")
        session = account.read("e").sparkSession
        for text in ROUNDINGS:
            query = f"SELECT COUNT(*) AS c FROM e GROUP BY {text}"
            plan = bind_query(query, account.store.definitions(), account.store.type_of).plan  # type: ignore[attr-defined]
            (group,) = (node for node in walk(plan) if isinstance(node, Aggregate))
            found = rounded(group.keys[0][1])
            assert found is not None, text
            column, distance = found
            value = (
                column.name if isinstance(distance, int) else f"unix_micros(CAST({column.name} AS TIMESTAMP))"
            )
            spreads = session.sql(f"SELECT MAX({value}) - MIN({value}) AS s FROM e GROUP BY {text}").collect()
            most = max(row.s for row in spreads)
            assert most <= (
                distance if isinstance(distance, int) else distance / dt.timedelta(microseconds=1)
            ), text
