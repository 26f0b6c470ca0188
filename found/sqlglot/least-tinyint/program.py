"""-128Y becomes minus the TINYINT 128, which is no TINYINT."""

import sqlglot

TEXT = "SELECT -128Y"
print("seen:", sqlglot.transpile(TEXT, read="spark", write="spark")[0])
print("expected:", "SELECT CAST(-128 AS TINYINT)")
