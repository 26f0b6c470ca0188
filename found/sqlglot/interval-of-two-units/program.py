"""d - INTERVAL 1 DAY 2 HOUR becomes d minus one day plus two hours."""

import sqlglot

TEXT = "SELECT d - INTERVAL 1 DAY 2 HOUR FROM r"
print("seen:", sqlglot.transpile(TEXT, read="spark", write="spark")[0])
print("expected:", "SELECT d - (INTERVAL '1' DAY + INTERVAL '2' HOUR) FROM r")
