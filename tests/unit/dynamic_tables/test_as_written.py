"""Texts that sqlglot reads in another way than Spark, or that a check took for something else."""

from __future__ import annotations

import pytest

from dynamic_tables.define import read_query
from dynamic_tables.definition import BaseTable, fingerprint
from dynamic_tables.differentiate.registry import RULES
from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.nodes import Aggregate, walk
from dynamic_tables.plan.types import BOOLEAN, DATE, INT, STRING, Type
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.current_time import at_time
from dynamic_tables.reading.text.text import read_text

R = BaseTable("r", (("a", INT), ("b", STRING), ("d", DATE)))


@pytest.mark.parametrize(
    ("call", "constant"),
    [
        ("now()", "TIMESTAMP '2026-11-27 23:59:59.000001'"),
        ("CURRENT_TIMESTAMP", "TIMESTAMP '2026-11-27 23:59:59.000001'"),
        ("localtimestamp ()", "TIMESTAMP_NTZ '2026-11-27 23:59:59.000001'"),
        ("current_date", "DATE '2026-11-27'"),
        ("curdate()", "DATE '2026-11-27'"),
        ("unix_timestamp()", "unix_timestamp(TIMESTAMP '2026-11-27 23:59:59.000001')"),
        ("'now()' || now()", "'now()' || TIMESTAMP '2026-11-27 23:59:59.000001'"),
        ("unix_timestamp(d) + `current_date`", "unix_timestamp(d) + `current_date`"),
    ],
)
def test_the_current_time_is_a_constant_in_a_text(call: str, constant: str) -> None:
    time = 1_795_823_999_000_001
    assert at_time(f"SELECT {call} AS now FROM r", time) == f"SELECT {constant} AS now FROM r"
    read_text(f"SELECT {call} AS now FROM r", {"r": R}).ensure_admitted()


def test_a_column_named_as_the_current_time_is_refused_beside_it() -> None:
    source = BaseTable("r", (("a", INT), ("current_date", DATE)))
    with pytest.raises(DefinitionError, match=r"^current_date is a column of a source, and the query reads"):
        read_query("SELECT a FROM r WHERE current_date = DATE '2026-01-01'", {"r": source}, RULES)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT to_json(struct(*)) AS y FROM r",
        "SELECT SUM(hash(*)) AS y FROM r",
        "SELECT x || '' AS y FROM r AS q(x, z, w)",
        "WITH c(x, z, w) AS (SELECT * FROM r) SELECT x || '' AS y FROM c",
        "SELECT a || '' AS y FROM r",
    ],
)
def test_a_column_of_another_type_shows_in_the_fingerprint(text: str) -> None:
    def of(type_: Type) -> str:
        source = BaseTable("r", (("a", type_), ("b", STRING), ("d", DATE)))
        return fingerprint((text,), (("y", STRING),), [source])

    assert of(INT) != of(DATE)


def test_what_nobody_reads_does_not_show_in_the_fingerprint() -> None:
    text = "SELECT b FROM (SELECT * FROM r) AS q"
    more = BaseTable("r", (*R.columns, ("e", INT)))
    assert fingerprint((text,), (("b", STRING),), [R]) == fingerprint((text,), (("b", STRING),), [more])


def test_patterns_of_like_any_are_no_aggregate() -> None:
    """Only Spark evaluates them, over one row each."""
    world = {"r": R, "q": BaseTable("q", (("x", INT), ("y", STRING)))}

    def type_of(text: str, columns: object) -> Type:
        return BOOLEAN

    texts = (
        "SELECT b LIKE ANY ('x%') AS m, (SELECT MAX(x) FROM q) AS z FROM r",
        "SELECT b LIKE ANY ('x%') AS m, EXISTS (SELECT 1 FROM q WHERE x = a) AS e FROM r",
        "SELECT a, (SELECT y LIKE ANY ('x%') FROM q WHERE x = a) AS z FROM r",
        "SELECT a FROM r WHERE EXISTS (SELECT y LIKE ANY ('b%') FROM q WHERE x = a)",
        "SELECT a, b, d FROM r ORDER BY b LIKE ANY ('x%'), a, b, d LIMIT 3",
    )
    for text in texts:
        assert bind_query(text, world, type_of).schema
    lateral = "SELECT a, z FROM r JOIN LATERAL (SELECT 'b' LIKE ANY ('b%') AS z FROM q WHERE x = a) ON TRUE"
    assert not any(isinstance(node, Aggregate) for node in walk(bind_query(lateral, world, type_of).plan))
