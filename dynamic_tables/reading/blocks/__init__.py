"""The clauses of a SELECT block: groups, windows, LIMIT, PIVOT, LATERAL VIEW."""
