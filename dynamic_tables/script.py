"""The definitions of an account as a SQL script: CREATE TABLE, CREATE VIEW and CREATE DYNAMIC TABLE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dynamic_tables.definition import BaseTable, Definition, DynamicTable
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.reading.text.relations import View

SECOND_US = 1_000_000
"""Microseconds in a second."""


def script(definitions: Iterable[Definition]) -> str:
    """Returns the statements that create definitions, each after those that it reads; no rows."""
    return "".join(f"{_statement(each)};\n" for each in definitions)


def _statement(definition: Definition) -> str:
    """Returns the statement that creates a definition, without a semicolon."""
    name = SPARK.identifier(definition.name)
    match definition:
        case BaseTable():
            columns = [f"{SPARK.identifier(c)} {SPARK.type_name(type_)}" for c, type_ in definition.columns]
            if definition.key:
                columns.append(f"PRIMARY KEY ({', '.join(map(SPARK.identifier, definition.key))})")
            return f"CREATE TABLE {name} ({', '.join(columns)})"
        case View():
            return f"CREATE VIEW {name} AS\n{definition.text}"
        case DynamicTable():
            lag = definition.target_lag
            shown = "DOWNSTREAM" if lag is None else f"'{lag // SECOND_US} seconds'"
            properties = f"TARGET_LAG = {shown} REFRESH_MODE = {definition.mode.value}"
            if definition.frozen_where:
                properties += f" FROZEN_WHERE = {SPARK.string(definition.frozen_where)}"
            if definition.backfill_from:
                properties += f" BACKFILL_FROM = {SPARK.identifier(definition.backfill_from)}"
            return f"CREATE DYNAMIC TABLE {name} {properties} AS\n{definition.text}"
        case _:
            assert_never(definition)
