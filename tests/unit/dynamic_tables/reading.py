"""A small world of relations, and queries read against it as an account would read them."""

from __future__ import annotations

from dynamic_tables.differentiate.registry import RULES, ensure_supported, time_outside
from dynamic_tables.errors import UnsupportedError
from dynamic_tables.explain import declare
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.text import read_text

WORLD = declare(
    [
        "r(a INT, b STRING, n BIGINT, m DECIMAL(10,2), x DOUBLE, f BOOLEAN, d DATE, ts TIMESTAMP_NTZ)",
        "q(t TINYINT, h SMALLINT, a INT, e FLOAT, x DOUBLE, y BINARY, at TIMESTAMP, ts TIMESTAMP_NTZ)",
        "s(a INT, c STRING)",
    ],
    [
        "v=SELECT a, b FROM r",
        "w=SELECT a FROM v WHERE a > 0",
        "round1=SELECT a FROM round2",
        "round2=SELECT a FROM round1",
        "self=SELECT a FROM self",
    ],
)


def read(query: str) -> BoundQuery:
    """The plan of a query. Raises DefinitionError or UnsupportedError, whatever the refresh mode."""
    text = read_text(query, WORLD)
    try:
        bound = bind_query(query, WORLD)
        ensure_supported(bound, RULES)
        if (outside := time_outside(bound)) is not None:
            raise outside
    except UnsupportedError:
        # AUTO would run the text as it is: what may not even run so is a DefinitionError.
        text.ensure_admitted()
        raise
    return bound


def schema(query: str) -> str:
    """The output columns of a query, as text."""
    return ", ".join(f"{name} {type_}" for name, type_ in read(query).schema)
