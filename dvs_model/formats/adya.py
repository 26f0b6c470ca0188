"""`.adya`: one history in the text notation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Item, Parsed, Refused, decoded
from dvs_model.notation import parse


def read(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the one history of a file, or what is wrong with it."""
    data = file.read()
    try:
        history = parse(decoded(data), name)
        if not history.events:
            raise HistoryError("there is no event in it; a history looks like: w1(x1) c1 r2(x1) c2", 1, 1)
    except HistoryError as error:
        yield Refused(name, error)
    else:
        yield Parsed(history, 1)
