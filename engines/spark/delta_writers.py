"""Other processes that write the base tables of an account on Delta while it refreshes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.names.statements import check_statement
from dynamic_tables.store.ticks.version_rules import VersionRules
from dynamic_tables.store.transactions.owner import dead_process
from workload.scenario import Meanwhile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class DeltaWriters:
    """Accounts on the folder besides the one that refreshes; each has a session and is opened when needed.

    Time is simulated, so the clock of another process cannot be wrong here; in memory it is.
    """

    path: Path
    spark: SparkSession
    properties: Mapping[str, str]
    rules: VersionRules
    clock: SimulatedClock
    stores: dict[str, DeltaStore] = field(default_factory=dict)

    def commit(self, texts: Sequence[str], at: int, meanwhile: Meanwhile) -> None:
        """Commits statements at a logical time, as `meanwhile` says. Raises StoreError."""
        self.clock.set(max(self.clock.time, at))
        if meanwhile.abandoned:
            self._abandon(texts)
        if meanwhile.foreign:
            self._as_foreign(texts, at)
        else:
            self._store("other").write(texts)

    def close(self) -> None:
        """Closes the stores."""
        for store in self.stores.values():
            store.close()

    def _abandon(self, texts: Sequence[str]) -> None:
        """Commits all parts but the last one of a transaction whose process has ended."""
        store = self._store("killed")
        store.undoing.owner = dead_process()
        statements = [check_statement(text, store.definitions()) for text in texts]
        names = dict.fromkeys(statement.target for statement in statements)
        for name in names:
            store.folder.register(name)
        stamp = store.transactions.begin(names, len(statements) + 1)
        for part, statement in enumerate(statements, 1):
            store.transactions.run_part(part, statement, stamp)

    def _as_foreign(self, texts: Sequence[str], at: int) -> None:
        """Runs statements on plain Spark, each a commit of its own that no account knows of."""
        store = self._store("other")
        for text in texts:
            store.folder.register(check_statement(text, store.definitions()).target)
            store.session.sql(text)
        store.decide(at)

    def _store(self, name: str) -> DeltaStore:
        if name not in self.stores:
            self.stores[name] = DeltaStore(
                str(self.path), self.spark, self.clock, properties=self.properties, rules=self.rules
            )
        return self.stores[name]
