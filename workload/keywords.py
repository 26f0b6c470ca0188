"""Words that cannot be names: names are rendered without quotes, and engines read these as keywords.

Columns of tables and texts of users are the exception: those that are not plain words are rendered in quotes.
"""

import re

KEYWORDS: frozenset[str] = frozenset(
    (
        "all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case "
        "cast check collate collation column concurrently constraint create cross default deferrable desc "
        "describe distinct do else end except false fetch for foreign freeze from full glob group having "
        "ilike in initially inner intersect into is isnull join lambda lateral leading left like limit "
        "natural not notnull null offset on only or order outer overlaps pivot pivot_longer pivot_wider "
        "placing positional primary qualify recursive references returning right select semi show similar "
        "some summarize symmetric table tablesample then to trailing true union unique unpack unpivot using "
        "variadic verbose when where window with "
    ).split()
)
"""Measured: each keyword of DuckDB tried as table, column, alias and CTE; Spark refuses a subset of them."""

PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
"""What each dialect reads as one name without quotes, where it is no keyword."""
