"""Expansion of a definition down to its base tables."""

from __future__ import annotations

import pytest

from oracle.expansion import expand
from tests.unit.oracle.words import col, named, scenario, select, table
from workload.query import Cte, Named, UnionAll, With
from workload.scenario import DynamicTable, View
from workload.scope import output_columns
from workload.sql import Dialect

R = table("r: a INT")
S = table("s: a INT")
A = ("a", col(R, "a"))


FROM_R = select(named(R), A)
CASE = scenario(
    (S, R),
    View("v", FROM_R),
    View("unused", select(Named("s", "r"), A)),
    DynamicTable("d", select(Named("v", "r"), A)),
    DynamicTable("e", UnionAll((select(Named("d", "r"), A), select(Named("v", "r"), A)))),
    DynamicTable("f", With((Cte("c", select(Named("e", "r"), A)),), select(Named("c", "r"), A))),
    commits={},
)


@pytest.mark.parametrize(
    ("name", "tables", "ctes"),
    [
        ("v", ("r",), ()),
        ("unused", ("s",), ()),
        ("d", ("r",), ("v",)),
        ("e", ("r",), ("v", "d")),
        ("f", ("r",), ("v", "d", "e", "c")),
    ],
)
def test_everything_upstream_comes_first_and_nothing_else(
    name: str, tables: tuple[str, ...], ctes: tuple[str, ...]
) -> None:
    expansion = expand(CASE, name)
    assert expansion.tables == tables
    assert tuple(cte.name for cte in expansion.ctes) == ctes


def test_the_expansion_reads_base_tables_only_and_yields_the_same_columns() -> None:
    base = {t.name: t.columns for t in CASE.tables}
    for definition in CASE.definitions:
        assert output_columns(expand(CASE, definition.name).query, base) == R.columns


def test_the_text_binds_base_tables_before_all_else() -> None:
    text = expand(CASE, "d").text(("r AS (SELECT 1 AS a)",), Dialect.SPARK)
    assert text == "WITH r AS (SELECT 1 AS a), v AS (SELECT r.a AS a FROM r) SELECT r.a AS a FROM v AS r"


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        expand(CASE, "nothing")
