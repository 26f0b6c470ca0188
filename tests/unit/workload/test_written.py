"""Texts in the styles of people."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.ir import agg, call, columns, count_star, derived, join, named, select, table
from workload.query import JoinKind, Query
from workload.schema import Column
from workload.sql import written_query
from workload.types import BIGINT, INT

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


GROUPS = select({"k": s["k"], "n": count_star()}, named("s"), group_by=[s["k"], s["b"]])
g = columns((Column("k", INT), Column("n", BIGINT)), "g")


def test_exists_asks_for_groups_that_are_tied_to_the_row() -> None:
    """What is compared with a key is a condition of WHERE, with an aggregate one of HAVING."""
    on = call("and", call("eq", r["k"], g["k"]), call("gt", g["n"], r["a"]))
    written = texts(select({"k": r["k"]}, join(JoinKind.ANTI, named("r"), derived(GROUPS, "g"), on)), NAMES)
    tied = (
        r"not exists \(select \S+( s\.b)? from s where r\.k ={1,2} s\.k "
        r"group by s\.k, s\.b having count\(\*\) > r\.a\)"
    )
    assert re.search(tied, re.sub(r"[`\s]+", " ", written))


def test_a_scalar_subquery_may_be_tied_by_an_inequality() -> None:
    """Groups of the different values of a column: the subquery is computed for each value."""
    again = columns(table("r", k=INT, a=INT), "m")
    values = select({"x": again["k"]}, named("r", "m"), distinct=True)
    v, sums = columns((Column("x", INT),), "v"), columns((Column("x", INT), Column("n", BIGINT)), "t")
    both = join(JoinKind.INNER, derived(values, "v"), named("s"), on=call("le", s["k"], v["x"]))
    groups = select({"x": v["x"], "n": agg("SUM", s["b"])}, both, group_by=[v["x"]])
    beside = join(JoinKind.LEFT, named("r"), derived(groups, "t"), on=call("same", r["k"], sums["x"]))
    query = select({"a": r["a"], "n": sums["n"]}, beside)
    written = re.sub(r"[`\s]+", " ", texts(query, NAMES))
    assert re.search(r"\(select sum\(s\.b\) from s where s\.k <= r\.k\)", written)
    other = replace(query, source=replace(beside, on=call("same", r["a"], sums["x"])))
    assert "(select sum(s.b)" not in re.sub(r"[`\s]+", " ", texts(other, NAMES))
