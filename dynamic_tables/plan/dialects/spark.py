"""Spark SQL: the dialect the engine runs on."""

from dataclasses import replace

from dynamic_tables.plan.dialects.base import Dialect, Exploded
from dynamic_tables.plan.dialects.spark_aggregates import aggregate_text
from dynamic_tables.plan.types import Type


def _window_text(name: str, args: str, over: str, ignores_nulls: bool, _: Type) -> str:
    return f"{name}({args}){' IGNORE NULLS' if ignores_nulls else ''}{over}"


def _exploded(array: str, outer: bool, position: str, value: str) -> Exploded:
    words = "LATERAL VIEW OUTER" if outer else "LATERAL VIEW"
    view = f" {words} posexplode({array}) `$elements` AS {position}, {value}"
    return Exploded(f"{position}, {value}", view)


SPARK = Dialect(
    name="spark",
    type_names={},
    quote="`",
    backslash_escapes=True,
    binary=lambda value: f"X'{value.hex()}'",
    function_text=lambda function: function.spark,
    aggregate_text=aggregate_text,
    window_text=_window_text,
    days=lambda days: str(days.value),
    exploded=_exploded,
)

SPARK_ON_FEW_ROWS = replace(SPARK, name="spark on few rows", join_hint="/*+ COALESCE(1) */ ")
"""For sources that are one partition each. Spark does not see that a join of two such sources is one
partition too: without the hint it shuffles every join of a join, and every grouping over a full join."""
