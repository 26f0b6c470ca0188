"""Definitions as they live in Delta: a JSON property of the table, or of the empty table that is a view."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, RefreshMode, View
from dynamic_tables.errors import CorruptTable
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, Type, decimal
from dynamic_tables.store.log import TableMetadata

DEFINITION = "dvs.definition"
ORDER = "dvs.order"

BASE_TABLE_PROPERTIES: Mapping[str, str] = {
    "delta.enableRowTracking": "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableInCommitTimestamps": "true",
}
"""Row ids that outlive a rewrite, cheap deletes, old images for others, commit times that never go back."""

DELTA_TYPES: Mapping[str, Type] = {
    "integer": INT,
    "int": INT,
    "long": BIGINT,
    "bigint": BIGINT,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "string": STRING,
    "date": DATE,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
"""Types as Delta's schema and as SQL write them."""


def parse_type(text: str) -> Type | None:
    """The type of a name in Delta's schema or in SQL; None for a type dynamic tables do not hold."""
    text = text.strip().lower()
    if text.startswith("decimal(") and text.endswith(")"):
        digits = [part.strip() for part in text[len("decimal(") : -1].split(",")]
        if len(digits) == 2 and all(part.isdigit() for part in digits):
            return decimal(int(digits[0]), int(digits[1]))
        return None
    return DELTA_TYPES.get(text)


def create_text(
    target: str, columns: Columns, properties: Mapping[str, str], *, location: str = "", replace: bool = False
) -> str:
    """CREATE TABLE in Spark's SQL; `target` is SQL already."""
    items = ", ".join(f"{SPARK.identifier(name)} {SPARK.type_name(type_)}" for name, type_ in columns)
    pairs = ", ".join(f"{SPARK.string(key)} = {SPARK.string(value)}" for key, value in properties.items())
    place = f" LOCATION {SPARK.string(location)}" if location else ""
    create = "CREATE OR REPLACE TABLE" if replace else "CREATE TABLE"
    return f"{create} {target} ({items}) USING delta{place} TBLPROPERTIES ({pairs})"


def to_properties(definition: Definition, order: int) -> dict[str, str]:
    """The properties that hold a definition."""
    match definition:
        case BaseTable():
            data: dict[str, object] = {"kind": "base table"}
        case View(_, text):
            data = {"kind": "view", "text": text}
        case DynamicTable():
            data = {
                "kind": "dynamic table",
                "text": definition.text,
                "mode": definition.mode.value,
                "incremental": definition.incremental,
                "reason": definition.reason,
                "target_lag": definition.target_lag,
                "columns": [[name, str(type_)] for name, type_ in definition.columns],
                "sources": list(definition.sources),
                "expanded": definition.expanded,
            }
    return {DEFINITION: json.dumps(data), ORDER: str(order)}


def from_metadata(name: str, metadata: TableMetadata) -> tuple[int, Definition]:
    """Creation order and definition. Raises CorruptTable."""
    text = metadata.properties.get(DEFINITION)
    if text is None:
        raise CorruptTable(
            f"{name}: a table without {DEFINITION} is none of this account; move its folder away"
        )
    try:
        return int(metadata.properties.get(ORDER, "0")), _definition(name, json.loads(text), metadata)
    except (ValueError, KeyError, TypeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise CorruptTable(f"{name}: its {DEFINITION} cannot be read ({found})") from error


def _definition(name: str, data: Mapping[str, object], metadata: TableMetadata) -> Definition:
    match data["kind"]:
        case "base table":
            fields = json.loads(metadata.schema)["fields"]
            return BaseTable(name, _columns([(item["name"], str(item["type"])) for item in fields]))
        case "view":
            return View(name, str(data["text"]))
        case "dynamic table":
            lag, columns, sources = data["target_lag"], data["columns"], data["sources"]
            if not isinstance(columns, list) or not isinstance(sources, list):
                raise TypeError("columns and sources are lists")
            return DynamicTable(
                name=name,
                text=str(data["text"]),
                mode=RefreshMode(data["mode"]),
                incremental=bool(data["incremental"]),
                reason=str(data["reason"]),
                target_lag=None if lag is None else int(str(lag)),
                columns=_columns(columns),
                sources=tuple(map(str, sources)),
                expanded=str(data["expanded"]),
            )
        case kind:
            raise ValueError(f"unknown kind {kind!r}")


def _columns(pairs: list[tuple[str, str]]) -> Columns:
    result = []
    for name, text in pairs:
        type_ = parse_type(text)
        if type_ is None:
            raise ValueError(f"column {name} is of type {text}, which dynamic tables do not hold")
        result.append((name, type_))
    return tuple(result)
