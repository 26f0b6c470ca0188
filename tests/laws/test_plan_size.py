"""Law: the change query of a chain of joins is linear in the number of joins.

The textbook derivative of an outer join mentions each side's changes several times, so its text doubles
per join (DVS paper, section 5.5.1). Sharing must survive differentiation and rendering.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from dynamic_tables.differentiate.registry import RULES, change_plan, initial_plan
from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import DUCKDB, SPARK, Dialect
from dynamic_tables.plan.nodes import BoundQuery, Plan, walk
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.bind import bind_query

JOINS = range(1, 9)
WORLD = declare(f"t{i}(k INT, v{i} STRING)" for i in range(10))

# A chain ends with a projection and a consolidation whatever it joins, and each join adds one column.
COLUMN = 1.25
"""How much more a later join may add than an earlier one, for the rows grow by its columns."""


def chain(kind: str, joins: int) -> BoundQuery:
    """A chain of joins that keeps one column per table."""
    items = ", ".join(["t0.k", *(f"v{i}" for i in range(joins + 1))])
    joined = " ".join(f"{kind} t{i} ON t{i - 1}.k = t{i}.k" for i in range(1, joins + 1))
    return bind_query(f"SELECT {items} FROM t0 {joined}", WORLD)


def growth(sizes: list[int]) -> list[int]:
    """What each further join adds."""
    return [after - before for before, after in pairwise(sizes)]


def changes(query: BoundQuery) -> Plan:
    """The change query."""
    return change_plan(query, RULES)


def contents(query: BoundQuery) -> Plan:
    """The query of an initialization."""
    return initial_plan(query, RULES, ids=True)


@pytest.mark.parametrize("plan", [changes, contents])
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_every_join_adds_the_same_number_of_nodes(kind: str, plan: Callable[[BoundQuery], Plan]) -> None:
    sizes = [len(list(walk(plan(chain(kind, joins))))) for joins in JOINS]
    assert len(set(growth(sizes)[1:])) == 1, sizes


@pytest.mark.parametrize("dialect", [SPARK, DUCKDB], ids=["spark", "duckdb"])
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_the_text_grows_by_its_columns_only(kind: str, dialect: Dialect) -> None:
    """Each of O(n) steps names up to n columns, so second differences are bounded; doubling has none."""
    sizes = [len(render(change_plan(chain(kind, joins), RULES), dialect).text()) for joins in JOINS]
    added = growth(sizes)
    second = growth(added)
    assert max(second) - min(second[1:]) <= 0.1 * added[-1], (added, second)
    assert added[-1] <= COLUMN * added[-2], added


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "FULL JOIN"])
def test_steps_of_the_text_are_linear(kind: str) -> None:
    steps = [len(render(change_plan(chain(kind, joins), RULES), SPARK).steps) for joins in JOINS]
    assert len(set(growth(steps)[1:])) == 1, steps
