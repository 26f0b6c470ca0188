"""`.jsonl`: one history a line, as text or, for big ones, its events as arrays.

`{"name": ..., "text": "w1(x1) c1 .."}`, or `{"name": ..., "events": [["w", 1, "x1"], ["r", 2, "x1"],
["d", 3, "y3", ["x1"]], ["r", 2, "P", ["x1", "y0"], ["x1"]], ["c", 1]], "orders": [["x1", "x2"]],
"matches": {"P": ["x1"]}, "sessions": {"a": [1, 2]}, "precedes": [[1, 2]]}`; a value may follow a version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from dvs_model.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session
from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Item, Parsed, Refused, decoded
from dvs_model.history import History
from dvs_model.notation import parse
from dvs_model.notation.scan import Scanner
from dvs_model.wellformed import well_formed

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NAME = re.compile(r"[^()\[\]:;,|\s](?:[^()\[\]:;,|]*[^()\[\]:;,|\s])?")
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
            yield Parsed(line(decoded(data, number), label, number), number)
        except HistoryError as error:
            yield Refused(label, error)
    if not any_line:
        yield Refused(name, HistoryError('no history in it; a line looks like {"text": "w1(x1) c1"}', 1, 1))


def line(text: str, name: str, number: int) -> History:
    """Returns the history of one line. Raises HistoryError with the line of the file."""
    value = loaded(text, number)
    try:
        given = value.get("name", name)
        if not isinstance(given, str):
            raise HistoryError(f"name is text, not {_shown(given)}")
        history = _history(value, given)
        if not history.events:
            raise HistoryError("there is no event in it")
    except HistoryError as error:
        inside = "" if error.line is None else f"in the text at line {error.line}, column {error.column}: "
        raise HistoryError(f"{inside}{error.fact}", number, 1) from None
    return history


def loaded(text: str, number: int) -> dict[str, Any]:
    """Returns the JSON object of a line. Raises HistoryError: it is none, or has an unknown key."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except _Wrong as error:
        raise HistoryError(str(error), number, 1) from None
    except json.JSONDecodeError as error:
        raise HistoryError(f"no JSON: {error.msg}", number, error.colno) from None
    except (RecursionError, ValueError) as error:
        # Brackets of thousands of levels, or a number of thousands of digits.
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number too long to be read"
        raise HistoryError(f"no history: JSON {reason}", number, 1) from None
    if _SURROGATE.search(text):
        _encodable(value, number)
    if not isinstance(value, dict):
        raise HistoryError(f"a line is an object with text or events, not {_shown(value)}", number, 1)
    unknown = [key for key in value if key not in KEYS]
    if unknown:
        raise HistoryError(f"unknown key {unknown[0]!r}; known are {', '.join(KEYS)}", number, 1)
    return value


