"""The contract that an engine implements so that the harness can test it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from campaign.errors import CampaignError
from generators.limits import Limits
from workload.dml import Dml
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect, dml_texts
from workload.trace import Action, ChangeRow, Shown, StoredRow
from workload.types import Row


class Unsupported(CampaignError):
    """The engine refuses a definition and says why: a declared gap, not a failure."""


class RefreshFailed(CampaignError):
    """A refresh committed nothing. `validation`: the engine's own checks refused what it had computed."""

    def __init__(
        self, reason: str, *, validation: bool = False, change_set: Sequence[ChangeRow] | None = None
    ) -> None:
        super().__init__(reason)
        self.validation = validation
        self.change_set = None if change_set is None else tuple(change_set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine is asked and what it shows.

    `dialect`: that of the SQL it is given. `limits`: what it can be asked. `shown`: what it tells of its
    refreshes besides contents; the checks of what it does not are left out, and counted as left out.
    """

    dialect: Dialect
    limits: Limits = field(default_factory=Limits)
    shown: frozenset[Shown] = frozenset()


@dataclass(frozen=True, slots=True)
class Transaction:
    """Statements over base tables that commit together, at logical time `at` (microseconds)."""

    at: int
    statements: tuple[Dml, ...]
    tables: Mapping[str, Table]
    dialect: Dialect

    @property
    def sql(self) -> tuple[str, ...]:
        """The same as SQL text, in order. Raises WorkloadError for a kind that `limits` should exclude."""
        return tuple(
            text for dml in self.statements for text in dml_texts(dml, self.tables[dml.table], self.dialect)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What the engine itself tells of a refresh: as much of it as its capabilities say that it shows.

    COLUMNS: `columns`. CHANGE_SETS: `change_set`, raw, None where the action computes none. FRONTIER:
    `version` of the table, `versions` of its sources and, for each, the commit time or data timestamp in
    `source_timestamps`. ACTIONS: `action`, `effective_action` (as the commit itself shows it), `reason`.
    FRESH_IDS: `fresh`, what an initialization at this data timestamp gives.
    """

    columns: tuple[Column, ...] = ()
    change_set: tuple[ChangeRow, ...] | None = None
    version: int | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    source_timestamps: Mapping[str, int] = field(default_factory=dict)
    action: Action | None = None
    effective_action: Action | None = None
    reason: str = ""
    fresh: tuple[StoredRow, ...] | None = None


NOTHING = Notes()


class Adapter(ABC):
    """One empty database of the engine under test, used for one scenario and then closed.

    Any other exception than those named means that the engine broke: nothing is judged then, which is never
    a pass. Values are as in `workload.types`: int, float, Decimal, str, bool, date, datetime without zone.
    """

    capabilities: ClassVar[Capabilities]

    @classmethod  # noqa: B027  # most engines need nothing
    def ready(cls) -> None:
        """Raises CampaignError, with the remedy, where something that the engine needs is missing."""

    def advance(self, at: int) -> None:  # noqa: B027  # an engine need not keep logical time
        """Logical time is now `at` (microseconds); it never goes back. Base tables exist from before 0."""

    @abstractmethod
    def create_table(self, table: Table, sql: str) -> None:
        """Creates an empty base table; `sql` is the CREATE TABLE statement."""

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        raise Unsupported("views are not supported")

    @abstractmethod
    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        """Creates a dynamic table; a refresh follows at once. Raises Unsupported, and then has no effect.

        Returns whether it is maintained incrementally, if the engine shows its refresh actions.
        """

    @abstractmethod
    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        """Applies a transaction; returns the versions it made, if the engine shows its frontier.

        Engines that maintain tables at once do it here. Raises RefreshFailed where that is what fails.
        """

    @abstractmethod
    def refresh(self, table: str, timestamp: int) -> Notes | None:
        """Refreshes one table to a data timestamp; its upstream tables are there already.

        Raises RefreshFailed. Which timestamps are asked for is what `limits.timestamps` says.
        """

    @abstractmethod
    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """The rows that a reader of a base or dynamic table sees now; `columns`: those its definition has."""

    def stored(self, name: str, columns: Sequence[Column]) -> Iterable[StoredRow]:
        """The rows of a dynamic table with their row ids; without ids where the engine shows none."""
        return (StoredRow(None, tuple(row)) for row in self.rows(name, columns))

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row] | None:
        """The engine's own answer to a query over no tables, from scratch: the third vote.

        None: it has none; then a table of an otherwise empty database is initialized, and its rows taken.
        """
        return None

    def interrupt(self) -> None:  # noqa: B027  # not every engine can be
        """Ends what is under way, called from another thread when a scenario has taken too long."""

    def close(self) -> None:  # noqa: B027  # not every engine holds resources
        """Gives everything back. Called once, also after an error."""
