"""DuckDB: serves tests of the rules; results carry the casts that give them Spark's types."""

from dynamic_tables.plan.dialects.base import Dialect
from dynamic_tables.plan.expressions import Agg
from dynamic_tables.plan.functions import Function
from dynamic_tables.plan.types import Kind


def _function_text(function: Function) -> str:
    return function.duckdb or function.spark


def _aggregate_text(aggregate: Agg, plain: str) -> str:
    # DuckDB sums integers as HUGEINT and decimals at 38 digits.
    return f"CAST({plain} AS {DUCKDB.type_name(aggregate.type)})" if aggregate.name == "SUM" else plain


DUCKDB = Dialect(
    name="duckdb",
    type_names={Kind.STRING: "VARCHAR", Kind.TIMESTAMP_NTZ: "TIMESTAMP"},
    quote='"',
    backslash_escapes=False,
    timestamp_keyword="TIMESTAMP",
    function_text=_function_text,
    aggregate_text=_aggregate_text,
)