class _Wrong(Exception):
    """JSON that some readers take and this one does not."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Wrong(f"the key {_shown(twice)} is there twice in one object")
    return found


def _no_number(text: str) -> None:
    raise _Wrong(f"{text} is no JSON")


def _history(value: dict[str, Any], name: str) -> History:
    if "text" in value:
        if not isinstance(value["text"], str):
            raise HistoryError(f"text is a string, not {_shown(value['text'])}")
        if set(value) - {"name", "text"}:
            raise HistoryError("text stands alone: clauses are part of it")
        return parse(value["text"], name)
    if isinstance(value.get("events"), list):
        return well_formed(Arrays(name).draft(value))
    raise HistoryError("neither text (a string) nor events (an array) in it")


def _encodable(value: object, number: int) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise HistoryError("half a character (a lone surrogate) in a string", number, 1) from None


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Arrays:
    """Reads a draft from arrays. Every method raises HistoryError."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names = Scanner("", name)

    def draft(self, value: dict[str, Any]) -> Draft:
        """Returns the draft of a line."""
        draft = Draft(self.name)
        draft.events = [self.event(number, event) for number, event in enumerate(value["events"])]
        for chain in self.array(value.get("orders", []), "orders"):
            draft.chains.append(Chain(self.versions(chain, "orders")))
            if not chain:
                raise HistoryError("orders: an empty version order")
        for predicate, versions in self.mapping(value, "matches"):
            draft.matches.append(Matches(predicate, self.versions(versions, "matches")))
        for session, txns in self.mapping(value, "sessions"):
            if not txns:
                raise HistoryError(f"session {session}: no transaction in it")
            numbers = tuple(self.txn(txn, f"session {session}") for txn in self.array(txns, "sessions"))
            draft.sessions.append(Session(session, numbers))
        for pair in self.array(value.get("precedes", []), "precedes"):
            before, after = self.sized(pair, 2, 2, "precedes")
            draft.precedes.append(Precedes(self.txn(before, "precedes"), self.txn(after, "precedes")))
        return draft

    def event(self, number: int, event: object) -> DraftEvent:
        """Returns the event of an array such as `["w", 1, "x1"]`."""
        what = f"event {number}, {_shown(event)}"
        items = self.sized(event, 2, 5, what)
        kind, txn = items[0], self.txn(items[1], what)
        rest = items[2:]
        if kind in ("c", "a", "s", "b") and not rest:
            return DraftEvent("s" if kind == "b" else str(kind), txn)
        if kind == "d" and len(rest) == 2:
            return DraftEvent("d", txn, (self.version(rest[0], what),), self.versions(rest[1], what))
        if kind in ("r", "w") and len(rest) in (2, 3) and isinstance(rest[1], list):
            if not isinstance(rest[0], str):
                raise HistoryError(f"{what}: a predicate has a name")
            self.named(rest[0], what)
            matched = self.versions(rest[2], what) if len(rest) == 3 else None
            return DraftEvent(kind.upper(), txn, self.versions(rest[1], what), matched, rest[0])
        if kind in ("r", "rc", "w") and len(rest) in (1, 2):
            value = None if len(rest) == 1 or rest[1] is None else str(rest[1]).strip()
            if value:
                self.named(value, what)
            return DraftEvent(str(kind), txn, (self.version(rest[0], what),), None, "", value)
        raise HistoryError(f'{what}: no event; write ["w", 1, "x1"], ["d", 3, "y3", ["x1"]], or ["c", 1]')

    def txn(self, value: object, what: str) -> int:
        """Returns the number of a transaction."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**18:
            return value
        raise HistoryError(f"{what}: a transaction is a number from 0, of 18 digits at most")

    def named(self, text: str, what: str) -> None:
        """Checks a name or value: the notation must be able to hold it too."""
        if _NAME.fullmatch(text) is None:
            raise HistoryError(f"{what}: {_shown(text)} is empty, has blanks around it, or ( ) [ ] : ; , |")

    def version(self, value: object, what: str) -> Name:
        """Returns the version of a text such as `x1`."""
        if not isinstance(value, str):
            raise HistoryError(f"{what}: a version is text such as x1, not {_shown(value)}")
        return self.names.version(value, -1)

    def versions(self, value: object, what: str) -> tuple[Name, ...]:
        """Returns the versions that a JSON array names.

        Raises HistoryError: the value is not an array, or an item of it is not the text of a version.
        """
        return tuple(self.version(item, what) for item in self.array(value, what))

    def array(self, value: object, what: str) -> list[Any]:
        """Checks that a value is an array, and returns it."""
        if isinstance(value, list):
            return value
        raise HistoryError(f"{what}: expected an array, not {_shown(value)}")

    def sized(self, value: object, low: int, high: int, what: str) -> list[Any]:
        """Returns an array of `low` to `high` items."""
        items = self.array(value, what)
        if not low <= len(items) <= high:
            raise HistoryError(f"{what}: expected {low} to {high} items, not {len(items)}")
        return items

    def mapping(self, value: dict[str, Any], key: str) -> list[tuple[str, Any]]:
        """Returns the items of an object, which are names with something."""
        inner = value.get(key, {})
        if not isinstance(inner, dict):
            raise HistoryError(f"{key} is an object, not {_shown(inner)}")
        for name in inner:
            self.named(name, key)
        return list(inner.items())
