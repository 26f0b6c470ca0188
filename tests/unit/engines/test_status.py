"""What `dvs-tables status` shows of definitions: keys of sources, and the frozen part."""

from __future__ import annotations

from dataclasses import replace

from dynamic_tables.command.text import status_text
from dynamic_tables.definition import BaseTable
from engines.memory.store import MemoryStore
from tests.shop import TOTALS, shop


def test_a_table_shows_the_keys_of_what_it_reads_and_what_is_frozen() -> None:
    with shop() as world:
        store = world.account.store
        assert isinstance(store, MemoryStore)
        orders = store.known["orders"]
        assert isinstance(orders, BaseTable)
        store.known["orders"] = replace(orders, key=("id",))
        world.account.create_dynamic_table("totals", TOTALS, frozen_where="total > 100")
        world.account.create_dynamic_table("above", "SELECT city FROM totals", refresh_mode="FULL")
        rows = world.account.dynamic_tables().to_pylist()
    shown = {row["name"]: (row["source_keys"], row["frozen_where"]) for row in rows}
    assert shown == {"totals": (["orders (id)"], "total > 100"), "above": ([], None)}
    words = " ".join(status_text(rows).replace("│", " ").split())
    for part in ("by orders (id)", "frozen:", "total > 100"):
        assert all(word in words for word in part.split()), words
