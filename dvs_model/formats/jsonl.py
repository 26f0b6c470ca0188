"""`.jsonl`: one history a line, as text or, for big ones, its events as arrays.

`{"name": ..., "text": "w1(x1) c1 .."}`, or `{"name": ..., "events": [["w", 1, "x1"], ["r", 2, "x1"],
["d", 3, "y3", ["x1"]], ["r", 2, "P", ["x1", "y0"], ["x1"]], ["c", 1]], "orders": [["x1", "x2"]],
"matches": {"P": ["x1"]}, "sessions": {"a": [1, 2]}, "precedes": [[1, 2]]}`; a value may follow a version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.formats.arrays import Arrays, shown
from dvs_model.formats.reader import LARGE_FILE, Item, Parsed, Refused, Whole, decoded, json_value
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.history import History
from dvs_model.notation import parse

KEYS = ("name", "text", "events", "orders", "matches", "sessions", "precedes")


def read(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the histories of a file in its order; after a refused line the next one is read."""
    number, any_line = 0, False
    while data := file.readline():
        number += 1
        if not data.strip():
            continue
        any_line = True
        label = f"{name}:{number}"
        try:
            yield _large(data, label, number) or Parsed(line(decoded(data, number), label, number), number)
        except HistoryError as error:
            yield Refused(label, error)
    if not any_line:
        yield Refused(name, HistoryError('no history in it; a line looks like {"text": "w1(x1) c1"}', 1, 1))


def _large(data: bytes, label: str, number: int) -> Parsed | None:
    """Returns the part of a large history that its verdicts depend on; None: read it event by event."""
    if len(data) < LARGE_FILE:
        return None
    # Imported here, because every command would start later with it.
    from dvs_model.formats.jsonl_columns import quick

    found = quick(data, label)
    if found is None:
        return None
    whole = Whole(found.size, lambda: line(decoded(data, number), label, number))
    return Parsed(found.history, number, whole=whole)


def line(text: str, name: str, number: int) -> History:
    """Returns the history of one line. Raises HistoryError with the line of the file."""
    value = loaded(text, number)
    try:
        given = value.get("name", name)
        if not isinstance(given, str):
            raise HistoryError(f"name is text, not {shown(given)}")
        history = _history(value, given)
        if not history.events:
            raise HistoryError("there is no event in it")
    except HistoryError as error:
        inside = "" if error.line is None else f"in the text at line {error.line}, column {error.column}: "
        raise HistoryError(f"{inside}{error.fact}", number, 1) from None
    return history


def loaded(text: str, number: int) -> dict[str, Any]:
    """Returns the JSON object of a line. Raises HistoryError: it is none, or has an unknown key."""
    value = json_value(text, number)
    if not isinstance(value, dict):
        raise HistoryError(f"a line is an object with text or events, not {shown(value)}", number, 1)
    unknown = [key for key in value if key not in KEYS]
    if unknown:
        raise HistoryError(f"unknown key {unknown[0]!r}; known are {', '.join(KEYS)}", number, 1)
    return value


def _history(value: dict[str, Any], name: str) -> History:
    """Returns the history of an object, from its text or its events. Raises HistoryError."""
    if "text" in value:
        if not isinstance(value["text"], str):
            raise HistoryError(f"text is a string, not {shown(value['text'])}")
        if set(value) - {"name", "text"}:
            raise HistoryError("text stands alone: clauses are part of it")
        return parse(value["text"], name)
    if isinstance(value.get("events"), list):
        return well_formed(Arrays(name).draft(value))
    raise HistoryError("neither text (a string) nor events (an array) in it")
