"""How explode, posexplode, inline and LATERAL joins are read: their columns, and what is refused."""

from __future__ import annotations

import pytest

from dynamic_tables.differentiate.registry import RULES, ensure_supported
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.nested_types import array_type, element_of, fields_of, pair_of, struct_type
from dynamic_tables.plan.nodes import BoundQuery, Explode, Filter, Join, JoinKind, walk
from dynamic_tables.plan.types import INT, STRING, Kind, Type
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.relations import Relations, StoredRelation

STRUCT = "STRUCT<p:INT,`q``,>:`:STRING>"


def other(name: str) -> Type:
    return Type(Kind.OTHER, name=name)


WORLD: Relations = {
    "t": StoredRelation(
        "t",
        (
            ("k", INT),
            ("x", other("ARRAY<INT>")),
            ("z", other(f"ARRAY<{STRUCT}>")),
            ("m", other("MAP<INT,STRING>")),
        ),
    ),
    "s": StoredRelation("s", (("k", INT), ("c", INT))),
}


def read(query: str) -> BoundQuery:
    bound = bind_query(query, WORLD)
    ensure_supported(bound, RULES)
    return bound


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT k, e FROM t LATERAL VIEW explode(x) v AS e", "k INT, e INT"),
        ("SELECT k, e FROM t LATERAL VIEW explode(x) v e WHERE v.e > 1", "k INT, e INT"),
        ("SELECT v.* FROM t LATERAL VIEW explode(x) v", "col INT"),
        ("SELECT v.* FROM t LATERAL VIEW OUTER posexplode(x) v", "pos INT, col INT"),
        ("SELECT v.* FROM t LATERAL VIEW explode(m) v", "key INT, value STRING"),
        ("SELECT v.* FROM t LATERAL VIEW inline(z) v AS a, b", "a INT, b STRING"),
        (
            "SELECT e, f FROM t LATERAL VIEW explode(x) v AS e LATERAL VIEW explode(array(e)) w AS f",
            "e INT, f INT",
        ),
        ("SELECT t.k, t.e FROM t LATERAL VIEW explode(x) t AS e", "k INT, e INT"),
        ("SELECT k, explode(x) FROM t", "k INT, col INT"),
        ("SELECT k, posexplode_outer(x) AS (p, e) FROM t", "k INT, p INT, e INT"),
        ("SELECT explode(x) AS e, explode(split('a,b', ',')) AS f FROM t", "e INT, f STRING"),
        ("SELECT s.*, explode(array(k, c)) AS e FROM s", "k INT, c INT, e INT"),
        ("SELECT t.k, e FROM t, LATERAL explode(t.x) AS v(e)", "k INT, e INT"),
        ("SELECT t.k, v.* FROM t LEFT JOIN LATERAL posexplode(x) v ON TRUE", "k INT, pos INT, col INT"),
        (
            "SELECT t.k, q.* FROM t, LATERAL (SELECT c, t.k + c AS d FROM s WHERE s.k = t.k) q",
            "k INT, c INT, d INT",
        ),
        ("SELECT t.k, n FROM t, LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.k = t.k) q", "k INT, n BIGINT"),
        ("SELECT t.k, e FROM t, LATERAL (SELECT explode(t.x) AS e) q", "k INT, e INT"),
    ],
)
def test_the_columns_are_named_and_typed_as_in_spark(query: str, columns: str) -> None:
    assert ", ".join(f"{name} {type_}" for name, type_ in read(query).schema) == columns


