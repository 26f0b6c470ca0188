"""LOG10(x) becomes LOG(10, x), which is 2.9999999999999996 for 1000 and not 3.0."""

import sqlglot

TEXT = "SELECT LOG10(x) FROM r"
print("seen:", sqlglot.transpile(TEXT, read="spark", write="spark")[0])
print("expected:", "SELECT LOG10(x) FROM r")
