"""`.adya`: one history in the text notation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.formats.reader import LARGE_FILE, Item, Parsed, Refused, Whole, decoded
from dvs_model.notation import parse


def read(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the one history of a file, or what is wrong with it."""
    data = file.read()
    try:
        text = decoded(data)
        if large := _large(text, name):
            yield large
            return
        history = parse(text, name)
        if not history.events:
            raise HistoryError("there is no event in it; a history looks like: w1(x1) c1 r2(x1) c2", 1, 1)
    except HistoryError as error:
        yield Refused(name, error)
    else:
        yield Parsed(history, 1)


def _large(text: str, name: str) -> Parsed | None:
    """Returns the part of a large history that its verdicts depend on; None: read it event by event."""
    if len(text) < LARGE_FILE:
        return None
    # Imported here, because every command would start later with it.
    from dvs_model.formats.notation_columns import quick

    found = quick(text, name)
    if found is None:
        return None
    return Parsed(found.history, 1, whole=Whole(found.size, lambda: parse(text, name)))
