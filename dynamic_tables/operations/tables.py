"""The state of an account, and the questions that its operations ask of it.

`AccountTables` is the base of the classes in this folder, each of which adds operations; `Account` has them
all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dynamic_tables.arguments import checked_name, checked_text
from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable
from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.errors import CorruptTable, DefinitionError, RefreshFailed, StoreError
from dynamic_tables.journal.events import Defined, Dropped, Granted, Privilege
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.reading import sources_now
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.schedule.failing import RULE, FailureRule
from dynamic_tables.schedule.graph import Graph, Scheduled
from dynamic_tables.schedule.timetable import Rhythm
from dynamic_tables.store.port import Store
from dynamic_tables.store.transactions.owner import this_process
from dynamic_tables.turn import Turn

PlanInputs = tuple[tuple[str, ...], tuple[object, ...]]
"""What the plan of a query depends on: the texts of query and views; its sources and former columns."""


@dataclass(slots=True, kw_only=True)
class AccountTables:
    """The state of an account.

    `rules`: how changes are computed; `protocol`: the steps of a refresh. Tests replace parts of both.
    `role`: who uses the account, for privileges. `process`: the name of this process in the journal.
    `minimum_lag`: the least target lag that a table may have, in microseconds. `rhythm`: when tables are
    refreshed; `failure_rule`: after which failures no more. `bound`: by table its plan and columns, after
    what these depend on.
    """

    store: Store
    clock: Clock
    rules: Rules = RULES
    protocol: RefreshProtocol = PROTOCOL
    role: str = ""
    process: str = field(default_factory=this_process)
    minimum_lag: int = 1
    rhythm: Rhythm = field(default_factory=Rhythm)
    failure_rule: FailureRule = RULE
    bound: dict[str, tuple[PlanInputs, BoundQuery | None, Columns]] = field(default_factory=dict)
    plans: Plans = field(init=False)
    lock: Turn = field(init=False)

    def __post_init__(self) -> None:
        self.plans = Plans(self.rules)
        self.lock = Turn(self._begin)

    def _begin(self) -> None:
        """Begins an operation: the first one of a thread that holds the lock."""
        self.store.begin()

    def dynamic_table(self, name: str) -> DynamicTable:
        """Returns the definition of a dynamic table. Raises DefinitionError: no such dynamic table."""
        definition = self.existing(name)
        if not isinstance(definition, DynamicTable):
            raise DefinitionError(f"{definition.name} is no dynamic table")
        return with_lag(definition, self.store.journal.poll())

    def existing(self, name: str) -> Definition:
        """Returns the definition of a table or view. Raises DefinitionError: there is none."""
        checked_text(name, "a table or view")
        definitions = self.store.definitions()
        if name.lower() not in definitions:
            names = ", ".join(definitions) or "none"
            raise DefinitionError(f"no table or view named {name}; there are: {names}")
        return definitions[name.lower()]

    def new_name(self, name: str) -> str:
        """Returns a name in lower case. Raises DefinitionError: it is in use, or no name."""
        new = checked_name(name)
        ensure_not_moving(self.store.journal.poll(), new)
        if new in self.store.definitions():
            raise DefinitionError(f"{name} exists already; drop it first or take another name")
        return new

    def graph(self) -> Graph:
        """Returns who reads whom among the dynamic tables that can be read."""
        with self.lock:
            return graph_of(self.store.definitions(), self.store.journal.poll())

    def shown(self, table: DynamicTable) -> int | None:
        """Returns the data timestamp of the contents that `read` shows; None before the first contents."""
        published = self.store.journal.poll().published(table.name)
        if published is not None:
            return published[-1] if published else None
        records = self.store.refreshes(table)
        return records[-1].frontier.timestamp if records else None

    def visible(self, table: DynamicTable) -> Sequence[int]:
        """Returns the data timestamps at which other tables may read a table, oldest first.

        See `timestamps`. While a group has not published what a member holds by a new definition, there is
        none, and `shown` is that of the contents before.
        """
        known = self.timestamps(table)
        published = self.store.journal.poll().published(table.name)
        return known if published is None else tuple(sorted({*published} & {*known}))

    def timestamps(self, table: DynamicTable) -> tuple[int, ...]:
        """Returns the data timestamps of a table by its last definition, oldest first.

        Contents by a definition before, or by views that were replaced since, are left out: they have other
        rows, perhaps other columns, and no row ids if the table was FULL. A table that is refreshed to a time
        before the replacement would read them as if they were of the definition of now.
        """
        records = self.store.refreshes(table)
        return tuple(
            record.frontier.timestamp
            for record in records
            if record.frontier.definition == records[-1].frontier.definition
        )

    def upstream(self, table: DynamicTable) -> tuple[DynamicTable, ...]:
        """Returns the dynamic tables that a table reads, at any depth, each after those that it reads."""
        return self.with_upstream((table.name,), groups=False)[:-1]

    def decide(self, table: DynamicTable, timestamp: int) -> None:
        """Decides, before a refresh to a data timestamp, which versions of base tables it means (a tick).

        Raises RefreshFailed: that is not possible.
        """
        try:
            self.store.decide(timestamp)
        except StoreError as error:
            raise RefreshFailed(table.name, timestamp, str(error)) from error

    def oldest(self, table: DynamicTable) -> int | None:
        """Returns the oldest data timestamp at which all base tables below a table exist, if it has any."""
        definitions = self.store.definitions()
        below = (*self.upstream(table), table)
        sources = {source for each in below for source in sources_now(each, definitions)}
        bases = [base for base in map(definitions.get, sources) if isinstance(base, BaseTable)]
        starts = [
            history.versions[0].timestamp for base in bases if (history := self.store.history(base)).versions
        ]
        return max(starts, default=None)

    def has_version_at(self, table: DynamicTable, timestamp: int) -> bool:
        """Tells whether the table has a refresh with exactly this data timestamp; see `timestamps`."""
        return timestamp in self.timestamps(table)

    def with_upstream(self, names: Sequence[str], *, groups: bool) -> tuple[DynamicTable, ...]:
        """Returns tables and all that they read, each after those that it reads.

        `groups`: and the members of their refresh groups.
        """
        definitions = self.store.definitions()
        operations = self.store.journal.poll()
        ordered: dict[str, DynamicTable] = {}

        def visit(table: DynamicTable) -> None:
            if table.name in ordered:
                return
            for source in sources_now(table, definitions):
                upstream = definitions.get(source)
                if isinstance(upstream, DynamicTable):
                    visit(upstream)
            ordered[table.name] = table
            group = operations.group_of(table.name) if groups else None
            for member in () if group is None else group.members:
                visit(self.dynamic_table(member))

        for name in names:
            visit(self.dynamic_table(name))
        return tuple(ordered.values())

    def forget(self, name: str) -> None:
        """Forgets what was computed for a table whose definition changes."""
        self.bound.pop(name, None)
        self.plans.forget()

    def discard(self, table: DynamicTable) -> None:
        """Removes a dynamic table whose creation failed; `undrop` brings back the one dropped before it."""
        self.store.drop(table, for_good=True)
        dropped = Dropped(at=self.clock.now(), by=self.process, table=table.name, for_good=True)
        self.store.journal.add(dropped)

    def note_definition(self, table: DynamicTable, *, created: bool = False) -> None:
        """Writes a new definition into the journal, and the role of the account as its owner.

        `created`: it is that of a new table.
        """
        at, by = self.clock.now(), self.process
        self.store.journal.add(
            Defined(
                at=at,
                by=by,
                table=table.name,
                sources=table.sources,
                target_lag=table.target_lag,
                text=table.text,
                created=created,
            )
        )
        if self.role:
            self.store.journal.add(
                Granted(at=at, by=by, table=table.name, role=self.role, privilege=Privilege.OWNERSHIP)
            )


def with_lag(table: DynamicTable, operations: Operations) -> DynamicTable:
    """Returns a definition with the target lag that was set last."""
    match operations.of(table.name).lag:
        case (lag,):
            return replace(table, target_lag=lag)
        case _:
            return table


def graph_of(definitions: Mapping[str, Definition], operations: Operations) -> Graph:
    """Returns who reads whom among the dynamic tables that can be read."""
    tables = []
    for name in definitions:
        with suppress(KeyError, CorruptTable):
            table = definitions[name]
            if isinstance(table, DynamicTable):
                kinds = {source: _readable(definitions, source) for source in sources_now(table, definitions)}
                upstream = tuple(s for s, kind in kinds.items() if isinstance(kind, DynamicTable))
                bases = tuple(s for s, kind in kinds.items() if isinstance(kind, BaseTable))
                lag = with_lag(table, operations).target_lag
                tables.append(Scheduled(table.name, upstream, lag, bases))
    return Graph.of(tables)


def _readable(definitions: Mapping[str, Definition], name: str) -> Definition | None:
    """Returns a table or view; None: it was dropped or cannot be read, so that what reads it will fail."""
    try:
        return definitions.get(name)
    except CorruptTable:
        return None


def ensure_not_moving(state: Operations, *names: str) -> None:
    """Raises StoreError: a process is renaming a table from, or to, one of these names.

    Until it ends, the name may mean one table in the folder and another one in the journal.
    """
    for moving, _ in state.moving.values():
        for name in names:
            if any(name in move[:2] for move in moving.moves):
                raise StoreError(f"{name} is being renamed by {moving.by}; try it again after that")
