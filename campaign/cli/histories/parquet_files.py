"""Parquet with operations of clients, of which some is larger than memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dvs_model.formats import table
from dvs_model.formats.reader import Item


def within(file: BinaryIO, name: str, memory: int) -> Iterator[Item]:
    """Yields the histories of a file; if one needs more memory, its operations lie in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="dvs-history-") as folder:
        yield from table.read(file, name, None, folder=Path(folder), memory=memory)