@pytest.mark.parametrize(
    ("query", "outer"),
    [
        ("SELECT e FROM t LATERAL VIEW explode(x) v AS e", False),
        ("SELECT e FROM t LATERAL VIEW OUTER explode(x) v AS e", True),
        ("SELECT e FROM t LATERAL VIEW explode_outer(x) v AS e", True),
        ("SELECT inline_outer(z) FROM t", True),
        ("SELECT e FROM t CROSS JOIN LATERAL explode(x) v(e)", False),
        ("SELECT e FROM t LEFT JOIN LATERAL explode(x) v(e) ON TRUE", True),
    ],
)
def test_outer_keeps_rows_without_elements(query: str, outer: bool) -> None:
    assert [node.outer for node in walk(read(query).plan) if isinstance(node, Explode)] == [outer]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT explode(k) AS e FROM t", r"explode\(k\): k is of type INT; it must be an ARRAY or a MAP"),
        ("SELECT e FROM t LATERAL VIEW OUTER explode(t.k) v AS e", r"explode\(t.k\): t.k is of type INT"),
        ("SELECT inline(x) FROM t", "it must be an ARRAY of STRUCTs"),
        ("SELECT explode(x, x) AS e FROM t", "explode of 2 arguments; it takes one array"),
        ("SELECT posexplode(x) AS e FROM t", "posexplode gives 2 columns; 1 are named"),
        ("SELECT e FROM t LATERAL VIEW explode(x) v AS e, f", "the column list of v names 2 of 1 columns"),
        ("SELECT e FROM t LATERAL VIEW explode(x) v AS e JOIN s ON s.k = t.k", "a JOIN after LATERAL VIEW"),
        ("SELECT q.* FROM t, LATERAL (SELECT *) q", "a star in a SELECT without FROM"),
    ],
)
def test_what_spark_refuses_is_refused_by_name(query: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        read(query)


def test_a_lateral_query_is_a_join_on_its_ties() -> None:
    kinds = {
        ", LATERAL (SELECT c FROM s WHERE s.k = t.k) q": JoinKind.INNER,
        ", LATERAL (SELECT c FROM s) q": JoinKind.CROSS,
        " LEFT JOIN LATERAL (SELECT c FROM s WHERE s.k = t.k) q ON q.c > 1": JoinKind.LEFT,
        ", LATERAL (SELECT MAX(c) AS c FROM s WHERE s.k = t.k) q": JoinKind.LEFT,
    }
    for text, kind in kinds.items():
        joins = [node for node in walk(read(f"SELECT t.k, q.c FROM t{text}").plan) if isinstance(node, Join)]
        assert [join.kind for join in joins] == [kind]


def test_conditions_that_read_no_element_go_below_the_view() -> None:
    """Else the rows of a FROM list would all be paired before WHERE connects them."""
    query = "SELECT e FROM t, s LATERAL VIEW explode(x) v AS e WHERE t.k = s.k AND e > 1"
    nodes = list(walk(read(query).plan))
    assert [type(node) for node in nodes[1:4]] == [Filter, Explode, Join]
    assert [node.kind for node in nodes if isinstance(node, Join)] == [JoinKind.INNER]


def test_parts_of_nested_types_are_read_from_their_names() -> None:
    assert element_of(other(f"array<{STRUCT}>")) == other(STRUCT)
    assert element_of(other("ARRAY<decimal(5, 2)>")) == Type(Kind.DECIMAL, 5, 2)
    assert fields_of(other(STRUCT)) == (("p", INT), ("q`,>:", STRING))
    assert pair_of(other("MAP<STRING, ARRAY<MAP<INT,INT>>>")) == (STRING, other("ARRAY<MAP<INT,INT>>"))
    assert (element_of(STRING), fields_of(array_type(INT))) == (None, None)
    assert pair_of(struct_type((("a", INT),))) is None


@pytest.mark.parametrize("key", ["e IS NULL, e", "e + 1 DESC, e", "e, c IS NULL", "e + c", "coalesce(e, c)"])
def test_an_expression_over_elements_may_order_first_rows(key: str) -> None:
    text = f"SELECT k AS c, explode_outer(x) AS e FROM t ORDER BY {key} LIMIT 1"
    assert [name for name, _ in read(text).schema] == ["c", "e"]


def test_an_order_over_elements_reads_no_other_columns() -> None:
    with pytest.raises(UnsupportedError, match="a key of ORDER BY with LIMIT that is not selected"):
        read("SELECT k AS c, explode_outer(x) AS e FROM t ORDER BY e + k LIMIT 1")


def test_using_in_a_sub_select_does_not_matter_to_an_order_of_its_outputs() -> None:
    inner = "SELECT c, e FROM t JOIN s USING (k) LATERAL VIEW explode(x) v AS e"
    text = f"SELECT * FROM ({inner}) AS q ORDER BY e LIMIT 1"
    assert [name for name, _ in read(text).schema] == ["c", "e"]
