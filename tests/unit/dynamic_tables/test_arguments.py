"""What is no name, no lag, no time is refused in one line, and nothing is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError
from tests.shop import World, shop

QUERY = "SELECT city, COUNT(*) AS n FROM orders GROUP BY city"


@pytest.fixture
def world() -> Iterator[World]:
    with shop() as made:
        yield made


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (lambda a: a.create_dynamic_table(None, QUERY), "None is no name of a table or view; give a text"),
        (lambda a: a.create_dynamic_table("", QUERY), "'' is no name of a table or view"),
        (lambda a: a.create_dynamic_table("x" * 129, QUERY), "has 129 characters; a name has 128 at most"),
        (lambda a: a.create_dynamic_table("a b", QUERY), "'a b' is no name; use letters, digits and _"),
        (
            lambda a: a.create_dynamic_table("d", QUERY, target_lag=60e6),
            "target lag of d is 60000000.0; give",
        ),
        (lambda a: a.create_dynamic_table("d", QUERY, target_lag=True), "target lag of d is True; give"),
        (lambda a: a.create_dynamic_table("d", QUERY, target_lag=float("nan")), "target lag of d is nan"),
        (lambda a: a.dynamic_table(5), "5 is no name of a table or view; give a text"),
        (lambda a: a.create_refresh_group(None, ["totals", "big"]), "None is no name of a refresh group"),
        (lambda a: a.create_refresh_group("a b", ["totals", "big"]), "'a b' is no name"),
        (lambda a: a.create_refresh_group("g", "totals"), "the members are the text 'totals'; give a list"),
        (lambda a: a.grant(None, "totals", "ops"), "None is no name of a privilege"),
        (lambda a: a.grant("operate", "totals", ""), "'' is no name of a role"),
        (lambda a: a.clone_graph({"totals": "x", "big": "x"}), "x is the new name of several tables"),
    ],
)
def test_a_bad_argument(world: World, command: Callable[[Account], object], message: str) -> None:
    world.account.create_dynamic_table("totals", QUERY)
    world.account.create_dynamic_table("big", "SELECT city FROM totals WHERE n > 1")
    with pytest.raises(DefinitionError) as refused:
        command(world.account)
    assert message in str(refused.value)
    assert {"orders", "totals", "big", "cities"}.issuperset(world.account.store.definitions())
