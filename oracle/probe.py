"""Do the oracle's two readers work here: DuckDB, and Delta without Spark?"""

from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


def duckdb_answer() -> int:
    """A sum that DuckDB computes in memory: 10."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute("SELECT sum(i) FROM range(5) AS t(i)").fetchall()
    return int(rows[0][0])


def delta_rows(folder: Path) -> tuple[tuple[object, ...], ...]:
    """The rows of the newest version of a Delta table, read by delta-rs, in no particular order.

    QueryBuilder and not `to_pyarrow_table`, which refuses tables with deletion vectors.
    """
    reader = QueryBuilder().register("t", DeltaTable(folder)).execute("SELECT * FROM t")
    table = pa.table(reader.read_all())
    return tuple(tuple(row.values()) for row in table.to_pylist())
