"""The functions of the current time in a text that runs as it is written: each is replaced by a constant.

Spark would give them the time of its own clock. A refresh to a data timestamp reads the query as of then, so
its text has this time in their places, in UTC, which is the account's time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dynamic_tables.errors import DefinitionError
from dynamic_tables.reading.text.parse import function_name, parse_query
from dynamic_tables.reading.text.spark_text import SparkText

TIME_FUNCTIONS = frozenset("current_timestamp now localtimestamp current_date curdate".split())
"""The functions whose value is the current time."""

BARE = frozenset({"current_timestamp", "current_date"})
"""Those that may stand without parentheses."""

START = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=4096)
def text_reads_time(text: str) -> bool:
    """Tells whether a query's own text reads the current time."""
    return any(function_name(call) in TIME_FUNCTIONS for call in parse_query(text).find_all(exp.Func))


def ensure_no_time_columns(text: str, columns: Iterable[str]) -> None:
    """Raises DefinitionError: a text reads the current time, and a source has a column of such a name.

    Without parentheses, `current_date` would be that column to Spark.
    """
    clashing = sorted(BARE & {column.lower() for column in columns})
    if clashing and text_reads_time(text):
        raise DefinitionError(
            f"{clashing[0]} is a column of a source, and the query reads the current time; rename the column"
        )


def at_time(text: str, timestamp: int) -> str:
    """Returns a query's text with the current time as a constant; `timestamp` in microseconds.

    >>> at_time("SELECT a FROM r WHERE d > current_date() - INTERVAL 1 DAY", 0)
    "SELECT a FROM r WHERE d > DATE '1970-01-01' - INTERVAL 1 DAY"
    """
    if not text_reads_time(text):
        return text
    tokens = SparkText().tokenize(text)
    moment = START + timedelta(microseconds=timestamp)
    for number in reversed(range(len(tokens))):
        end = _end_of_call(tokens, number)
        if end is not None:
            written = _constant(tokens[number].text.lower(), moment)
            text = text[: tokens[number].start] + written + text[tokens[end].end + 1 :]
    return text


def _constant(name: str, moment: datetime) -> str:
    """Returns the constant, of the same type, that stands for a function of the current time."""
    local = moment.replace(tzinfo=None).isoformat(sep=" ")
    match name:
        case "current_date" | "curdate":
            return f"DATE '{moment.date().isoformat()}'"
        case "localtimestamp":
            return f"TIMESTAMP_NTZ '{local}'"
        case "unix_timestamp":
            return f"unix_timestamp(TIMESTAMP '{local}')"
        case _:
            return f"TIMESTAMP '{local}'"


def _end_of_call(tokens: Sequence[Token], number: int) -> int | None:
    """Returns the place of the last token of a function of the current time; None for any other token."""
    token, name = tokens[number], tokens[number].text.lower()
    is_time = name in TIME_FUNCTIONS or name == "unix_timestamp"
    if not is_time or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return None
    before = tokens[number - 1].token_type if number else None
    if before in (TokenType.DOT, TokenType.ALIAS):
        return None
    after = [each.token_type for each in tokens[number + 1 : number + 3]]
    if after == [TokenType.L_PAREN, TokenType.R_PAREN]:
        return number + 2
    return number if name in BARE and after[:1] not in ([TokenType.L_PAREN], [TokenType.DOT]) else None
