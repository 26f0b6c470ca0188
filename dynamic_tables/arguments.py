"""Checks of the names, data timestamps and primary keys that users give; errors say what is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DefinitionError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
LONGEST_NAME = 128
"""The most characters of a name."""


def checked_name(name: object, of: str = "a table or view") -> str:
    """Returns a new name in lower case. Raises DefinitionError: it is no name."""
    text = checked_text(name, of)
    if len(text) > LONGEST_NAME:
        raise DefinitionError(f"{text[:20]}... has {len(text)} characters; a name has {LONGEST_NAME} at most")
    if not NAME.fullmatch(text):
        raise DefinitionError(f"{text!r} is no name; use letters, digits and _, starting with a letter")
    return text.lower()


def checked_text(name: object, of: str) -> str:
    """Returns a name as it is. Raises DefinitionError: it is no text, or an empty one."""
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"{name!r} is no name of {of}; give a text")
    return name


def checked_time(at: object) -> int:
    """Returns a data timestamp. Raises DefinitionError: it is no integer."""
    if not isinstance(at, int) or isinstance(at, bool):
        raise DefinitionError(
            f"{at!r} is no data timestamp; give the microseconds since 1970, such as "
            "int(moment.timestamp() * 1_000_000)"
        )
    return at


def checked_key(table: BaseTable, key: object) -> BaseTable:
    """Returns a table with a primary key, in the order and spelling of its columns.

    Raises DefinitionError: the key names something else, or a column whose values cannot be a key.
    """
    given = [key] if isinstance(key, str) else key
    if not isinstance(given, Sequence):
        raise DefinitionError(f"the primary key of {table.name} is {key!r}; give the names of its columns")
    wanted = [checked_text(name, "a column").lower() for name in given]
    types = {name.lower(): type_ for name, type_ in table.columns}
    for name in wanted:
        if name not in types:
            raise DefinitionError(
                f"{table.name} has no column {name} for its primary key; there are: {', '.join(types)}"
            )
        if not types[name].identifies:
            raise DefinitionError(
                f"column {name} of {table.name}, of type {types[name]}, cannot be part of a primary key"
            )
    if len(set(wanted)) < len(wanted):
        raise DefinitionError(f"the primary key of {table.name} names a column twice: {', '.join(wanted)}")
    return replace(table, key=tuple(name for name, _ in table.columns if name.lower() in wanted))
