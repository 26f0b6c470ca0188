"""Delta tables that lie outside an account's folder: where they are, and what they lack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.store.spark.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW_TRACKING = "delta.enableRowTracking"
"""The property by which Delta gives rows ids that survive updates."""


def place_of(caller: SparkSession, own: SparkSession, path_or_name: str) -> str:
    """Returns the folder of a Delta table, given by its path or by its name in Spark's catalog.

    A text with a slash is a path. A name is one of the caller's session, which has a current catalog.
    Raises DefinitionError: there is no such Delta table.
    """
    is_path = "/" in path_or_name
    if is_path and "://" not in path_or_name and not path_or_name.startswith("file:"):
        path_or_name = str(Path(path_or_name).resolve())
    text = f"delta.{SPARK.identifier(path_or_name)}" if is_path else path_or_name
    try:
        with store_errors(path_or_name):
            detail = (own if is_path else caller).sql(f"DESCRIBE DETAIL {text}").collect()[0]
    except StoreError as error:
        raise DefinitionError(
            f"{path_or_name} cannot be attached: there is no such Delta table ({error})"
        ) from error
    if detail["format"] != "delta":
        raise DefinitionError(
            f"{path_or_name} cannot be attached: it is no Delta table; CONVERT TO DELTA makes it one"
        )
    # Delta writes a path of this machine as file:/path, without any encoding.
    location = str(detail["location"])
    return re.sub(r"^file:/+", "/", location)


def what_is_missing(table: BaseTable) -> str:
    """Returns what an attached table lacks, and the statement that adds it; empty if nothing is missing."""
    if table.identifies or not table.path:
        return ""
    return (
        f"{table.name} has no row tracking, so each refresh of a table over it compares whole versions; "
        f"ALTER TABLE delta.{SPARK.identifier(table.path)} SET TBLPROPERTIES ('{ROW_TRACKING}' = 'true') "
        "adds it, and the next refresh of each table over it writes that table anew"
    )
