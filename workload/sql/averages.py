"""AVG of DECIMAL in DuckDB with Spark's digits: DuckDB has no division of decimals, and averages as DOUBLE.

Spark divides the exact sum by the count and rounds half away from zero to four more digits after the point.
"""

from __future__ import annotations

from workload.types import SqlType


def decimal_average(arg: str, of: SqlType, result: SqlType, distinct: str, over: str = "") -> str:
    """The text of AVG over the text of an argument. `distinct`: "DISTINCT " or nothing.

    `over`: what follows each aggregate, such as " OVER (...)", or nothing.

    All is counted in whole units of the last digit. What remains of the division decides the rounding.
    """
    shift, unit = 10 ** (result.scale - of.scale), 10**result.scale
    places = f"CAST('0.{'0' * (result.scale - 1)}1' AS DECIMAL({result.scale}, {result.scale}))"
    digits = f"replace(CAST(CAST({arg} AS {of}) AS VARCHAR), '.', '')"
    total = f"(SUM({distinct}CAST({digits} AS HUGEINT)){over} * {shift})"
    count = f"CAST(COUNT({distinct}{arg}){over} AS HUGEINT)"
    up = f"CASE WHEN abs({total}) % {count} * 2 >= {count} THEN 1 ELSE 0 END"
    last = f"CAST(abs({total}) // {count} + {up} AS HUGEINT)"
    after = f"CAST({last} % {unit} AS DECIMAL({result.scale + 1}, 0)) * {places}"
    number = f"(CAST({last} // {unit} AS {result}) + {after})"
    return f"CAST(CASE WHEN {total} < 0 THEN - {number} ELSE {number} END AS {result})"
