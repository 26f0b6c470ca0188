"""Random rows of sources, as SQL literals: few values of each type, so that rows meet.

A database reads the literals, so a row of any type is drawn without an object for its values.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlglot import exp, parse_one

from campaign.dbt.project import Source, SourceColumn

NULL = "NULL"

Part = tuple[SourceColumn, str]
"""A part of a document or struct: its column, and the path."""

ELEMENT = "[]"
"""The name of an element of a list, as a part of its column."""

BASE = dt.date(2024, 1, 1)
"""The day from which clock values are counted, unless a condition reads the current time."""

NULL_SHARE = 0.15
"""The share of NULL in columns that may hold it."""

ASKED_NULL_SHARE = 0.5
"""The share of NULL in a column of which a model asks for it, such as by `deleted_at IS NULL`."""

UNIQUE = 1_000_000
"""The number of values of a part of a document that is a key in a model: hardly ever two rows share one."""

INTEGERS = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {
    "INTEGER",
    "UINTEGER",
    "INT",
}

SPECIAL = {
    "TIME": "TIME '{hour:02}:00:00'",
    "UUID": "'00000000-0000-0000-0000-{number:012}'::UUID",
    "BIT": "'{number:b}'::BIT",
    "BLOB": "'{letters}'::BLOB",
    "JSON": "'{{\"a\": {number}}}'::JSON",
    "INTERVAL": "INTERVAL {number} DAY",
}
"""Types of which nothing but their literal matters."""

DAY = 1440
"""The minutes of a day."""

NEWEST = 45 * DAY
"""The tick of the newest row at the start, in minutes after the base: a row may be a month late."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The values of a clock column, from the day `base` on. `scale`: how much a number grows in a minute.

    A clock of days counts days; one of numbers counts minutes, seconds (`scale` 60) or milliseconds.
    """

    type: str
    base: dt.date
    scale: int = 1

    @property
    def unit(self) -> int:
        """The smallest step, in minutes."""
        return DAY if self.type == "DATE" else 1

    def literal(self, tick: int) -> str:
        """Returns the value of a tick, which is in minutes after the base, as a literal of SQL."""
        at = dt.datetime.combine(self.base, dt.time()) + dt.timedelta(minutes=tick)
        if self.type == "DATE":
            return f"DATE '{at:%Y-%m-%d}'"
        if self.type.startswith("TIMESTAMP"):
            return f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}'"
        return str(tick * self.scale) if self.is_number else f"'{at:%Y-%m-%d %H:%M:%S}'"

    @property
    def is_number(self) -> bool:
        """Whether the clock is a number, such as that of a batch."""
        return self.type in INTEGERS or self.type.startswith("DECIMAL")


def is_time(type_: str) -> bool:
    """Returns whether a type is a date or a timestamp."""
    return type_ == "DATE" or type_.startswith("TIMESTAMP")


def can_be_clock(type_: str) -> bool:
    """Returns whether columns of a type may hold clock values."""
    return is_time(type_) or type_.startswith(("VARCHAR", "DECIMAL")) or type_ in INTEGERS


def value_of(type_: str, number: int, base: dt.date) -> str:
    """Returns a literal of a type by number, from 1; a different one for each if the type has so many."""
    kind = type_.upper()
    if kind in INTEGERS:
        return str(number % 100 if kind.endswith("TINYINT") else number)
    if found := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", kind):
        whole = int(found[1]) - int(found[2])
        return str(number % 10**whole) + (f".{number % 10}" if int(found[2]) else "")
    if kind in ("DOUBLE", "FLOAT", "REAL"):
        return f"{number}.5"
    if kind == "BOOLEAN":
        return "true" if number % 2 else "false"
    if kind == "DATE":
        return f"DATE '{base + dt.timedelta(days=NEWEST // DAY - 3 + number % 4)}'"
    if kind.startswith("TIMESTAMP"):
        return Clock("TIMESTAMP", base).literal(NEWEST - number * 60)
    if kind in SPECIAL:
        return SPECIAL[kind].format(number=number, hour=number % 24, letters=letters(number))
    if kind.startswith("ENUM("):
        names = re.findall(r"'((?:[^']|'')*)'", type_)
        return f"'{names[number % len(names)]}'"
    return nested(type_, number, base)


def nested(type_: str, number: int, base: dt.date) -> str:
    """Returns the literal of a list, a struct or a map; a text where the type is unknown."""
    if array := re.fullmatch(r"(.+)\[(\d+)\]", type_):
        return "[" + ", ".join([value_of(array[1], number, base)] * int(array[2])) + "]"
    try:
        tree = exp.DataType.build(type_, dialect="duckdb")
    except Exception:  # noqa: BLE001  # sqlglot raises its errors and Python's for types that it does not know
        return f"'{letters(number)}'"
    parts = tree.expressions
    match tree.this:
        case exp.DataType.Type.LIST | exp.DataType.Type.ARRAY if parts:
            return f"[{value_of(parts[0].sql('duckdb'), number, base)}]"
        case exp.DataType.Type.STRUCT:
            fields = (
                f"'{part.name}': {value_of(part.args['kind'].sql('duckdb'), number, base)}" for part in parts
            )
            return "{" + ", ".join(fields) + "}"
        case exp.DataType.Type.MAP if len(parts) > 1:
            key, value = (value_of(part.sql("duckdb"), number, base) for part in parts[:2])
            return f"MAP {{{key}: {value}}}"
        case _:
            return f"'{letters(number)}'"


def with_parts(type_: str, parts: Mapping[str, Sequence[str]], base: dt.date) -> list[str]:
    """Returns values of a column of which models compare parts, given by path: the first constant of each.

    Then, for each further constant, a value that has it in place of the first one.
    """
    first = {path: values[0] for path, values in parts.items()}
    chosen = [first, *({**first, path: one} for path, values in parts.items() for one in values[1:])]
    return list(dict.fromkeys(found for each in chosen if (found := whole_of(type_, each, base))))


def whole_of(type_: str, parts: Mapping[str, str], base: dt.date) -> str:
    """Returns a document, list or struct with some parts as a literal; empty where the type has none."""
    if type_.endswith("[]"):
        element = parts.get(ELEMENT, "")
        return f"[{element}]" if element and may_hold(type_.removesuffix("[]"), element) else ""
    if type_ == "JSON":
        return document_of({path: value for path, value in parts.items() if path != ELEMENT})
    if not type_.startswith("STRUCT("):
        return ""
    fields = []
    for part in exp.DataType.build(type_, dialect="duckdb").expressions:
        kind = part.args["kind"].sql("duckdb").replace("TEXT", "VARCHAR")
        value = {path.lower(): value for path, value in parts.items()}.get(part.name.lower(), "")
        fields.append(
            f"'{part.name}': {value if value and may_hold(kind, value) else value_of(kind, 1, base)}"
        )
    return "{" + ", ".join(fields) + "}"


def document_of(parts: Mapping[str, str]) -> str:
    """Returns a document of JSON with some parts as a literal; empty without any."""
    document: dict[str, Any] | list[Any] = [] if INDEX.match(next(iter(parts), "")) else {}
    for path, literal in parts.items():
        text = literal[1:-1].replace("''", "'")
        value = None if literal == NULL else text if literal.startswith("'") else json.loads(literal)
        _put(document, path.split("."), value)
    text = json.dumps(document, ensure_ascii=False).replace("'", "''")
    return f"'{text}'::JSON" if document else ""


INDEX = re.compile(r"\[(\d{1,2})\](\.|$)")
"""The name of an element of a list on the path of a part, as in items.[0].at."""

DOT = "\x1f"
"""What stands for a dot in a name on such a path."""


def _put(inner: dict[str, Any] | list[Any], names: Sequence[str], value: object) -> None:
    """Puts a value into a document, by the names on its path; not where a list stands for an object."""
    name, *below = names
    index = INDEX.fullmatch(name)
    if isinstance(inner, list) != (index is not None):
        return
    at: Any = name.replace(DOT, ".")
    if index is not None and isinstance(inner, list):
        at = int(index[1])
        inner.extend([None] * (at + 1 - len(inner)))
    if not below:
        inner[at] = value
        return
    empty: dict[str, Any] | list[Any] = [] if INDEX.fullmatch(below[0]) else {}
    if isinstance(inner, list):
        inner[at] = empty if type(inner[at]) is not type(empty) else inner[at]
    elif type(inner.get(at)) is not type(empty):
        inner[at] = empty
    _put(inner[at], below, value)


def _leaves(parts: Mapping[str, str]) -> dict[str, str]:
    """Returns the parts of a document that have no parts."""
    return {path: each for path, each in parts.items() if not any(n.startswith(f"{path}.") for n in parts)}


def _parsed(literal: str) -> dict[str, str]:
    """Returns the parts of a document, given as a literal, as literals by path."""

    def of(document: Any, above: str) -> Iterator[tuple[str, str]]:
        if isinstance(document, list):
            named = [(f"[{place}]", value) for place, value in enumerate(document)]
        else:
            named = [(name.replace(".", DOT), value) for name, value in document.items()]
        for name, value in named:
            if isinstance(value, dict | list):
                yield from of(value, f"{above}{name}.")
            else:
                text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)
                yield f"{above}{name}", NULL if value is None else text

    document = json.loads(literal.removesuffix("::JSON")[1:-1].replace("''", "'"))
    return dict(of(document, "")) if isinstance(document, dict | list) else {}


def _fields(literal: str) -> dict[str, str]:
    """Returns the fields of a struct, given as a literal, as literals by name."""
    fields = parse_one(literal, read="duckdb").expressions
    return {field.name: field.expression.sql("duckdb") for field in fields}


def _literal(parts: Mapping[str, str], like: str) -> str:
    """Returns a document as a literal of the same type as another one."""
    found = document_of(_leaves(parts))
    return found if like.endswith("::JSON") else found.removesuffix("::JSON")


def part_type(type_: str, path: str) -> str:
    """Returns the type of a part of a column: JSON in a document, that of a field; empty for no part."""
    if type_ == "JSON" or type_.startswith("VARCHAR"):
        return "JSON"
    if not type_.startswith("STRUCT("):
        return ""
    fields = exp.DataType.build(type_, dialect="duckdb").expressions
    types = (field.args["kind"].sql("duckdb") for field in fields if field.name.lower() == path.lower())
    return next(types, "").replace("TEXT", "VARCHAR")


def letters(number: int) -> str:
    """Returns a short text for each number from 1: a, b, ..., z, a1, ..."""
    suffix, letter = divmod(number - 1, 26)
    return chr(ord("a") + letter) + (str(suffix) if suffix else "")


def may_hold(type_: str, literal: str) -> bool:
    """Returns whether a constant may be a value of a type.

    It may belong to a column of this name in another source. A constant beside a column of JSON, a list or a
    struct is compared with a part of it. Any type has NULL.
    """
    if literal == NULL:
        return True
    if type_.endswith("]"):
        return False
    if type_.startswith("ENUM("):
        return literal in type_
    if is_time(type_):
        return re.match(r"'\d{4}-", literal) is not None
    if type_.startswith("VARCHAR"):
        return literal.startswith("'")
    number = type_ in INTEGERS or type_.startswith(("DECIMAL", "DOUBLE", "FLOAT"))
    return number and not literal.startswith("'")


@dataclass(frozen=True, slots=True)
class Domains:
    """The values of columns. `constants`: by the name of a column, literals that models compare it with.

    `links`: by the name of a column, those that it is compared with. `renamed`: by another name, the columns
    that it may stand for. `scale`: of clocks that are numbers. `times`: columns, and parts of them, that
    models read as times. `documents`: columns that models read as JSON, with the paths that they read.
    `unique`: parts that stand in a `unique_key`, such as payload.id.
    """

    base: dt.date
    constants: Mapping[str, Sequence[str]]
    links: Mapping[str, frozenset[str]] = field(default_factory=dict)
    renamed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scale: int = 1
    times: frozenset[str] = frozenset()
    documents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unique: frozenset[str] = frozenset()

    def compared(self, name: str, type_: str, required: bool) -> list[str]:
        """Returns the constants of a column that its rows may hold; NULL too, where a model asks for it."""
        if self._in_text(name, type_):
            literals = self.compared(name, "JSON", required)
            return [each.removesuffix("::JSON") for each in literals]
        found = [each for each in self.constants.get(name.lower(), ()) if may_hold(type_, each)]
        start = f"{name.lower()}."
        parts = {n.removeprefix(start): values for n, values in self.constants.items() if n.startswith(start)}
        whole = with_parts(type_, parts, self.base) if parts else []
        return [each for each in (*found, *whole) if not (required and each == NULL)]

    def draw(self, random: Random, name: str, type_: str, required: bool, *, asked: bool = False) -> str:
        """Returns a random value, as a literal, of a column that is neither key nor clock.

        `asked`: one that a model asks for, where one does.
        """
        if self._in_text(name, type_):
            return self.draw(random, name, "JSON", required, asked=asked).removesuffix("::JSON")
        if type_ == "JSON" and name.lower() in self.documents:
            return self._document(random, name.lower(), required, asked=asked)
        compared = self.compared(name, type_, required)
        if asked and compared:
            return random.choice(compared)
        share = ASKED_NULL_SHARE if NULL in compared else NULL_SHARE
        if not required and random.random() < share:
            return NULL
        if name.lower() in self.times and type_.startswith("VARCHAR"):
            return Clock(type_, self.base).literal(NEWEST - 60 * random.randint(1, 3))
        constants = [each for each in compared if each != NULL]
        if constants and random.random() < 0.6:
            return random.choice(constants)
        return value_of(type_, random.randint(1, 3), self.base)

    def clock(self, source: Source, name: str) -> Clock:
        """Returns the clock of a source that a column is, or a part of one."""
        part = source.part(name)
        if part is None:
            return Clock(source.column(name).type, self.base, self.scale)
        type_ = part_type(part[0].type, part[1])
        if type_ == "JSON":
            type_ = "VARCHAR" if name in self.times else "BIGINT"
        return Clock(type_, self.base, self.scale)

    def with_part(self, part: Part, value: str, literal: str) -> str:
        """Returns a value of a document or struct in which a part is a literal."""
        column, path = part
        if column.type.startswith("STRUCT("):
            fields = _fields(whole_of(column.type, {}, self.base) if value == NULL else value)
            named = {name: literal if name.lower() == path.lower() else each for name, each in fields.items()}
            return "{" + ", ".join(f"'{name}': {each}" for name, each in named.items()) + "}"
        like = "::JSON" if column.type == "JSON" else ""
        return _literal({**({} if value == NULL else _parsed(value)), path: literal}, like)

    def with_part_of(self, part: Part, value: str, before: str) -> str:
        """Returns a value of a document or struct in which a part is as it was before."""
        column, path = part
        if before == NULL:
            return before
        if column.type.startswith("STRUCT("):
            parts = {name.lower(): each for name, each in _fields(before).items()}
        else:
            parts = _parsed(before)
        return self.with_part(part, value, parts.get(path, NULL))

    def across(self, random: Random, name: str, type_: str, required: bool, value: str) -> str:
        """Returns a value for which a filter may answer otherwise than for `value`: across a constant."""
        paths = self._compared_paths(name.lower(), type_)
        if paths and value != NULL:
            return self._across_document(random, f"{name.lower()}.{random.choice(paths)}", value)
        compared = self.compared(name, type_, required)
        if value not in compared:
            return random.choice(compared)
        plain = [value_of(type_, number, self.base) for number in (1, 2, 3)]
        return random.choice([each for each in (*compared, *plain) if each != value])

    def redrawn(self, random: Random, name: str, type_: str, required: bool, before: str) -> str:
        """Returns a random value in place of `before`; parts that stand in a `unique_key` stay."""
        drawn, name = self.draw(random, name, type_, required), name.lower()
        kept = [path for path in self.documents.get(name, ()) if f"{name}.{path}" in self.unique]
        if not kept or NULL in (before, drawn):
            return drawn
        old, new = _parsed(before), _parsed(drawn)
        return _literal(new | {path: old[path] for path in kept if path in old}, drawn)

    def _in_text(self, name: str, type_: str) -> bool:
        """Returns whether a column of text holds documents of JSON."""
        return type_.startswith("VARCHAR") and name.lower() in self.documents

    def _document(self, random: Random, name: str, required: bool, *, asked: bool) -> str:
        """Returns a random document that has every path that models read of it, or NULL."""
        # What is a key in a model is not NULL for other kinds of change.
        required = required or any(part.startswith(f"{name}.") for part in self.unique)
        if not required and not asked and random.random() < NULL_SHARE:
            return NULL
        parts = {}
        for path in self.documents[name]:
            part, parts[path] = f"{name}.{path}", str(random.randint(1, 3))
            if constants := self.constants.get(part, ()):
                parts[path] = random.choice(constants) if asked or random.random() < 0.6 else parts[path]
            elif part in self.unique:
                parts[path] = str(random.randint(1, UNIQUE))
            elif part in self.times:
                parts[path] = Clock("VARCHAR", self.base).literal(NEWEST - 60 * random.randint(1, 3))
        return document_of(_leaves(parts)) or value_of("JSON", random.randint(1, 3), self.base)

    def _across_document(self, random: Random, part: str, value: str) -> str:
        """Returns a document in which a part has another value: a constant of a model, or not."""
        parts, path = _parsed(value), part.partition(".")[2]
        others = [each for each in (*self.constants[part], "1", "2") if each != parts.get(path)]
        return _literal({**parts, path: random.choice(others)}, value)

    def _compared_paths(self, name: str, type_: str) -> list[str]:
        """Returns the paths of a document that models compare with constants; [] for what is none."""
        is_document = type_ == "JSON" or self._in_text(name, type_)
        paths = self.documents.get(name, ()) if is_document else ()
        return [path for path in paths if f"{name}.{path}" in self.constants]
