"""What the operations need of an account; `dynamic_tables.account.Account` has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from dynamic_tables.definition import Definition, DynamicTable
from dynamic_tables.journal.events import Trigger
from dynamic_tables.own_functions import OwnFunction
from dynamic_tables.refresh.execute import Refreshing, RefreshResult
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.schedule.failing import FailureRule
from dynamic_tables.schedule.graph import Graph
from dynamic_tables.schedule.timetable import Rhythm
from dynamic_tables.store.port import Store
from dynamic_tables.turn import Turn


class Operated(Protocol):
    """An account as its operations see it; each method is described where the account has it."""

    store: Store
    clock: Clock
    lock: Turn
    role: str
    process: str
    minimum_lag: int
    rhythm: Rhythm
    failure_rule: FailureRule

    def dynamic_table(self, name: str) -> DynamicTable:
        """Returns the definition of a dynamic table. Raises DefinitionError."""

    def existing(self, name: str) -> Definition:
        """Returns the definition of a table or view. Raises DefinitionError."""

    def new_name(self, name: str) -> str:
        """Returns a name that is free, in lower case. Raises DefinitionError."""

    def graph(self) -> Graph:
        """Returns who reads whom among the dynamic tables."""

    def refresh_together(self, names: Sequence[str]) -> tuple[RefreshResult, ...]:
        """Refreshes tables, and what they read, to one data timestamp. Raises RefreshFailed."""

    def refreshing(self, table: DynamicTable) -> Refreshing:
        """Returns a refresh of one table alone, not yet run. Raises DefinitionError."""

    def run_refresh(
        self, table: DynamicTable, timestamp: int, trigger: Trigger, *, anew: str = ""
    ) -> RefreshResult:
        """Refreshes one table alone, and journals it. Raises RefreshFailed, DefinitionError."""

    def decide(self, table: DynamicTable, timestamp: int) -> None:
        """Decides what a data timestamp stands for. Raises RefreshFailed."""

    def has_version_at(self, table: DynamicTable, timestamp: int) -> bool:
        """Tells whether a table has a refresh with exactly this data timestamp."""

    def visible(self, table: DynamicTable) -> Sequence[int]:
        """Returns the data timestamps of a table that readers may see, oldest first."""

    def upstream(self, table: DynamicTable) -> tuple[DynamicTable, ...]:
        """Returns the dynamic tables that a table reads, at any depth, each after those that it reads."""

    def oldest(self, table: DynamicTable) -> int | None:
        """Returns the oldest data timestamp at which all base tables below a table exist."""

    def note_definition(self, table: DynamicTable, *, created: bool = False) -> None:
        """Writes a new definition into the journal; `created`: that of a new table."""

    def functions(self) -> Mapping[str, OwnFunction]:
        """Returns the functions of the account by name."""

    def define_function(self, function: OwnFunction, *, replace: bool) -> None:
        """Checks a function against Spark and stores it. Raises DefinitionError."""

    def drop_function(self, name: str) -> None:
        """Removes a function. Raises DefinitionError."""

    def forget(self, name: str) -> None:
        """Forgets what was computed for a table whose definition changes."""

    def discard(self, table: DynamicTable) -> None:
        """Removes a dynamic table that could not be made."""
