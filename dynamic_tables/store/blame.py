"""Tells whether the query or the system is to blame for a refresh that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynamic_tables.errors import (
    CorruptTable,
    DefinitionError,
    EngineMistake,
    KeyNotUnique,
    UnsupportedError,
    ValidationFailed,
)
from dynamic_tables.schedule.failing import Blame

USERS = frozenset({"07", "0A", "21", "22", "23", "42", "46"})
"""Classes of SQLSTATE that say that the query, or the data it meets, is wrong; 22 is an error in the data."""

STATE = re.compile(r"SQLSTATE: (\w{5})")
"""Finds the SQLSTATE in a message of Spark: five characters, of which two are the class."""

RAISED = "PythonException: "
"""How Spark names what a function in Python has raised."""

MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of Python by which a mistake shows itself, of the engine or of a library."""

OURS = (
    CorruptTable,
    DefinitionError,
    EngineMistake,
    KeyNotUnique,
    UnsupportedError,
    ValidationFailed,
)
"""Errors of the engine that another attempt at the same data timestamp would meet again."""


def blame_of(error: BaseException) -> Blame:
    """Returns USER if the same refresh would fail again, as for a division by zero or a dropped source.

    Everything else is SYSTEM: a full disk, a lost connection, a conflict with another writer.
    """
    for cause in _causes(error):
        if RAISED in f"{type(cause).__name__}: {cause}":
            # A function of one's own has raised.
            return Blame.USER
        if isinstance(cause, OURS) or type(cause).__module__.split(".")[0] in ("duckdb", "_duckdb"):
            return Blame.USER
        state = STATE.search(str(cause))
        if state is not None:
            return Blame.USER if state[1][:2] in USERS else Blame.SYSTEM
    return Blame.SYSTEM


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error, the error that caused it, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
