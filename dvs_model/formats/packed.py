"""Files that are compressed with gzip or zstd, read as what is in them."""

from __future__ import annotations

import io

from dvs_model.errors import HistoryError

KINDS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""What such files begin with."""

SUFFIXES = (".gz", ".zst")


def bare(name: str) -> str:
    """Returns the name of a file without the suffix that says how it is compressed."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def unpacked(file: io.BufferedReader, name: str = "") -> io.BufferedReader:
    """Returns a file, or what a compressed one holds. Raises HistoryError: it is damaged, or cut off.

    `name`: of the file, where those who report the error do not know it.
    """
    kind = next((kind for begin, kind in KINDS.items() if file.peek(4)[:4].startswith(begin)), None)
    if kind is None:
        return file
    # Imported here, because most files are not compressed.
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(file, kind) as stream:
            return io.BufferedReader(io.BytesIO(stream.read()))
    except OSError as error:
        raise HistoryError(f"{name}{': ' if name else ''}no whole {kind} file: {error}") from error
