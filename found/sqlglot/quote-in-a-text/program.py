"""'it''s' is read as two texts, and loses its quote."""

import sqlglot

TEXT = "SELECT 'it''s'"
print("seen:", sqlglot.transpile(TEXT, read="spark", write="spark")[0])
print("expected:", "SELECT 'it\\'s'")
