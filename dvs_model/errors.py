"""The errors of histories: one that is not well-formed, and one that cannot be judged as it is asked."""

from __future__ import annotations


class HistoryError(ValueError):
    """A text or draft is no well-formed history. `line` and `column` count from 1; None: it was no text.

    Mend the event or clause that the message names; docs/notation.md has the rules.
    """

    def __init__(self, fact: str, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}, column {column}: "
        super().__init__(f"{where}{fact}")
        self.fact, self.line, self.column = fact, line, column


class RequestError(ValueError):
    """A history cannot be read or judged as it is asked: the file, or what is asked, does not fit.

    The message has the fact and the remedy.
    """


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message; the name of its class if the message is empty."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
