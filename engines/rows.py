"""Rows of Spark and of the built-in engine as rows of the harness."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workload.types import Row, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of(frame: DataFrame) -> list[Row]:
    """The rows of a data frame.

    Not by `collect`, which gives a TIMESTAMP in the time zone of this computer.
    """
    columns = (column.to_pylist() for column in frame.toArrow().columns)
    return [workload_row(row) for row in zip(*columns, strict=True)]


def workload_row(values: Sequence[object]) -> Row:
    """A row of Python values as a row of the harness: an instant becomes its date and time in UTC."""
    return tuple(map(_workload_value, values))


def _workload_value(value: object) -> Value:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value  # type: ignore[return-value]  # the oracle's comparison checks the types of the values
