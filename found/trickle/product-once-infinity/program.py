"""The product is NaN after an infinite value has gone."""

import duckdb
import trickle
from trickle import agg

db = duckdb.connect()
for rows in (
    "(1, 1, 1.5::DOUBLE, 1), (2, 1, 2.0, 1), (3, 1, 'Infinity', 1)",
    "(1, 1, 1.5::DOUBLE, 1), (2, 1, 2.0, 1)",
):
    with trickle.run(db) as run:
        run.merge_table("r", db.sql(f"FROM (VALUES {rows}) AS t(id, g, x, y)"), pk="id")
        run.source("r", p=1.0).aggregate(by="g", v=agg.product("x")).merge("d")
print("seen:", db.execute("SELECT g, v FROM d").fetchall())
print("expected:", db.execute("SELECT g, product(x) FROM r GROUP BY g").fetchall())
