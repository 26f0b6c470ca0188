"""PERCENTILE loses its third argument, how often each value counts."""

import sqlglot

TEXT = "SELECT PERCENTILE(a, 0.5, n) FROM r"
print("seen:", sqlglot.transpile(TEXT, read="spark", write="spark")[0])
print("expected:", "SELECT PERCENTILE(a, 0.5, n) FROM r")
