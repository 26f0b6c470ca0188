"""WEEKDAY counts from Monday in Spark and from Sunday in DuckDB, and is translated as it is."""

import duckdb
import sqlglot

TEXT = "SELECT WEEKDAY(DATE '2009-07-30')"
(duck,) = sqlglot.transpile(TEXT, read="spark", write="duckdb")
print("seen:", duckdb.sql(duck).fetchall()[0][0])
print("expected: 3")
