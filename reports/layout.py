"""Generated SQL over several lines: only white space changes, and none inside a string literal."""

from __future__ import annotations

import re

from workload.sql import Dialect

INDENT = "  "

# Names are lower-case and keywords upper-case, so a keyword outside a literal is always a keyword.
clause = (
    r"SELECT DISTINCT|SELECT|FROM|WHERE|GROUP BY|HAVING|UNION ALL|WITH|(?:INNER|CROSS|LEFT|RIGHT|FULL) JOIN"
)
other = (
    rf"IS (?:NOT )?DISTINCT FROM|(?P<clause>\b(?:{clause})\b)|(?P<open>\()|(?P<close>\))|[^'()A-Z]+|[A-Z]+|."
)
standard = re.compile(rf"'(?:[^']|'')*'|{other}", re.DOTALL)
tokens = {
    Dialect.SPARK: re.compile(rf"'(?:[^'\\]|\\.|'')*'|{other}", re.DOTALL),
    Dialect.DUCKDB: standard,
    Dialect.POSTGRES: standard,
}
query_start = re.compile(r"SELECT\b|WITH\b")


def lay_out(sql: str, dialect: Dialect) -> str:
    """The same statement with each clause on its own line and sub-queries indented."""
    out: list[str] = []
    is_query: list[bool] = []
    for token in tokens[dialect].finditer(sql):
        text = token.group()
        if token["open"]:
            is_query.append(query_start.match(sql, token.end()) is not None)
        elif token["clause"] or (token["close"] and is_query and is_query.pop()):
            _new_line(out, sum(is_query))
        out.append(text)
    return "".join(out).strip()


def _new_line(out: list[str], depth: int) -> None:
    if out:
        out[-1] = out[-1].rstrip(" ")
    out.append("\n" + INDENT * depth)
