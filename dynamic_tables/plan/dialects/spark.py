"""Spark SQL: the dialect the engine runs on."""

from dynamic_tables.plan.dialects.base import Dialect

SPARK = Dialect(
    name="spark",
    type_names={},
    quote="`",
    backslash_escapes=True,
    timestamp_keyword="TIMESTAMP_NTZ",
    function_text=lambda function: function.spark,
    aggregate_text=lambda aggregate, plain: plain,
)
