"""SUM is 0.0 after a large value has gone."""

import duckdb
import trickle
from trickle import agg

FIRST = "(1, 1, 1.5::DOUBLE, 1), (2, 1, 1e300, 1)"
THEN = "(1, 1, 1.5::DOUBLE, 1)"
db = duckdb.connect()
for rows in (FIRST, THEN):
    with trickle.run(db) as run:
        run.merge_table("r", db.sql(f"FROM (VALUES {rows}) AS t(id, g, x, y)"), pk="id")
        run.source("r", p=1.0).aggregate(by="g", v=agg.sum("x")).merge("d")
print("seen:", db.execute("SELECT g, v FROM d").fetchall())
print("expected:", db.execute("SELECT g, sum(x) FROM r GROUP BY g").fetchall())
