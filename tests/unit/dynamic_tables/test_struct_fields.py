"""Fields of structs in a select list: `s.a` and `s.*`."""

from __future__ import annotations

import pytest

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.explain import declare
from dynamic_tables.reading.bind import bind_query

WORLD = declare(
    ["t(k INT, s STRUCT<a: INT, b: STRUCT<c: STRING, d: INT>>)", "a(k INT, a STRUCT<x: INT>)"], []
)


def shown(query: str) -> list[str]:
    return [name for name, _ in bind_query(query, WORLD).schema]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT s.*, k FROM t", ["a", "b", "k"]),
        ("SELECT t.s.* FROM t", ["a", "b"]),
        ("SELECT S.b.* FROM t", ["c", "d"]),
        ("SELECT t.s.b.* FROM t", ["c", "d"]),
        ("SELECT q.* FROM (SELECT struct(k, s) AS q FROM t) AS p", ["k", "s"]),
        # A relation comes before a column of its name.
        ("SELECT a.* FROM a", ["k", "a"]),
    ],
)
def test_a_star_of_a_struct_shows_its_fields(query: str, names: list[str]) -> None:
    assert shown(query) == names


def test_a_star_of_anything_else_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"unknown table k in k\.\*"):
        shown("SELECT k.* FROM t")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("SELECT s.* EXCEPT (a) FROM t", "EXCEPT of fields of a struct"),
        ("SELECT s.* FROM t ORDER BY a LIMIT 1", "beside ORDER BY with LIMIT"),
        ("SELECT k, t.s.* FROM t ORDER BY k LIMIT 1", "beside ORDER BY with LIMIT"),
        ("SELECT s.*, RANK() OVER (ORDER BY k) AS n FROM t QUALIFY a > 1", "beside HAVING or QUALIFY"),
        ("SELECT s.b.*, COUNT(*) AS n FROM t GROUP BY s.b HAVING n > 1", "beside HAVING or QUALIFY"),
    ],
)
def test_fields_that_a_clause_may_name_are_refused(query: str, where: str) -> None:
    """There a field comes before a column of its name, as any output does."""
    with pytest.raises(UnsupportedError, match=f"{where}.*: list the fields"):
        shown(query)


def test_a_star_of_a_relation_may_be_ordered() -> None:
    assert shown("SELECT t.*, v.e FROM t LATERAL VIEW explode(array(k)) v AS e ORDER BY k LIMIT 1")
