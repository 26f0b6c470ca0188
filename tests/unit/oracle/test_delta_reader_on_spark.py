"""The Delta reader against Spark: a table with row tracking and deletion vectors, at every version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oracle.delta_reader import newest_version, read_rows
from tests.unit.oracle.words import columns

COLUMNS = columns(
    "id INT, l BIGINT, d DECIMAL(10,2), s STRING, b BOOLEAN, x DOUBLE, dt DATE, t TIMESTAMP_NTZ,"
    " $ROW_ID STRING"
)
CREATE = """
CREATE TABLE {table} (id INT, l BIGINT, d DECIMAL(10,2), s STRING, b BOOLEAN, x DOUBLE, dt DATE,
    t TIMESTAMP_NTZ, `$ROW_ID` STRING)
USING DELTA TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')
"""
STATEMENTS = (
    """INSERT INTO {table} SELECT /*+ COALESCE(1) */ CAST(id AS INT), id, CAST(id / 2 AS DECIMAL(10,2)),
        concat('s', id), id % 2 = 0, id / 8D, DATE '2020-01-01' + CAST(id AS INT),
        TIMESTAMP_NTZ '2020-01-01 00:00:00.000001', concat('r|', id) FROM range(30)""",
    "DELETE FROM {table} WHERE id IN (3, 7)",
    "UPDATE {table} SET s = 'new' WHERE id = 5",
    """MERGE INTO {table} t USING (SELECT CAST(id AS INT) id FROM VALUES 1, 2, 99 AS v(id)) u ON t.id = u.id
        WHEN MATCHED AND t.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged'
        WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, 'new')""",
    "OPTIMIZE {table}",
    "DELETE FROM {table} WHERE id > 10 AND id < 20",
    "RESTORE TABLE {table} TO VERSION AS OF 2",
)


@pytest.mark.slow
@pytest.mark.spark
def test_rows_are_those_that_spark_reads(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "tracked"
    table = f"delta.`{path}`"
    for version, statement in enumerate((CREATE, *STATEMENTS)):
        spark.sql(statement.format(table=table)).collect()
        assert newest_version(path) == version
    # After the MERGE, the OPTIMIZE with deleted rows, and the RESTORE; OPTIMIZE alone changes no row.
    for version in (4, 6, 7):
        read = spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}").collect()
        assert sorted(read_rows(path, version, COLUMNS)) == sorted(tuple(row) for row in read)
