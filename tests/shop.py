"""An account over tables in memory, whose time and writes a test has in hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import SimulatedClock
from engines.memory.applier import Applier
from engines.memory.database import own_database
from engines.memory.duck_store import DuckStore
from tests.ir import table
from workload.dml import Dml, Insert
from workload.scenario import Commit
from workload.types import INT, STRING

ORDERS = table("orders", id=INT, city=STRING, amount=INT)
CITIES = table("cities", city=STRING, country=STRING)

TOTALS = "SELECT city, SUM(amount) AS total FROM orders GROUP BY city"


@dataclass
class World:
    """An account with two base tables at time 10, and a hand to move time and write rows."""

    account: Account
    clock: SimulatedClock
    applier: Applier

    def at(self, time: int, *statements: Dml) -> World:
        """Moves time and commits."""
        self.clock.set(time)
        if statements:
            self.applier.commit(Commit(time, statements))
        return self

    def rows(self, name: str) -> Sequence[tuple[object, ...]]:
        """A dynamic table's contents without ids, sorted."""
        table = self.account.dynamic_table(name)
        width = len(table.columns)
        stored = self.account.store.current(table).rows()
        return sorted((row[:width] for row in stored), key=repr)


@contextmanager
def shop() -> Iterator[World]:
    """Opens an account with two filled base tables, at time 10."""
    with own_database() as connection:
        store = DuckStore(connection)
        applier = Applier(connection, store)
        for each in (ORDERS, CITIES):
            applier.create(each)
        clock = SimulatedClock()
        world = World(Account(store=store, clock=clock), clock, applier)
        rows = ((1, "rome", 10), (2, "rome", 20), (3, None, 5))
        yield world.at(10, Insert("orders", rows), Insert("cities", (("rome", "italy"),)))
