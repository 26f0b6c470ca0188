"""Databases of the built-in engine in memory: what the tiers `rules` and `spark` share.

DuckDB runs the DML; stored rows are read from the engine's store, of which every version is in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dynamic_tables import definition as engine
from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import SimulatedClock
from engines.account_adapter import AccountAdapter
from engines.adapter import OtherCommit, Transaction
from engines.memory.applier import Applier
from engines.memory.store import MemoryStore
from engines.rows import workload_row
from engines.variant import Variant
from workload.outcomes.trace import Action, StoredRow
from workload.scenario import Commit, Meanwhile
from workload.schema import Column, Table
from workload.types import Row


class MemoryAdapter(AccountAdapter):
    """An account over a store in memory; base tables are DuckDB tables that the applier writes."""

    def __init__(self, store: MemoryStore[Any], applier: Applier, variant: Variant) -> None:
        self.store = store
        self.applier = applier
        self.clock = SimulatedClock()
        self.variant = variant.watched(self.watch())
        self.account = self._opened()
        # Per table the relation read last and its rows: a refresh without changes keeps the relation.
        self._rows_read: dict[str, tuple[object, tuple[StoredRow, ...]]] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self.applier.create(table)

    def commit(self, transaction: Transaction) -> Mapping[str, int]:
        """Applies a transaction, RESTORE, OPTIMIZE and REPLACE included; returns the versions it made."""
        written = self.applier.commit(Commit(transaction.at, transaction.statements))
        return {name: self.applier.newest(name) for name in written}

    def begin(self, transaction: Transaction, meanwhile: Meanwhile) -> OtherCommit:
        """Returns a transaction of another process."""
        commit = Commit(transaction.at, transaction.statements, meanwhile)
        written = dict.fromkeys(statement.table for statement in transaction.statements)
        return OtherCommit(
            self.applier.parts(commit), lambda: {name: self.applier.newest(name) for name in written}
        )

    def restart(self) -> None:
        """Opens the account anew, as another process."""
        self.store.restart()
        self.account = self._opened()

    def _opened(self) -> Account:
        variant = self.variant
        return Account(store=self.store, clock=self.clock, rules=variant.rules, protocol=variant.protocol)

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the current rows of a base or dynamic table."""
        return self.applier.rows(name) if name in self.applier.tables else super().rows(name, columns)

    def stored_version(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """Returns the rows of a version with their ids."""
        relation = self.store.tables[table.name].rows[version]
        read = self._rows_read.get(table.name)
        if read is None or read[0] is not relation:
            shown = len(table.columns)
            rows = tuple(
                StoredRow(row[-1], workload_row(row[:shown]))
                if table.incremental
                else StoredRow(None, workload_row(row))
                for row in relation.rows()
            )
            read = self._rows_read[table.name] = (relation, rows)
        return read[1]

    def newest(self, name: str) -> int | None:
        """Returns the number of the last version; None where there is none."""
        table = self.store.tables.get(name)
        return len(table.rows) - 1 if table is not None and table.rows else None

    def effective_action(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """Returns the action that the store's record of the commit shows."""
        return self.store.tables[table.name].operations[version].action(reported)
