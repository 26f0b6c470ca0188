"""Documents, put together from the values of their parts and taken apart again.

A *part* is what a definition takes out of a document: by a path, as a type. Values of parts are drawn like
those of columns, and a document has each of them at its path.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zlib import crc32

from workload.types import BITS, Kind, SqlType, Value, document_text, fits

Path = tuple[str | int, ...]
"""The keys of objects, and the places in arrays, from a document down to a part."""

LONGEST_ARRAY = 8
"""The places of arrays up to which documents have elements."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of the documents of the column at `position`, with the type that it is taken as."""

    position: int
    path: Path
    type: SqlType


def path_text(path: Path) -> str:
    """Returns a path as Spark writes it behind a column.

    >>> path_text(("stops", 0, "name"))
    ':stops[0].name'
    """
    first, *rest = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return ":" + "".join((first.removeprefix("."), *rest))


def document(values: Mapping[DocumentPart, Value]) -> str:
    """Returns the document with these values at their paths, as a text of JSON.

    A NULL is a missing key, and in one document of three a JSON null; in one of five a whole number is a
    text, as some producers write it. The values alone decide it, so that a seed gives the same documents.
    """
    kind = crc32(repr([(part.path, repr(value)) for part, value in values.items()]).encode())
    tree: Any = {}
    # Shorter paths first: what is deeper in the same place takes it over.
    for part, value in sorted(values.items(), key=lambda item: (len(item[0].path), repr(item[0].path))):
        if value is not None:
            as_text = part.type.kind in BITS and kind % 5 == 0
            found = (
                json.loads(str(value)) if part.type.kind is Kind.VARIANT else _json(value, as_text=as_text)
            )
            tree = _with(tree, part.path, found)
        elif kind % 3 == 0:
            tree = _with(tree, part.path, None)
    return document_text(tree)


def part_value(text: Value, part: DocumentPart) -> Value:
    """Returns the value of a part of a document; None where it is not there or not of the part's type."""
    found: Any = None if text is None else json.loads(str(text))
    for step in part.path:
        match step, found:
            case str(), dict():
                found = found.get(step)
            case int(), list() if step < len(found):
                found = found[step]
            case _:
                return None
    return _value(found, part.type)


def _with(tree: Any, path: Sequence[str | int], value: Any) -> Any:
    """Returns a document with a value at a path; what stands in the way is replaced."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        elements = list(tree) if isinstance(tree, list) else []
        if step > LONGEST_ARRAY:
            return elements
        elements += [None] * (step + 1 - len(elements))
        elements[step] = _with(elements[step], rest, value)
        return elements
    fields = dict(tree) if isinstance(tree, dict) else {}
    return {**fields, step: _with(fields.get(step), rest, value)}


def _json(value: Any, *, as_text: bool) -> Any:
    """Returns a value as JSON has it; `as_text`: a whole number becomes a text."""
    match value:
        case Decimal():
            return float(value)
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case bytes():
            return value.decode("latin-1")
        case tuple():
            return [_json(each, as_text=False) for each in value]
        case _:
            return str(value) if as_text and type(value) is int else value


def _value(found: Any, type_: SqlType) -> Value:
    """Returns a value of JSON as one of a type; None if the type has no such value."""
    value: Any = found
    try:
        match type_.kind:
            case kind if kind in BITS and isinstance(found, str):
                value = int(found)
            case Kind.VARIANT:
                value = document_text(found)
            case Kind.DECIMAL if isinstance(found, int | float):
                value = Decimal(str(found))
            case Kind.FLOAT | Kind.DOUBLE if type(found) is int:
                value = float(found)
            case Kind.DATE if isinstance(found, str):
                value = dt.date.fromisoformat(found)
            case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ if isinstance(found, str):
                value = dt.datetime.fromisoformat(found)
            case _:
                pass
    except ValueError:
        return None
    return value if fits(value, type_) else None
