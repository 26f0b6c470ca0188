"""Histories as arrays of JSON, one for each event: `["w", 1, "x1"]`, `["d", 3, "y3", ["x1"]]`, `["c", 1]`."""

from __future__ import annotations

import json
import re
from typing import Any

from dvs_model.errors import HistoryError
from dvs_model.histories.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session
from dvs_model.notation.scan import Scanner

_NAME = re.compile(r"[^()\[\]:;,|\s](?:[^()\[\]:;,|]*[^()\[\]:;,|\s])?")
"""A name or value that the notation can hold."""


def shown(value: object) -> str:
    """Returns a value of JSON for a message: the beginning of a long one."""
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
        what = f"event {number}, {shown(event)}"
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
            raise HistoryError(f"{what}: {shown(text)} is empty, has blanks around it, or ( ) [ ] : ; , |")

    def version(self, value: object, what: str) -> Name:
        """Returns the version of a text such as `x1`."""
        if not isinstance(value, str):
            raise HistoryError(f"{what}: a version is text such as x1, not {shown(value)}")
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
        raise HistoryError(f"{what}: expected an array, not {shown(value)}")

    def sized(self, value: object, low: int, high: int, what: str) -> list[Any]:
        """Returns an array of `low` to `high` items."""
        items = self.array(value, what)
        if not low <= len(items) <= high:
            raise HistoryError(f"{what}: expected {low} to {high} items, not {len(items)}")
        return items

    def mapping(self, value: dict[str, Any], key: str) -> list[tuple[str, Any]]:
        """Returns the items of the object under a key, whose names the notation must be able to hold."""
        inner = value.get(key, {})
        if not isinstance(inner, dict):
            raise HistoryError(f"{key} is an object, not {shown(inner)}")
        for name in inner:
            self.named(name, key)
        return list(inner.items())
