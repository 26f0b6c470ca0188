"""Rows of Spark and of the built-in engine as rows of the harness."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.errors import EngineError, shown
from workload.errors import WorkloadError
from workload.schema import Column
from workload.types import Row, Value, document_text, of_map, parse_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows_of(frame: DataFrame) -> list[Row]:
    """Returns the rows of a data frame, documents as texts of JSON.

    It does not use `collect`, which gives a TIMESTAMP in the time zone of this computer.
    """
    types = [field.dataType.typeName() for field in frame.schema.fields]
    if "variant" in types:
        names = [f"c{place}" for place in range(len(types))]
        items = zip(names, types, strict=True)
        frame = frame.toDF(*names).selectExpr(*(f"to_json({c})" if t == "variant" else c for c, t in items))
    columns = (column.to_pylist() for column in frame.toArrow().columns)
    return [workload_row(row) for row in zip(*columns, strict=True)]


def workload_row(values: Sequence[object]) -> Row:
    """Returns a row of Python values as a row of the harness.

    An instant becomes its date and time in UTC, and what a nested type holds becomes a tuple.
    """
    return tuple(map(_workload_value, values))


def _workload_value(value: object) -> Value:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, dict) and list(map(type, value.values())) == [bytes, bytes]:
        return _document(value)
    if isinstance(value, dict):
        return tuple(map(_workload_value, value.values()))
    if isinstance(value, list):
        return _elements(value)
    return value  # type: ignore[return-value]  # the oracle's comparison checks the types of the values


def _document(value: dict[str, bytes]) -> Value:
    """Returns a VARIANT, which Arrow gives as its two parts; a STRUCT of two other values as it is."""
    if value.keys() != {"value", "metadata"}:
        return tuple(value.values())
    from pyspark.sql.types import VariantVal

    return document_text(json.loads(VariantVal(value["value"], value["metadata"]).toJson()))


def _elements(values: list[object]) -> Value:
    """Returns an ARRAY, or a MAP, which Arrow gives as a list of pairs."""
    pairs = [value for value in values if isinstance(value, tuple)]
    if pairs:
        return of_map({_workload_value(key): _workload_value(each) for key, each in pairs})
    return tuple(map(_workload_value, values))


def columns_of(spark: SparkSession, query: str) -> list[Column]:
    """Returns the columns that Spark gives a query. Raises EngineError: Spark refuses it or its types."""
    try:
        schema = spark.sql(query).schema
        return [Column(field.name.lower(), parse_type(field.dataType.simpleString())) for field in schema]
    except WorkloadError as error:
        raise EngineError(str(error)) from error
    except Exception as error:
        # pyspark's own errors have no common base that loads without it.
        if not type(error).__module__.startswith("pyspark"):
            raise
        raise EngineError(shown(error).partition(" SQLSTATE")[0]) from error
