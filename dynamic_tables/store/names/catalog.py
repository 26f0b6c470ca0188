"""Definitions as Delta stores them: a JSON text in a property of the table (TBLPROPERTIES).

So a folder holds rows and definition, and there is no catalog beside it. A view is a table without rows, and
an attached table is a pointer: a table without rows whose property names a folder elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, RefreshMode, View
from dynamic_tables.errors import CorruptTable
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.types import BIGINT, FLOAT, INT, SMALLINT, TINYINT, VARIANT, Kind, Type, decimal
from dynamic_tables.store.log.log import TableMetadata, decoding

DEFINITION = "dvs.definition"
ORDER = "dvs.order"

BASE_TABLE, VIEW, DYNAMIC_TABLE, ATTACHED = "base table", "view", "dynamic table", "attached table"
"""The kinds of definitions, as the property says them. ATTACHED is a pointer to an attached table."""

BASE_TABLE_PROPERTIES: Mapping[str, str] = {
    "delta.enableRowTracking": "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableInCommitTimestamps": "true",
}
"""In this order: row ids that survive a rewrite of files; deletes by deletion vectors, which rewrite no file;
a change feed; commit times that grow from version to version whatever the clocks show."""

DYNAMIC_TABLE_PROPERTIES: Mapping[str, str] = {"delta.enableDeletionVectors": "true"}
"""A refresh that takes out a few rows does not rewrite the files in which they are."""

DELTA_TYPES: Mapping[str, Type] = {
    **{kind.value.lower(): Type(kind) for kind in Kind if kind not in (Kind.DECIMAL, Kind.OTHER)},
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "real": FLOAT,
    "variant": VARIANT,
}
"""Types by their names in SQL and in Delta's schema, except DECIMAL."""


NESTED_NAMES = ("array<", "map<", "struct<")


def parse_type(text: str) -> Type | None:
    """Returns the type of a name in SQL; None for a type that no table may hold."""
    shown = text.strip()
    text = shown.lower()
    if text.startswith("decimal(") and text.endswith(")"):
        digits = [part.strip() for part in text[len("decimal(") : -1].split(",")]
        if len(digits) == 2 and all(part.isdigit() for part in digits):
            return decimal(int(digits[0]), int(digits[1]))
        return None
    if text in DELTA_TYPES:
        return DELTA_TYPES[text]
    # Names of fields keep their capitals.
    return Type(Kind.OTHER, name=shown) if text.startswith(NESTED_NAMES) else None


def delta_type(item: object) -> Type | None:
    """Returns the type of a column in Delta's schema: a name, or an object for a nested type."""
    text = _type_text(item)
    return None if text is None else parse_type(text)


def _type_text(item: object) -> str | None:
    """Returns the name in SQL of a type in Delta's schema; None for a type that no table may hold."""
    match item:
        case str():
            known = parse_type(item)
            return None if known is None else str(known).lower()
        case {"type": "array", "elementType": element}:
            inner = _type_text(element)
            return None if inner is None else f"array<{inner}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            pair = _type_text(key), _type_text(value)
            return None if None in pair else f"map<{pair[0]},{pair[1]}>"
        case {"type": "struct", "fields": list() as fields}:
            named = [(field["name"], _type_text(field["type"])) for field in fields]
            if any(text is None for _, text in named):
                return None
            return f"struct<{','.join(f'{SPARK.identifier(name)}:{text}' for name, text in named)}>"
        case _:
            return None


def is_reserved(column: str) -> bool:
    """Tells whether a column of a base table cannot have a name, because the engine or Delta uses it."""
    return column.startswith("$") or column.lower() == "_metadata"


def create_text(
    target: str, columns: Columns, properties: Mapping[str, str], *, location: str = "", replace: bool = False
) -> str:
    """Returns CREATE TABLE (or CREATE OR REPLACE TABLE) in Spark's SQL; `target` is quoted already."""
    items = ", ".join(f"{SPARK.identifier(name)} {SPARK.type_name(type_)}" for name, type_ in columns)
    pairs = ", ".join(f"{SPARK.string(key)} = {SPARK.string(value)}" for key, value in properties.items())
    place = f" LOCATION {SPARK.string(location)}" if location else ""
    create = "CREATE OR REPLACE TABLE" if replace else "CREATE TABLE"
    return f"{create} {target} ({items}) USING delta{place} TBLPROPERTIES ({pairs})"


