"""Fields of structs in a select list: `s.a` and `s.*`."""

from __future__ import annotations

import pytest

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.explain import declare
from dynamic_tables.plan.bind import bind_query

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
    with pytest.raises(UnsupportedError, match="EXCEPT of fields of a struct: list the fields"):
        shown("SELECT s.* EXCEPT (a) FROM t")
