"""Values that clients wrote and read that are no plain numbers, and the sorts of values.

A value that nobody wrote is mostly an anomaly. But if it is of another sort than all that was written, the
file is of another workload, and is refused: see `observed.recover`.
"""

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
"""Sorts of values that other workloads read (a whole set, all balances), unless such values are written."""

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
    """Returns the sort of a value, as a plural for messages."""
    if isinstance(value, int | float):
        return "numbers"
    if isinstance(value, Text):
        return "strings"
    text = str(getattr(value, "text", value))
    if isinstance(value, Symbol) and text.removeprefix("-")[:1].isdigit():
        return "numbers"
    return next((name for begin, name in SORTS.items() if text.startswith(begin)), "words")
