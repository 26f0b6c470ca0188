"""DuckDB, for tests of the rules in memory; casts give results the types that Spark gives them."""

from dynamic_tables.plan.dialects.base import Dialect
from dynamic_tables.plan.expressions import Agg
from dynamic_tables.plan.types import Kind


def _aggregate_text(aggregate: Agg, plain: str) -> str:
    # DuckDB sums integers as HUGEINT and decimals at 38 digits.
    return f"CAST({plain} AS {DUCKDB.type_name(aggregate.type)})" if aggregate.name == "SUM" else plain


def _nested_name(name: str) -> str:
    """Returns DuckDB's name of a type that Spark calls `ARRAY<INT>`, say."""
    # Imported here, because a session is opened faster without it.
    from sqlglot import exp

    return exp.DataType.build(name, dialect="spark").sql("duckdb")


DUCKDB = Dialect(
    name="duckdb",
    # Where tests run the rules in memory, a TIMESTAMP is the date and time in UTC.
    type_names={Kind.STRING: "VARCHAR", Kind.TIMESTAMP_NTZ: "TIMESTAMP", Kind.BINARY: "BLOB"},
    other_type_name=_nested_name,
    widens_floats=False,
    quote='"',
    backslash_escapes=False,
    binary=lambda value: f"unhex('{value.hex()}')",
    function_text=lambda function: function.duckdb or function.spark,
    aggregate_text=_aggregate_text,
)
