"""The platform of the in-memory tiers: DML on DuckDB, stored rows straight from the engine's store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from campaign.tiers.applier import Applier
from campaign.tiers.memory_store import MemoryStore
from campaign.tiers.recording import workload_row
from dynamic_tables import definition as engine
from workload.scenario import Commit
from workload.trace import Action, SourceWritten, StoredRow


@dataclass(slots=True)
class MemoryPlatform:
    """Base tables by the applier, stored rows straight from the store."""

    store: MemoryStore[Any]
    applier: Applier
    read: dict[str, tuple[object, tuple[StoredRow, ...]]] = field(default_factory=dict)
    """Per table what was read last, and its rows: a refresh without changes keeps the relation as it is."""

    def commit(self, step: int, commit: Commit) -> Sequence[SourceWritten]:
        """Applies a transaction."""
        return [
            SourceWritten(
                step,
                name,
                self.applier.versions[name][-1].version,
                self.applier.tables[name].columns,
                self.applier.rows(name),
            )
            for name in self.applier.commit(commit)
        ]

    def stored(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """A version's rows."""
        relation = self.store.tables[table.name].rows[version]
        known = self.read.get(table.name)
        if known is None or known[0] is not relation:
            ids = table.incremental
            rows = tuple(
                StoredRow(row[-1], workload_row(row[:-1])) if ids else StoredRow(None, workload_row(row))
                for row in relation.rows()
            )
            known = self.read[table.name] = (relation, rows)
        return known[1]

    def newest(self, name: str) -> int | None:
        """The last version."""
        table = self.store.tables.get(name)
        return len(table.rows) - 1 if table is not None and table.rows else None

    def effective(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """The action the commit shows."""
        return self.store.tables[table.name].operations[version].action(reported)
