"""A reader of large lines of `.jsonl` with arrays: it reads columns, and keeps what verdicts depend on.

`quick` returns None for what only the event-by-event reader (`jsonl`) understands or can explain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from dvs_model.columns.table import Ints
from dvs_model.errors import HistoryError
from dvs_model.formats import notation_columns
from dvs_model.formats.arrays import Arrays
from dvs_model.histories.draft import DraftEvent
from dvs_model.stated.part import FEW_TRANSACTIONS, Reduced, part
from dvs_model.stated.rows import ABORT, CODES, COMMIT, DERIVE, START, Written

PAIR = re.compile(rb"\"\s*:")
"""A colon after a string, as behind each key of an object. Inside of a text it makes `quick` return None."""


def quick(data: bytes, name: str, small: int = FEW_TRANSACTIONS) -> Reduced | None:
    """Returns the part of a line's history that its verdicts depend on; None: read it event by event."""
    # Imported here, because every command would start later with it.
    import orjson

    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or not isinstance(given := value.get("name", name), str):
        return None
    if value.keys() <= {"name", "text"} and isinstance(text := value.get("text"), str):
        return notation_columns.quick(text, given, small) if len(PAIR.findall(data)) == len(value) else None
    columns = _checked_columns(data, value)
    rows = None if columns is None else columns.rows()
    return None if rows is None else part(rows, given, small)


def _checked_columns(data: bytes, value: dict[str, Any]) -> Written | None:
    """Returns the events and clauses of a line as columns; None: there are others than plain ones."""
    import pyarrow as pa

    events, orders, sessions = value.get("events"), value.get("orders", []), value.get("sessions", {})
    if not value.keys() <= {"name", "events", "orders", "sessions"}:
        return None
    if not (isinstance(events, list) and isinstance(orders, list) and isinstance(sessions, dict)):
        return None
    # As many pairs as there are colons behind strings: no key is there twice.
    if not events or len(PAIR.findall(data)) != len(value) + len(sessions):
        return None
    names = Arrays("")
    try:
        return _columns(names, events, orders, sessions, pa)
    except (HistoryError, TypeError, IndexError, OverflowError, pa.ArrowException):
        return None


def _columns(
    names: Arrays, events: list[Any], orders: list[Any], sessions: Mapping[str, Any], pa: Any
) -> Written | None:
    """Returns the events and clauses; None, or an error of any sort: there are others than plain ones."""
    if set(map(type, events)) != {list}:
        return None
    lengths = np.fromiter(map(len, events), np.int64, len(events))
    letters, numbers = [event[0] for event in events], [event[1] for event in events]
    if not set(letters) <= set("sbwrdca") or set(map(type, numbers)) != {int}:
        return None
    kind = CODES[np.frombuffer("".join(letters).encode(), np.uint8)]
    txn = np.fromiter(numbers, np.int64, len(events))
    ends, derives = np.isin(kind, (START, COMMIT, ABORT)), kind == DERIVE
    sized = (lengths[ends] == 2).all() and (lengths[derives] == 4).all() and (lengths[~ends] >= 3).all()
    if not sized or lengths.max() > 4 or txn.min() < 0 or txn.max() >= 10**18:
        return None
    versions = pa.array([event[2] for event in events if len(event) > 2], pa.string())
    sources = [event[3] for event in events if event[0] == "d"]
    values = {event[3] for event in events if len(event) == 4 and event[0] != "d"}
    for value in values - {None}:
        if text := str(value).strip():
            names.named(text, "")
    flat = list(chain.from_iterable(sources))
    of_texts = [*flat, *chain.from_iterable(orders)]
    of_numbers = list(chain.from_iterable(sessions.values()))
    for name in sessions:
        names.named(name, "")
    are_lists = set(map(type, [*sources, *orders, *sessions.values()])) <= {list}
    are_plain = set(map(type, of_texts)) <= {str} and set(map(type, of_numbers)) <= {int}
    if (
        versions.null_count
        or not are_lists
        or not are_plain
        or not set(map(type, values)) <= {str, int, type(None)}
    ):
        return None

    def drafts(places: Ints) -> list[DraftEvent]:
        return [names.event(place, events[place]) for place in places.tolist()]

    return Written(kind, txn, versions, flat, list(map(len, sources)), drafts, orders, sessions)
