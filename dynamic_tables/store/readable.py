"""Tells whether an old version can still be read, or VACUUM or log cleanup has removed parts of it."""

from __future__ import annotations

import base64
import uuid
from urllib.parse import unquote

from dynamic_tables.store.files import Files
from dynamic_tables.store.log import TableLog

# Python's base 85 and Z85, which Delta uses, differ only in their digits.
FROM_Z85 = str.maketrans(
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)


def is_readable(log: TableLog, files: Files, version: int) -> bool:
    """Tells whether Delta can rebuild the version and all its files exist.

    VACUUM deletes no file of the newest version, so only files that later commits removed can be missing.
    No file is opened: a damaged file is not noticed.
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
    """Returns the path of a data file that the log writes as a URI, usually relative to the table."""
    path = unquote(path)
    return path if path.startswith("/") or "://" in path else f"{folder}/{path}"


def vector_file(encoded: str) -> str:
    """Returns the relative path of a deletion vector from Delta's encoding of it.

    The encoding is an optional folder, then a UUID in 20 digits of base 85 (Z85).
    """
    prefix, digits = encoded[:-20], encoded[-20:]
    name = f"deletion_vector_{uuid.UUID(bytes=base64.b85decode(digits.translate(FROM_Z85)))}.bin"
    return f"{prefix}/{name}" if prefix else name
