"""Whether an old version can still be read: what VACUUM and log cleanup may have taken away."""

from __future__ import annotations

import uuid
from urllib.parse import unquote

from dynamic_tables.store.files import Files
from dynamic_tables.store.log import TableLog

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def is_readable(log: TableLog, files: Files, version: int) -> bool:
    """Whether Delta can rebuild the version and every file is there that was removed after it.

    VACUUM deletes no file of the newest version, so of an older one only files that later commits took
    out can be gone. Nothing is opened: a damaged file is not seen.
    """
    if not log.reaches(version):
        return False
    for commit in log.commits:
        if commit.version > version:
            for path, vector in commit.removed:
                if not files.exists(absolute(log.folder, path)):
                    return False
                if vector is not None and not files.exists(f"{log.folder}/{vector_file(vector)}"):
                    return False
    return True


def absolute(folder: str, path: str) -> str:
    """A data file's path as the log writes it (a URI, usually relative), as a path."""
    path = unquote(path)
    return path if path.startswith("/") or "://" in path else f"{folder}/{path}"


def vector_file(encoded: str) -> str:
    """The file of a deletion vector, relative: an optional folder, then a UUID in base 85 (Delta)."""
    prefix, digits = encoded[:-20], encoded[-20:]
    data = bytearray()
    for start in range(0, 20, 5):
        number = 0
        for digit in digits[start : start + 5]:
            number = number * 85 + Z85.index(digit)
        data += number.to_bytes(4, "big")
    name = f"deletion_vector_{uuid.UUID(bytes=bytes(data))}.bin"
    return f"{prefix}/{name}" if prefix else name
