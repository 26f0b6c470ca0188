"""TRUNC(d, unit) by a column becomes TRUNC(d, 'UNIT') by a text."""

import sqlglot

TEXT = "SELECT TRUNC(d, unit) FROM r"
print("seen:", sqlglot.transpile(TEXT, read="spark", write="spark")[0])
print("expected:", "SELECT TRUNC(d, unit) FROM r")
