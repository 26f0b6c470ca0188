"""DAYOFWEEK counts from 1 in Spark and from 0 in DuckDB, and is translated as it is."""

import duckdb
import sqlglot

TEXT = "SELECT DAYOFWEEK('2009-07-30')"
(duck,) = sqlglot.transpile(TEXT, read="spark", write="duckdb")
print("seen:", duckdb.sql(duck).fetchall()[0][0])
print("expected: 5")
