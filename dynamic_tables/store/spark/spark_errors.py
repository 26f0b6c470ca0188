"""Turns errors of Spark and Delta into errors of the engine: one short line without a Java stack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dynamic_tables.errors import StoreError, WriteConflict

CONFLICT = re.compile(
    r"\w*(Concurrent|MetadataChanged)\w*Exception\b|\w+: \[DELTA_(CONCURRENT|METADATA_CHANGED)"
)
"""How the error begins by which Delta refuses a write because another writer committed first."""

TRACEBACK = "Traceback (most recent call last):"
LONGEST_CAUSE = 400
"""How many characters of an error's text are kept."""

PACKAGES = frozenset({"pyspark", "py4j", "delta", "pyarrow"})
"""The packages whose errors become errors of the engine."""


@contextmanager
def store_errors(what: str = "") -> Iterator[None]:
    """Opens a block in which an error of PACKAGES, of the file system or of a text is raised as StoreError.

    `what` names the object in the message.

    A conflict with another writer keeps the name of Delta's exception, such as ConcurrentAppendException,
    and is a WriteConflict.
    """
    try:
        yield
    except Exception as error:
        # The exception classes of py4j are no import of this package: the name of the module decides.
        of_spark = type(error).__module__.split(".")[0] in PACKAGES
        if not of_spark and not isinstance(error, OSError | UnicodeDecodeError):
            raise
        text = one_line(error)
        # By the words of Delta's error alone: `what` may hold a statement that names a table ConcurrentUsers.
        kind = WriteConflict if CONFLICT.match(text) else StoreError
        raise kind(f"{what}: {text}" if what else text) from error


def one_line(error: BaseException) -> str:
    """Returns the kind of an error and the first line of its innermost cause, shortened to LONGEST_CAUSE."""
    java = getattr(error, "java_exception", None)
    if java is None:
        name, text = type(error).__name__, str(error)
    else:
        while java.getCause() is not None:
            java = java.getCause()
        name, text = str(java.getClass().getSimpleName()), str(java.getMessage())
    if TRACEBACK in text:
        # A function in Python has raised. Its frames are indented, and the error follows them.
        text = re.sub(r"(?m)^\s.*$", "", text.rpartition(TRACEBACK)[2])
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    line = lines[0].removesuffix(" SQLSTATE:")
    return f"{name}: {line if len(line) <= LONGEST_CAUSE else line[:LONGEST_CAUSE] + ' ...'}"
