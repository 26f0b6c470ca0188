"""Texts in the styles of people."""

from __future__ import annotations

from tests.ir import call, columns, join, named, select, table
from workload.query import JoinKind, Query
from workload.sql import written_query
from workload.types import INT

NAMES = {"r": ["k", "a"], "s": ["k", "b"]}
r, s = columns(table("r", k=INT, a=INT)), columns(table("s", k=INT, b=INT))


def texts(query: Query, names: dict[str, list[str]]) -> str:
    """The query in two hundred styles, in lower case."""
    return "\n".join(written_query(query, style, names) for style in range(1, 200)).lower()


def joined_on_k(kind: JoinKind) -> Query:
    return select({"k": r["k"]}, join(kind, named("r"), named("s"), on=call("eq", r["k"], s["k"])))


def test_natural_stands_for_an_equation_of_all_shared_names() -> None:
    assert "natural join" in texts(joined_on_k(JoinKind.INNER), NAMES)
    assert "natural left outer join" in texts(joined_on_k(JoinKind.LEFT), NAMES)


def test_natural_is_not_written_where_it_would_equate_more() -> None:
    written = texts(joined_on_k(JoinKind.INNER), {"r": ["k", "a"], "s": ["k", "a"]})
    assert "natural" not in written
    assert "using" in written
