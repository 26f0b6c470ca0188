"""The dialects that a plan can be rendered for: types, literals, quoting, functions.

Operators render to text that all dialects share. DuckDB is here so that the rules can be tested in memory.
"""

from dynamic_tables.plan.dialects.base import Dialect
from dynamic_tables.plan.dialects.duckdb import DUCKDB
from dynamic_tables.plan.dialects.spark import SPARK, SPARK_ON_FEW_ROWS

__all__ = ["DUCKDB", "SPARK", "SPARK_ON_FEW_ROWS", "Dialect"]
