"""Values that clients wrote and read, and of which sort they are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    text: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol, a character, or the EDN of what is neither number nor text."""

    text: str


COLLECTIONS = ("sets", "maps", "lists")
"""Sorts of values that are the state of another workload, unless such values are written."""

SORTS = {
    "#{": "sets",
    "{": "maps",
    "[": "lists",
    "(": "lists",
    ":": "keywords",
    "true": "booleans",
    "false": "booleans",
}
"""Sorts of values by how their text begins."""


def sort_of(value: object) -> str:
    """Returns of which sort a value is, as a plural."""
    if isinstance(value, int | float):
        return "numbers"
    if isinstance(value, Text):
        return "strings"
    text = str(getattr(value, "text", value))
    if isinstance(value, Symbol) and text.removeprefix("-")[:1].isdigit():
        return "numbers"
    return next((name for begin, name in SORTS.items() if text.startswith(begin)), "words")
