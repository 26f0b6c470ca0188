"""Scenarios as JSON: lossless, versioned, readable; a file with a field too many or too few is refused.

Every value class becomes an object whose `is` names the class; fields at their default are left out. Values
keep their type: a DOUBLE is written `{"double": "0.5"}`, so that 1.0 and 1, -0.0 and NaN survive.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import types
import typing
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin

from workload.errors import WorkloadError
from workload.scenario import SCENARIO_VERSION, Scenario
from workload.types import SqlType, Value, parse_type


def scenario_to_json(value: Scenario) -> str:
    """Returns the JSON text of a scenario; ends with a newline."""
    document = {"format": "dvs-scenario", "version": SCENARIO_VERSION, "scenario": encode(value)}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def scenario_from_json(text: str) -> Scenario:
    """Returns the scenario of a JSON text. Raises WorkloadError naming what is wrong."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"not a scenario: no valid JSON ({error}); the file may be cut short") from error
    if not isinstance(document, dict) or document.get("format") != "dvs-scenario":
        raise WorkloadError('not a scenario: the top object lacks "format": "dvs-scenario"')
    if type(document.get("version")) is not int or document["version"] != SCENARIO_VERSION:
        raise WorkloadError(
            f"scenario of version {document.get('version')!r}; this program reads version "
            f"{SCENARIO_VERSION}: generate it again"
        )
    try:
        value = decode(document.get("scenario"), Scenario, "scenario")
    except RecursionError as error:
        raise WorkloadError("not a scenario: nested too deeply") from error
    assert isinstance(value, Scenario)
    return value


def encode(value: Any) -> Any:
    """Returns a value of this package as what `json.dumps` takes: objects, lists and scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type | SqlType):
        return _encode_object(value)
    match value:
        case SqlType():
            return str(value)
        case Enum():
            return value.name
        case tuple():
            return [encode(item) for item in value]
        case Mapping():
            return {key: encode(item) for key, item in value.items()}
        case float():
            return {"double": repr(value)}
        case Decimal():
            return {"decimal": f"{value:f}"}
        case bytes():
            return {"binary": value.hex()}
        case dt.datetime():
            return {"timestamp": value.isoformat(sep=" ")}
        case dt.date():
            return {"date": value.isoformat()}
        case None | bool() | int() | str():
            return value
        case _:
            raise TypeError(f"no JSON form for {type(value).__name__}")


def _encode_object(value: Any) -> dict[str, Any]:
    encoded: dict[str, Any] = {"is": type(value).__name__}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if field.default is dataclasses.MISSING or content != field.default:
            encoded[field.name] = encode(content)
    return encoded


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def decode(data: Any, expected: Any, where: str) -> Any:
    """Returns the value that JSON data stand for. Raises WorkloadError naming the place.

    `expected`: the type hint that the value must fit. `where`: the path to the data in the file, for
    messages.
    """
    if expected == Value:
        return _decode_value(data, where)
    origin = get_origin(expected)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(data, expected, where)
    if origin is tuple:
        return _decode_tuple(data, get_args(expected), where)
    if origin is Mapping:
        _require(isinstance(data, dict), where, "an object", data)
        return {key: decode(item, get_args(expected)[1], f"{where}.{key}") for key, item in data.items()}
    if expected is float:
        value = _decode_value(data, where)
        _require(isinstance(value, float), where, "a double", data)
        return value
    if expected is SqlType:
        _require(isinstance(data, str), where, "a type", data)
        try:
            return parse_type(data)
        except WorkloadError as error:
            raise WorkloadError(f"{where}: {error}") from error
    if isinstance(expected, type) and issubclass(expected, Enum):
        if not isinstance(data, str) or data not in expected.__members__:
            raise WorkloadError(f"{where}: expected one of {', '.join(expected.__members__)}, found {data!r}")
        return expected[data]
    if dataclasses.is_dataclass(expected):
        return _decode_object(data, (typing.cast(type, expected),), where)
    _require(type(data) is expected, where, expected.__name__, data)
    return data


def _require(condition: bool, where: str, expected: str, data: Any) -> None:
    if not condition:
        raise WorkloadError(f"{where}: expected {expected}, found {_kind(data)}")


def _decode_tuple(data: Any, elements: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    _require(isinstance(data, list), where, "a list", data)
    if elements[-1] is Ellipsis:
        elements = (elements[0],) * len(data)
    if len(data) != len(elements):
        raise WorkloadError(f"{where}: expected {len(elements)} items, found {len(data)}")
    pairs = zip(data, elements, strict=True)
    return tuple(decode(item, element, f"{where}[{i}]") for i, (item, element) in enumerate(pairs))


def _decode_union(data: Any, expected: Any, where: str) -> Any:
    members = get_args(expected)
    if data is None and type(None) in members:
        return None
    classes = tuple(member for member in members if dataclasses.is_dataclass(member))
    if classes and isinstance(data, dict):
        return _decode_object(data, classes, where)
    rest = [member for member in members if member is not type(None) and member not in classes]
    enums = [enum for enum in rest if isinstance(enum, type) and issubclass(enum, Enum)]
    if len(enums) == len(rest) > 1:
        # Of several enums the one that has the name; `data` may be of any kind, also one that has no hash.
        named = [enum for enum in enums if data in list(enum.__members__)]
        return decode(data, (named or enums)[0], where)
    if len(rest) == 1:
        return decode(data, rest[0], where)
    names = " or ".join(str(getattr(c, "__name__", c)) for c in classes)
    raise WorkloadError(f"{where}: expected {names}, found {_kind(data)}")


def _decode_object(data: Any, classes: tuple[Any, ...], where: str) -> Any:
    name = data.get("is") if isinstance(data, dict) else _kind(data)
    cls = next((cls for cls in classes if isinstance(data, dict) and cls.__name__ == name), None)
    if cls is None:
        raise WorkloadError(f"{where}: expected {' or '.join(c.__name__ for c in classes)}, found {name!r}")
    hints = _hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    unknown = sorted(set(data) - set(fields) - {"is"})
    if unknown:
        raise WorkloadError(f"{where}: {cls.__name__} has no field {unknown[0]!r}")
    missing = [n for n, f in fields.items() if f.default is dataclasses.MISSING and n not in data]
    if missing:
        raise WorkloadError(f"{where}: {cls.__name__} lacks {missing[0]!r}")
    return cls(**{n: decode(data[n], hints[n], f"{where}.{n}") for n in fields if n in data})


def _decode_value(data: Any, where: str) -> Value:
    if data is None or isinstance(data, bool | int | str):
        return data
    if isinstance(data, list):
        return tuple(_decode_value(item, f"{where}[{number}]") for number, item in enumerate(data))
    try:
        match data if isinstance(data, dict) and len(data) == 1 else None:
            case {"double": str(text)}:
                return float(text)
            case {"decimal": str(text)}:
                return Decimal(text)
            case {"binary": str(text)}:
                return bytes.fromhex(text)
            case {"timestamp": str(text)}:
                return dt.datetime.fromisoformat(text)
            case {"date": str(text)}:
                return dt.date.fromisoformat(text)
            case _:
                pass
    except (ValueError, InvalidOperation):
        pass
    raise WorkloadError(f"{where}: no value: {json.dumps(data)[:60]}")


def _kind(data: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(
        type(data), type(data).__name__
    )
