"""The built-in engine's plans and refresh protocol on DuckDB, in memory: the tier `rules`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from dynamic_tables.refresh.execute import PROTOCOL
from engines.engine import Platform
from engines.memory.adapter import MemoryAdapter
from engines.memory.applier import Applier
from engines.memory.database import own_database
from engines.memory.duck_store import DuckStore
from engines.variant import Variant


class InMemory(MemoryAdapter):
    """An account whose plans run on DuckDB."""

    def __init__(self, variant: Variant | None = None) -> None:
        self._resources = ExitStack()
        actual = variant or Variant()
        store = DuckStore(self._resources.enter_context(own_database()))
        store.version_rules = actual.versions
        super().__init__(store, Applier(store.connection, store), actual)

    def interrupt(self) -> None:
        """Interrupts the query that DuckDB runs."""
        self.applier.connection.interrupt()

    def close(self) -> None:
        """Drops the database."""
        self._resources.close()


@dataclass(frozen=True)
class InMemoryPlatform(Platform):
    """The DuckDB of this process.

    The third vote is the engine's own FULL plan. It runs under the right protocol, so that a planted fault in
    the protocol cannot make the vote wrong.
    """

    variant: Variant = field(default_factory=Variant)

    def open(self) -> InMemory:
        """Opens an empty database."""
        return InMemory(self.variant)

    def open_for_vote(self) -> InMemory:
        """Opens an empty database without planted faults of the refresh protocol."""
        return InMemory(replace(self.variant, protocol=PROTOCOL))
