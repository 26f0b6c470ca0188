"""Statements of scripts, written for PostgreSQL."""

from __future__ import annotations

import sqlglot

from dvs_model.errors import first_line
from protocols.read_committed.evaluate.duck import DIALECT
from protocols.read_committed.rows import StatementFailed


def in_postgres(text: str) -> str:
    """Returns a statement for PostgreSQL. Raises StatementFailed: it cannot be read."""
    try:
        [written] = sqlglot.transpile(text, read=DIALECT, write="postgres")
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        raise StatementFailed(first_line(error)) from error
    return written
