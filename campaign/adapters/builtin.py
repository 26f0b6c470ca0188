"""The built-in engine behind the contract, over tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import ClassVar

from campaign.adapters.contract import Adapter, Capabilities, Notes, RefreshFailed, Transaction, Unsupported
from campaign.engine import Engine
from campaign.tiers.database import own_database
from campaign.tiers.duck_store import DuckStore
from campaign.tiers.memory_platform import MemoryPlatform
from campaign.tiers.recording import workload_row
from campaign.tiers.rules import base_tables
from dynamic_tables import definition, errors
from dynamic_tables.account import Account
from dynamic_tables.refresh.change_set import ChangeSet, ChangeSetRefused
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.clock import SimulatedClock
from generators.limits import NO_LIMITS
from workload.scenario import Commit, DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.trace import EVERYTHING, Action, ChangeAction, ChangeRow, StoredRow
from workload.types import Row, parse_type


class BuiltIn(Adapter):
    """`dynamic_tables` with its plans on DuckDB. It shows everything, so no check is left out."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SPARK, limits=NO_LIMITS, shown=EVERYTHING
    )

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine or Engine()
        self._resources = ExitStack()
        self._store = DuckStore(self._resources.enter_context(own_database()))
        self._clock = SimulatedClock()
        self._tables: list[Table] = []

    @cached_property
    def _platform(self) -> MemoryPlatform:
        # The applier makes all base tables at once, so it waits for the last of them.
        return MemoryPlatform(self._store, base_tables(self._store, tuple(self._tables)))

    @cached_property
    def _account(self) -> Account:
        # Over the store that knows the base tables.
        rules, protocol = self._engine.rules, self._engine.protocol
        return Account(store=self._platform.store, clock=self._clock, rules=rules, protocol=protocol)

    def advance(self, at: int) -> None:
        """Sets the clock."""
        self._clock.set(at)

    def create_table(self, table: Table, sql: str) -> None:
        """Notes the table."""
        self._tables.append(table)

    def create_view(self, name: str, query: str) -> None:
        """A view of the account."""
        try:
            self._account.create_view(name, query)
        except (errors.DefinitionError, errors.UnsupportedError) as error:
            raise Unsupported(str(error)) from error

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool:
        """An uninitialized dynamic table of the account."""
        mode = definition.RefreshMode[table.mode.name]
        lag = table.target_lag
        try:
            created = self._account.create_dynamic_table(
                table.name, query, target_lag=lag, refresh_mode=mode, initialize=False
            )
        except (errors.DefinitionError, errors.UnsupportedError) as error:
            raise Unsupported(str(error)) from error
        return created.incremental

    def commit(self, transaction: Transaction) -> Mapping[str, int]:
        """Applied in memory; RESTORE, OPTIMIZE and replace are told from other statements."""
        commit = Commit(transaction.at, transaction.statements)
        return {written.table: written.version for written in self._platform.commit(0, commit)}

    def refresh(self, table: str, timestamp: int) -> Notes:
        """A refresh of the account."""
        try:
            result = self._account.refresh(table, timestamp)[-1]
        except ChangeSetRefused as error:
            changes = _change_rows(error.change_set)
            raise RefreshFailed(error.reason, validation=True, change_set=changes) from error
        except errors.RefreshFailed as error:
            refused = isinstance(error, errors.ValidationFailed)
            raise RefreshFailed(error.reason, validation=refused) from error
        return self._notes(result)

    def _notes(self, result: RefreshResult) -> Notes:
        table = self._account.dynamic_table(result.table)
        reported = Action[result.action.name]
        sources = result.record.frontier.sources
        fresh = self._account.fresh_contents(table.name).rows() if table.incremental else None
        return Notes(
            columns=tuple(Column(name, parse_type(str(type_))) for name, type_ in table.columns),
            change_set=None if result.change_set is None else _change_rows(result.change_set),
            version=result.version,
            versions={name: source.version for name, source in sources.items()},
            source_timestamps={name: source.timestamp for name, source in sources.items()},
            action=reported,
            effective_action=self._platform.effective(table, result.version, reported),
            reason=result.record.reason,
            fresh=None
            if fresh is None
            else tuple(StoredRow(str(row[-1]), workload_row(row[:-1])) for row in fresh),
        )

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """The newest rows."""
        if any(table.name == name for table in self._tables):
            return self._platform.applier.rows(name)
        return [stored.row for stored in self.stored(name, columns)]

    def stored(self, name: str, columns: Sequence[Column]) -> Iterable[StoredRow]:
        """The newest rows with their ids."""
        version = self._platform.newest(name)
        return () if version is None else self._platform.stored(self._account.dynamic_table(name), version)

    def close(self) -> None:
        """Drops the database."""
        self._resources.close()


def _change_rows(changes: ChangeSet) -> tuple[ChangeRow, ...]:
    return tuple(
        ChangeRow(ChangeAction(str(row[-2])), str(row[-1]), workload_row(row[:-2])) for row in changes.rows()
    )
