"""Files of histories: opens them, recognises their formats by names and contents, and reads them."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dvs_model.errors import HistoryError, RequestError
from dvs_model.formats import delta
from dvs_model.formats.packed import bare, unpacked
from dvs_model.formats.reader import Item, Refused
from dvs_model.formats.registry import FORMATS, HEAD, folder, recognised, runs


def histories(
    files: Sequence[Path], format_: str, workload: str | None = None, memory: int | None = None
) -> Iterator[tuple[str, Item]]:
    """Yields the histories of all files, each with its file. Raises RequestError: one cannot be opened.

    `memory`: bytes that a history may take; of Parquet that needs more, the operations are read from a
    temporary folder, one share of the keys after the other.
    """
    tables = [path for path in files if _is_delta(path, format_)]
    if tables:
        # Transactions may write several tables: all of them are one history.
        name = ", ".join(map(str, tables))
        yield name, delta.read(tables, name)
    for path in _runs([path for path in files if path not in tables]):
        name = "stdin" if str(path) == "-" else str(path)
        inside = folder(path, format_, name)
        if inside is not None and not isinstance(inside, Path):
            for item in inside:
                yield name, item
            continue
        try:
            for item in _items(inside or path, name, format_, workload, memory):
                yield name, item
        except HistoryError as error:
            yield name, Refused(name, error)


def _items(path: Path, name: str, format_: str, workload: str | None, memory: int | None) -> Iterator[Item]:
    """Yields the histories of one file. Raises RequestError or HistoryError: it cannot be read."""
    with opened(path) as file:
        known = (
            recognised(bare(path.name), file.peek(HEAD)[:HEAD]) if format_ == "auto" else FORMATS.get(format_)
        )
        if known is None:
            raise RequestError(f"{path} is no folder; {format_} reads folders")
        if known is FORMATS["parquet"] and memory is not None and path.is_file():
            # What reads Parquet loads pyarrow, which takes longer than to judge a small history.
            from dvs_model.formats import table

            with tempfile.TemporaryDirectory(prefix="dvs-history-") as shares:
                yield from table.read(file, name, None, folder=Path(shares), memory=memory)
        else:
            yield from known.read(file, "stdin" if str(path) == "-" else bare(str(path)), workload)


def _runs(files: Sequence[Path]) -> Iterator[Path]:
    """Yields the files; instead of a folder above Jepsen's runs each run, by name."""
    for path in files:
        yield from runs(path) or [path]


def _is_delta(path: Path, format_: str) -> bool:
    """Tells whether a folder is to be read as a Delta account or table."""
    return format_ == "delta" or (format_ == "auto" and (path / "_delta_log").is_dir())


FIFO_WAIT_S = 5.0
"""How long a read waits for a FIFO that nobody has opened to write."""


def _fifo(path: Path) -> io.BufferedReader:
    """Returns what is written to a FIFO. Raises RequestError: nobody writes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", buffering=0) as raw:
        end = time.monotonic() + FIFO_WAIT_S
        # Without a writer a FIFO is at its end; with one that has written nothing yet there is no answer.
        while (first := raw.read(1)) == b"" and time.monotonic() < end:
            time.sleep(0.02)
        if first == b"":
            raise RequestError(
                f"cannot read {path}: a FIFO to which nobody has written for {FIFO_WAIT_S:.0f} s"
            )
        os.set_blocking(descriptor, True)
        return io.BufferedReader(io.BytesIO((first or b"") + raw.readall()))


@contextmanager
def opened(path: Path, name: str = "") -> Iterator[io.BufferedReader]:
    """Opens a file, or standard input for -. Raises RequestError: the file cannot be read.

    `name`: as in `unpacked`.
    """
    if str(path) == "-":
        given = sys.stdin.buffer
        if not isinstance(given, io.BufferedReader):
            given = io.BufferedReader(io.BytesIO(given.read()))
        yield unpacked(given, name)
        return
    try:
        with _fifo(path) if path.is_fifo() else path.open("rb") as file:
            yield unpacked(file, name)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error
