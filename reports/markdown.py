"""Pieces of Markdown around any text; no text can end its piece or become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reports.visible import one_line, visible

# An underscore inside a word is no markup.
special = re.compile(r"[\\`*\[\]<#|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def plain(text: str) -> str:
    """Returns text on one line, its Markdown and HTML escaped; it is not safe at the start of a line."""
    return special.sub(r"\\\g<0>", one_line(text))


def code(text: str) -> str:
    """Returns inline code on one line; a bar (|) is escaped, so that the code may stand in a table."""
    text = one_line(text)
    ticks = "`" * (_longest_run(text) + 1)
    padding = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{padding}{text}{padding}{ticks}".replace("|", "\\|")


def fence(content: str, language: str = "") -> str:
    """Returns a fenced code block; its fence is longer than any run of backticks inside."""
    content = visible(content)
    ticks = "`" * max(3, _longest_run(content) + 1)
    return f"{ticks}{language}\n{content}\n{ticks}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table; its cells must be Markdown already (`plain`, `code`)."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
