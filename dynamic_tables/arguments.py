"""What users may give as names and times; errors say what is wrong with one."""

from __future__ import annotations

import re

from dynamic_tables.errors import DefinitionError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
LONGEST = 128
"""Characters of a name."""


def checked_name(name: object, of: str = "a table or view") -> str:
    """Returns a new name in lower case. Raises DefinitionError: it is no name."""
    text = checked_text(name, of)
    if len(text) > LONGEST:
        raise DefinitionError(f"{text[:20]}... has {len(text)} characters; a name has {LONGEST} at most")
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


def checked_share(share: object, table: str) -> None:
    """Raises DefinitionError: the share of rows above which a refresh is FULL is no number from 0 on."""
    if not isinstance(share, int | float) or not share >= 0:
        raise DefinitionError(f"full_above of {table} is {share}; give a share of the rows, such as 0.3")