def to_properties(definition: Definition, order: int) -> dict[str, str]:
    """Returns the table properties that hold a definition and its place in the order of creation."""
    match definition:
        case BaseTable():
            data: dict[str, object] = {"kind": BASE_TABLE, "key": list(definition.key)}
        case View(_, text):
            data = {"kind": VIEW, "text": text}
        case DynamicTable():
            data = {
                "kind": DYNAMIC_TABLE,
                "text": definition.text,
                "mode": definition.mode.value,
                "incremental": definition.incremental,
                "reason": definition.reason,
                "target_lag": definition.target_lag,
                "sources": list(definition.sources),
                "expanded": definition.expanded,
                "frozen_where": definition.frozen_where,
                "backfill_from": definition.backfill_from,
            }
    return {DEFINITION: json.dumps(data), ORDER: str(order)}


def from_metadata(name: str, metadata: TableMetadata) -> tuple[int, Definition]:
    """Returns the place in the order of creation and the definition that the properties hold.

    Raises CorruptTable: for a table without a definition, or with one that cannot be read.
    """
    text = metadata.properties.get(DEFINITION)
    if text is None:
        raise CorruptTable(
            f"{name}: a table without {DEFINITION} is none of this account; move its folder away"
        )
    with decoding(f"{name}: its {DEFINITION}"):
        return int(metadata.properties.get(ORDER, "0")), _definition(name, json.loads(text), metadata)


DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""The key in the metadata of a STRING column for the type CHAR(n) or VARCHAR(n) that it was declared with."""


def kind_of(metadata: TableMetadata) -> str:
    """Returns what a definition says that it defines; empty for a table without a definition."""
    with decoding(f"the {DEFINITION} of a table"):
        return str(json.loads(metadata.properties.get(DEFINITION, "{}")).get("kind", ""))


def attached_place(metadata: TableMetadata) -> str:
    """Returns the folder of the attached table that a pointer stands for; empty if it is no pointer."""
    if kind_of(metadata) != ATTACHED:
        return ""
    with decoding(f"the {DEFINITION} of a table"):
        return str(json.loads(metadata.properties[DEFINITION])["path"])


def attached_key(metadata: TableMetadata) -> tuple[str, ...]:
    """Returns the primary key that a pointer gives the attached table."""
    with decoding(f"the {DEFINITION} of a table"):
        return _key(json.loads(metadata.properties[DEFINITION]))


def _key(data: Mapping[str, object]) -> tuple[str, ...]:
    key = data.get("key", [])
    if not isinstance(key, list):
        raise TypeError("key is no list")
    return tuple(map(str, key))


def attached(name: str, place: str, metadata: TableMetadata, key: Sequence[str] = ()) -> BaseTable:
    """Returns the definition of an attached table by Delta's description of it.

    Raises CorruptTable: it has a column that dynamic tables cannot hold, or lacks one of its key.
    """
    with decoding(f"{name}, attached at {place}"):
        table = BaseTable(
            name,
            _columns(_schema(metadata)),
            place,
            row_ids=metadata.row_ids,
            stored_as=_stored_as(metadata),
            padded=_has_chars(metadata.schema),
        )
    return _with_key(table, key)


def _with_key(table: BaseTable, key: Sequence[str]) -> BaseTable:
    """Returns a table with its primary key.

    Raises CorruptTable: it does not have the columns any more, or another writer has given it a reserved one.
    """
    known = [name for name, _ in table.columns]
    for name in filter(is_reserved, known):
        raise CorruptTable(f"{table.name}: the column name {name} is reserved; rename or drop the column")
    gone = [name for name in key if name not in known]
    if gone:
        raise CorruptTable(
            f"{table.name}: column {gone[0]} of its primary key is not there any more; it has: "
            f"{', '.join(known)}"
        )
    return replace(table, key=tuple(key))


def pointer_properties(place: str, key: Sequence[str], order: int) -> dict[str, str]:
    """Returns the properties of a table without rows that stands for an attached one."""
    data = {"kind": ATTACHED, "path": place, "key": list(key)}
    return {DEFINITION: json.dumps(data), ORDER: str(order)}


def order_of(metadata: TableMetadata) -> int:
    """Returns the place in the order of creation."""
    with decoding(f"the {ORDER} of a table"):
        return int(metadata.properties.get(ORDER, "0"))


def _has_chars(schema: str) -> bool:
    declared = (field.get("metadata", {}).get(DECLARED, "") for field in json.loads(schema)["fields"])
    return any(re.search(r"\bchar\(", type_) for type_ in declared)


def _stored_as(metadata: TableMetadata) -> tuple[tuple[str, str], ...]:
    """Returns by column the names under which its values are stored, where these are not its own.

    With Delta's column mapping a column may be renamed, or dropped and added again, and no file is written:
    two columns of one name may hold different values. The stored (physical) name tells them apart.
    """
    if metadata.properties.get("delta.columnMapping.mode", "none") == "none":
        return ()
    fields = json.loads(metadata.schema)["fields"]
    stored = ((field["name"], ", ".join(sorted(_other_names(field)))) for field in fields)
    return tuple((name, names) for name, names in stored if names)


def _other_names(field: Mapping[str, Any]) -> Iterator[str]:
    """Yields `name=stored name` of a field and of those inside of it, where the two differ."""
    stored = field.get("metadata", {}).get("delta.columnMapping.physicalName", field["name"])
    if stored != field["name"]:
        yield f"{field['name']}={stored}"
    types = [field["type"]]
    while types:
        type_ = types.pop()
        if isinstance(type_, dict):
            types += [type_[part] for part in ("elementType", "keyType", "valueType") if part in type_]
            for inner in type_.get("fields", ()):
                yield from _other_names(inner)


def _definition(name: str, data: Mapping[str, object], metadata: TableMetadata) -> Definition:
    """Returns the definition in the JSON of the property. Raises KeyError, TypeError or ValueError."""
    match data["kind"]:
        case kind if kind == BASE_TABLE:
            table = BaseTable(
                name,
                _columns(_schema(metadata)),
                row_ids=metadata.row_ids,
                stored_as=_stored_as(metadata),
                # ALTER TABLE may have added a CHAR(n).
                padded=_has_chars(metadata.schema),
            )
            return _with_key(table, _key(data))
        case kind if kind == VIEW:
            return View(name, str(data["text"]))
        case kind if kind == DYNAMIC_TABLE:
            lag, sources = data["target_lag"], data["sources"]
            if not isinstance(sources, list):
                raise TypeError("sources is no list")
            # Hidden columns and `$ROW_ID` are stored, but they are no columns of the definition.
            shown = shown_columns(metadata)
            columns = [pair for pair in _schema(metadata) if pair[0] in shown]
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
                frozen_where=str(data.get("frozen_where", "")),
                backfill_from=str(data.get("backfill_from", "")),
            )
        case kind:
            raise ValueError(f"unknown kind {kind!r}")


def shown_columns(metadata: TableMetadata) -> tuple[str, ...]:
    """Returns the names of the columns that readers of a table see, by one of its descriptions.

    Hidden columns have names with a leading $, which no other column may have.
    """
    return tuple(name for name, _ in _schema(metadata) if not name.startswith("$"))


def column_names(metadata: TableMetadata) -> tuple[str, ...]:
    """Returns the names of all columns of a table, hidden ones included, by one of its descriptions."""
    with decoding("the schema of a table"):
        return tuple(name for name, _ in _schema(metadata))


def _schema(metadata: TableMetadata) -> list[tuple[str, object]]:
    return [(item["name"], item["type"]) for item in json.loads(metadata.schema)["fields"]]


def _columns(pairs: list[tuple[str, object]]) -> Columns:
    result = []
    for name, item in pairs:
        type_ = delta_type(item)
        if type_ is None:
            raise ValueError(f"column {name} is of type {item}, which dynamic tables do not hold")
        result.append((name, type_))
    return tuple(result)
