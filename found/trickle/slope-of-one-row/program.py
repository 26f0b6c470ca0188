"""The slope of a group of one row is a number."""

import duckdb
import trickle
from trickle import agg

FIRST = "(1, 1, 1.5::DOUBLE, 1::DOUBLE), (2, 1, 2.5, 2), (3, 1, 0, 1)"
THEN = "(3, 1, 0::DOUBLE, 1::DOUBLE)"
db = duckdb.connect()
for rows in (FIRST, THEN):
    with trickle.run(db) as run:
        run.merge_table("r", db.sql(f"FROM (VALUES {rows}) AS t(id, g, x, y)"), pk="id")
        run.source("r", p=1.0).aggregate(by="g", v=agg.ols_slope("x", "y")).merge("d")
print("seen:", db.execute("SELECT g, v FROM d").fetchall())
print("expected: [(1, None)]")
