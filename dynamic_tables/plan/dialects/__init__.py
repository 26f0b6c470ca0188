"""Leaf tables of the dialects a plan is rendered for: types, literals, quoting, functions.

Operators render to text common to all; DuckDB is there so that the rules can be tested in memory.
"""

from dynamic_tables.plan.dialects.base import Dialect
from dynamic_tables.plan.dialects.duckdb import DUCKDB
from dynamic_tables.plan.dialects.spark import SPARK, SPARK_ON_FEW_ROWS

__all__ = ["DUCKDB", "SPARK", "SPARK_ON_FEW_ROWS", "Dialect"]
