"""The parameters that ALTER SESSION sets, and the procedures that sessions may call."""

from __future__ import annotations

from protocols.read_committed.rows import StatementFailed
from protocols.read_committed.script import Statement, statement_of
from protocols.read_committed.state import Session

TRUTHS = {"true": True, "false": False}


def set_parameter(session: Session, statement: Statement) -> None:
    """Sets a parameter of a session. Raises StatementFailed: no such parameter, or no value of it."""
    name, value = statement.word("name").upper(), statement.word("value").lower()
    match name:
        case "LOCK_TIMEOUT" if value.isascii() and value.isdecimal() and len(value) < 10:
            session.lock_timeout = int(value)
        case "AUTOCOMMIT" if value in TRUTHS:
            session.autocommit = TRUTHS[value]
        case "TRANSACTION_ABORT_ON_ERROR" if value in TRUTHS:
            session.abort_on_error = TRUTHS[value]
        case "LOCK_TIMEOUT" | "AUTOCOMMIT" | "TRANSACTION_ABORT_ON_ERROR":
            raise StatementFailed(f"{value!r} is no value of {name}")
        case _:
            raise StatementFailed(
                f"no parameter {name}; there are LOCK_TIMEOUT, AUTOCOMMIT, TRANSACTION_ABORT_ON_ERROR"
            )


def procedure_of(statement: Statement) -> tuple[str, tuple[Statement, ...]]:
    """Returns name and statements of CREATE PROCEDURE p() AS '...; ...'. Raises StatementFailed."""
    head, quote, body = statement.text.partition("'")
    words = head.split()
    if not quote or not body.endswith("'") or len(words) < 4:
        raise StatementFailed(f"line {statement.line}: write CREATE PROCEDURE p() AS 'BEGIN; ...; COMMIT'")
    name = words[2].partition("(")[0].lower()
    texts = [text for text in body[:-1].replace("''", "'").split(";") if text.strip()]
    return name, tuple(statement_of(text, statement.line) for text in texts)
