"""The current time in queries: a call whose value is the data timestamp at which the query is evaluated.

An engine gets a function of the current time in its text. A judge gets a constant in its place, so that it
needs no clock: delayed view semantics say that the current time of a refresh is its data timestamp.
"""

from __future__ import annotations

import datetime as dt
import re

from workload.errors import WorkloadError
from workload.query import Call, Literal, N, Node, Verbatim, changed, walk
from workload.sql.functions import NOW
from workload.types import BIGINT, Kind, SqlType

START = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # values of scenarios are in UTC, without a zone
"""The moment of timestamp 0."""


WRITTEN = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/"
    r"|\b(?P<call>current_timestamp|now|localtimestamp|current_date|curdate)\s*\(\s*\)"
    r"|\b(?P<bare>current_timestamp|localtimestamp|current_date)\b(?!\s*\()",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the current time in a text; and strings, quoted names and comments, which may only look like it."""


def current_time(offset: int, type_: SqlType) -> Call:
    """Returns the current time plus so many microseconds, as a DATE, TIMESTAMP or TIMESTAMP_NTZ."""
    return Call(NOW, (Literal(offset, BIGINT),), type_)


def reads_time(node: Node) -> bool:
    """Tells whether some expression of a query reads the current time."""
    return any(
        (isinstance(part, Call) and part.function == NOW)
        or (isinstance(part, Verbatim) and text_at(part.text, 0) != part.text)
        for part in walk(node)
    )


def at_time(node: N, timestamp: int) -> N:
    """Returns the query with `timestamp`, in microseconds, as the current time. Raises WorkloadError."""

    def constant(part: Node) -> Node | None:
        match part:
            case Call(function, (Literal(int() as offset, _),), type_) if function == NOW:
                try:
                    moment = START + dt.timedelta(microseconds=timestamp + offset)
                except OverflowError as error:
                    raise WorkloadError(f"{timestamp} and {offset} microseconds are no time") from error
                return Literal(moment.date() if type_.kind is Kind.DATE else moment, type_)
            case Verbatim(text=text, translated=translated):
                read = tuple(changed(source, constant) for source in part.sources)
                texts = (text_at(text, timestamp), text_at(translated, timestamp))
                return Verbatim(*texts, read, part.columns)
            case _:
                return None

    return changed(node, constant)


def text_at(text: str, timestamp: int) -> str:
    """Returns a text of SQL with `timestamp`, in microseconds, as the current time."""
    moment = START + dt.timedelta(microseconds=timestamp)

    def constant(found: re.Match[str]) -> str:
        name = (found["call"] or found["bare"] or "").lower()
        match name:
            case "":
                return found[0]
            case "current_date" | "curdate":
                return f"DATE '{moment.date()}'"
            case "localtimestamp":
                return f"TIMESTAMP_NTZ '{moment}'"
            case _:
                return f"TIMESTAMP '{moment}'"

    return WRITTEN.sub(constant, text)
