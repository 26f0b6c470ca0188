"""The record of a run of a scenario, as seen from outside the engine: its events, in the order of the run.

A driver (`engines`) writes it, and the judge (`campaign.judging`, `oracle`) reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from workload.schema import Column
from workload.types import Row


class Action(Enum):
    """The closed list of refresh actions (DVS paper, sections 3.3.2 and 5.4)."""

    INITIALIZE = "INITIALIZE"
    NO_DATA = "NO_DATA"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"
    REINITIALIZE = "REINITIALIZE"


class ChangeAction(Enum):
    """`$ACTION` of a change-set row."""

    INSERT = "INSERT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One row of a raw change set."""

    action: ChangeAction
    row_id: str
    row: Row


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as the engine stored it; `row_id` None where the engine keeps none (FULL tables)."""

    row_id: str | None
    row: Row


@dataclass(frozen=True, slots=True)
class HiddenState:
    """The hidden columns that an engine maintains a table from, as stored and as computed anew.

    `columns`: their names. `may_be_unknown`: those in which a stored NULL means "not known". `stored`,
    `fresh`: their values by row id.
    """

    columns: tuple[str, ...]
    may_be_unknown: frozenset[str]
    stored: Mapping[str, Row]
    fresh: Mapping[str, Row]


class RefreshError(Enum):
    """Why a refresh committed nothing."""

    VALIDATION = "validation"
    """The engine's own validations refused the change set."""

    FAILED = "failed"
    """An error ended the refresh: one of the query, the engine, or the platform."""

    BROKEN = "broken"
    """The engine raised an error that is none of its own classes: its mistake, whatever the query is."""


@dataclass(frozen=True, slots=True)
class SourceWritten:
    """A base table after a commit: its version and contents."""

    step: int
    table: str
    version: int
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Created:
    """A definition was created.

    `incremental`: None for a view, and where the engine does not show it. `reason`: why a dynamic table is
    not incremental; empty otherwise.
    """

    step: int
    name: str
    incremental: bool | None
    reason: str


@dataclass(frozen=True, slots=True)
class Redefined:
    """A definition was replaced. `replaced`: old -> new name, of it and of all that read it."""

    step: int
    replaced: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Counted:
    """The numbers of rows that a refresh inserted and deleted, as its record says."""

    inserted: int
    deleted: int


CHOSEN_FULL = "chosen FULL"
"""What the reason of a FULL refresh says where the engine could maintain the table, and chose not to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """One refresh of one table; a refresh of an upstream table is an event of its own.

    `action`: as the engine reports it. `effective_action`: as the commit itself shows it. `reason`: why this
    action was taken. `versions`: the version of each source read (the frontier). `source_timestamps`: the
    commit time (base table) or data timestamp (dynamic table) of each such version. `change_set`: raw, as
    computed, before any validation; None where the action computes none. `fresh`: the ids and rows a fresh
    initialization at this timestamp gives, where the run computed them. `counted`: what the engine's record
    says of the change set; None where it says nothing. `state`: hidden columns, compared where `fresh` is.
    `branches`: the branches of the engine's rules that no refresh before it took. Times are logical
    microseconds.
    """

    step: int
    table: str
    version: int
    timestamp: int
    action: Action
    effective_action: Action
    reason: str
    versions: Mapping[str, int]
    source_timestamps: Mapping[str, int]
    columns: tuple[Column, ...]
    contents: tuple[StoredRow, ...]
    change_set: tuple[ChangeRow, ...] | None = None
    fresh: tuple[StoredRow, ...] | None = None
    counted: Counted | None = None
    state: HiddenState | None = None
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadDone:
    """A statement of a reader: the version that it saw of each table."""

    step: int
    reader: int
    versions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RefreshRefused:
    """A refresh that committed nothing, with its raw change set where one was computed.

    `contents`: the rows of the table after the failure; None where it has none or they cannot be read.
    """

    step: int
    table: str
    timestamp: int
    error: RefreshError
    message: str
    change_set: tuple[ChangeRow, ...] | None = None
    contents: tuple[StoredRow, ...] | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """The engine says that it does not support a definition or refresh: a gap, not a failure."""

    step: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class PastRead:
    """The rows that a reader saw of a dynamic table, after the last step, as of an earlier data timestamp.

    `error`: why the engine did not show them; empty if it did.
    """

    step: int
    table: str
    timestamp: int
    rows: tuple[Row, ...]
    error: str = ""


Event = SourceWritten | Created | Redefined | Refreshed | RefreshRefused | ReadDone | PastRead | Declared


class Shown(Enum):
    """What an engine may show besides contents; a check that needs what it does not show is not made."""

    COLUMNS = "columns"
    ROW_IDS = "row ids"
    FRESH_IDS = "row ids of a fresh initialization"
    CHANGE_SETS = "change sets"
    FRONTIER = "frontier"
    ACTIONS = "refresh actions"


EVERYTHING = frozenset(Shown)


class Disturbance(Enum):
    """What a scenario asks for, and what then happened, between two calls of the engine's storage."""

    COMMIT = "commit during a refresh"
    KILL = "refresh killed"


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of a run of one scenario. `shown`: which parts of its refreshes come from the engine.

    The other parts are filled in by the code that ran the scenario, and prove nothing about the engine.
    `disturbed`: what happened, for each step in which another process committed or the process was killed.
    """

    events: tuple[Event, ...]
    shown: frozenset[Shown] = EVERYTHING
    disturbed: tuple[Disturbance, ...] = ()

    @property
    def refreshes(self) -> tuple[Refreshed, ...]:
        """The refreshes that committed."""
        return tuple(event for event in self.events if isinstance(event, Refreshed))
