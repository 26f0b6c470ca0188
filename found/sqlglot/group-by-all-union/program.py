"""GROUP BY ALL UNION (SELECT ..) is read as a group by a call of the function UNION."""

import sqlglot

TEXT = "SELECT a FROM r GROUP BY ALL UNION (SELECT 1)"
print("seen:", type(sqlglot.parse_one(TEXT, read="spark")).__name__)
print("expected: Union")
