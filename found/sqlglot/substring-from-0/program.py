"""SUBSTRING from 0 is from 1 in Spark; the translation loses a character."""

import duckdb
import sqlglot

TEXT = "SELECT SUBSTRING('Spark', 0, 2)"
(duck,) = sqlglot.transpile(TEXT, read="spark", write="duckdb")
print("seen:", duckdb.sql(duck).fetchall()[0][0])
print("expected: Sp")
