"""The parts of nested types, read from Spark's names of them: `ARRAY<INT>`, `STRUCT<a:INT,b:STRING>`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dynamic_tables.plan.types import FLOATING, STRING, VARIANT, Columns, Kind, Type, decimal

OPENING, CLOSING = "<(", ">)"

SIMPLE: Mapping[str, Type] = {
    **{kind.value: Type(kind) for kind in Kind if kind not in (Kind.DECIMAL, Kind.OTHER)},
    "INTEGER": Type(Kind.INT),
}
"""Types of values that are not nested, by Spark's names, except DECIMAL."""


def element_of(array: Type) -> Type | None:
    """Returns the type of the elements of an ARRAY; None for another type."""
    inner = _inside(array, "ARRAY")
    return None if inner is None else _type(inner)


def pair_of(map_: Type) -> tuple[Type, Type] | None:
    """Returns the types of the keys and the values of a MAP; None for another type."""
    inner = _inside(map_, "MAP")
    parts = [] if inner is None else list(map(_type, split_outside_brackets(inner)))
    return (parts[0], parts[1]) if len(parts) == 2 else None


def holds_map(type_: Type) -> bool:
    """Tells whether values of a type are maps or hold maps; Spark compares neither."""
    return "map<" in str(type_).lower()


def holds_variant(type_: Type) -> bool:
    """Tells whether values of a nested type hold values of type VARIANT, at any depth."""
    parts = (element_of(type_), *(pair_of(type_) or ()), *(part for _, part in fields_of(type_) or ()))
    return any(part is not None and (part == VARIANT or holds_variant(part)) for part in parts)


def holds_interval(type_: Type) -> bool:
    """Tells whether values of a type are INTERVALs, or hold some at any depth; Delta stores none."""
    element, pair, fields = element_of(type_), pair_of(type_), fields_of(type_)
    parts = (element, *(pair or ()), *(part for _, part in fields or ()))
    return type_.name.lower().startswith("interval ") or any(
        part is not None and holds_interval(part) for part in parts
    )


def is_key_type(type_: Type) -> bool:
    """Tells whether a row id can hold values of a type: plain ones, and STRUCTs and ARRAYs of these."""
    element, fields = element_of(type_), fields_of(type_)
    if element is not None:
        return is_key_type(element)
    if fields is None:
        return type_.identifies
    # By its name Spark takes no field of two with one name.
    names = {name.lower() for name, _ in fields}
    return len(names) == len(fields) and all(is_key_type(part) for _, part in fields)


def has_comparable_pairs(type_: Type) -> bool:
    """Tells whether a type is a MAP from plain values to plain values, so that its pairs can be compared."""
    pair = pair_of(type_)
    return pair is not None and all(part.identifies for part in pair)


def pairs_type(pair: tuple[Type, Type]) -> Type:
    """Returns the type of the array of pairs of a MAP with these types of keys and values."""
    return array_type(struct_type((("key", pair[0]), ("value", pair[1]))))


def fields_of(struct: Type) -> Columns | None:
    """Returns the names and types of the fields of a STRUCT; None for another type."""
    inner = _inside(struct, "STRUCT")
    if inner is None:
        return None
    fields = []
    for part in split_outside_brackets(inner):
        name, type_ = _named(part.strip())
        fields.append((name, _type(type_.removesuffix(" NOT NULL"))))
    return tuple(fields)


def with_texts(type_: Type) -> Type:
    """Returns the type with STRING in place of each FLOAT and DOUBLE, at any depth."""
    if type_.kind in FLOATING:
        return STRING
    element, fields = element_of(type_), fields_of(type_)
    if element is not None and with_texts(element) != element:
        return array_type(with_texts(element))
    texts = tuple((name, with_texts(part)) for name, part in fields or ())
    return struct_type(texts) if texts != (fields or ()) else type_


def array_type(element: Type) -> Type:
    """Returns the type ARRAY of elements of a type, by the name that Spark gives it."""
    return Type(Kind.OTHER, name=f"array<{_shown(element)}>")


def struct_type(fields: Columns) -> Type:
    """Returns the type STRUCT of fields, by the name that Spark gives it."""
    parts = ",".join(f"`{name}`:{_shown(type_)}" for name, type_ in fields)
    return Type(Kind.OTHER, name=f"struct<{parts}>")


def _shown(type_: Type) -> str:
    """Returns the name of a type as it stands in the name of a nested one."""
    return type_.name if type_.kind is Kind.OTHER else str(type_).lower()


def _inside(type_: Type, word: str) -> str | None:
    """Returns the text in the brackets of a nested type, `word` (such as ARRAY); None: it is another type."""
    name = type_.name.strip() if type_.kind is Kind.OTHER else ""
    head, bracket, rest = name.partition("<")
    return rest[:-1] if bracket and head.strip().upper() == word and rest.endswith(">") else None


def _type(text: str) -> Type:
    """Returns the type of a name; one that is not known is of kind OTHER, and Spark alone knows it."""
    shown = text.strip()
    upper = shown.upper()
    if upper.startswith("DECIMAL(") and upper.endswith(")"):
        precision, scale = (int(digits) for digits in upper[len("DECIMAL(") : -1].split(","))
        exact = decimal(precision, scale)
        if exact is not None:
            return exact
    return SIMPLE.get(upper, Type(Kind.OTHER, name=shown))


def _named(field: str) -> tuple[str, str]:
    """Returns the name and the type of a field; a name in quotes may hold any character."""
    if not field.startswith("`"):
        # Spark needs no colon: STRUCT<a INT>.
        name = re.match(r"[^\s:]*", field)[0]  # type: ignore[index]
        return name, field[len(name) :].lstrip().removeprefix(":").strip()
    end = 1
    while field[end : end + 2] == "``" or field[end] != "`":
        end += 2 if field[end : end + 2] == "``" else 1
    return field[1:end].replace("``", "`"), field[end + 1 :].lstrip().removeprefix(":").strip()


def split_outside_brackets(inner: str) -> Sequence[str]:
    """Returns the parts between the commas that stand in no brackets and no quotes."""
    parts, depth, quoted = [""], 0, False
    for character in inner:
        quoted ^= character == "`"
        if not quoted:
            depth += (character in OPENING) - (character in CLOSING)
        if character == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts
