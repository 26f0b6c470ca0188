"""One process on an account in memory that can be stopped at each call of the store and the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamic_tables.definition import Definition, DynamicTable
from dynamic_tables.errors import StoreError
from dynamic_tables.journal.events import Claimed, Event, Published, Released
from dynamic_tables.journal.state import Operations
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.store.port import RefreshRecord, Relation
from engines.memory.duck_store import DuckStore

Step = Callable[[str], None]
"""Receives the name of a step just before it is taken."""


class Died(BaseException):
    """The process was killed; no handler of errors sees it, and nothing of it runs any more."""


@dataclass(slots=True)
class SteppingJournal:
    """The journal of the account as one process uses it: events are steps."""

    journal: Journal
    step: Step

    def poll(self) -> Operations:
        """Reads the journal, which changes nothing."""
        return self.journal.poll()

    def append(self, make: Callable[[Operations], Event | None]) -> Event | None:
        """Appends an event, as a step of its own."""
        kinds = {Claimed: "claim", Released: "release", Published: "publish"}

        # The kind is not known before the state is; deciding changes nothing.
        event = make(self.journal.poll())
        self.step("no event" if event is None else kinds.get(type(event), "note"))
        return self.journal.append(make)

    def add(self, event: Event) -> None:
        """Appends an event whatever others have appended, as a step of its own."""
        self.append(lambda state: event)


@dataclass(slots=True)
class SteppingStore:
    """The store of the account as one process uses it.

    Commits are fenced as on Delta: a refresh has the number after the newest one that the process had seen
    when it began, each number is committed once, and the name must belong to the same table still, with the
    same query (`refresh_commits`).
    """

    store: DuckStore
    step: Step
    fenced: bool = True
    seen: dict[str, tuple[str, int]] = field(default_factory=dict)
    journal: SteppingJournal = field(init=False)

    def __post_init__(self) -> None:
        self.journal = SteppingJournal(self.store.journal, self.step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def decide(self, timestamp: int) -> None:
        """Decides a data timestamp, as a step."""
        self.step("decide")
        self.store.decide(timestamp)

    def rename(self, name: str, other: str) -> Definition:
        """Gives a table another name, as a step."""
        self.step(f"rename {name} to {other}")
        return self.store.rename(name, other)

    def drop(self, definition: Definition, *, for_good: bool = False) -> None:
        """Removes a table, as a step."""
        self.step(f"drop {definition.name}")
        self.store.drop(definition, for_good=for_good)

    def refreshes(self, table: DynamicTable, *, edited: bool = False) -> Sequence[RefreshRecord]:
        """Returns the refreshes, and remembers the newest."""
        records = self.store.refreshes(table, edited=edited)
        self.seen[table.name] = self._newest(table)
        return records

    def compute(
        self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool, few: bool = False
    ) -> Relation:
        """Computes the rows of a plan; a step where they are computed now."""
        if once:
            self.step("compute")
        return self.store.compute(plan, leaves, once=once, few=few)

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Commits changes, as a step."""
        return self._committed(table, lambda: self.store.merge(table, folded, apply, record))

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Commits new contents, as a step."""
        return self._committed(table, lambda: self.store.overwrite(table, contents, record))

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits a record, as a step."""
        return self._committed(table, lambda: self.store.touch(table, record))

    def _committed(self, table: DynamicTable, commit: Callable[[], int]) -> int:
        self.step(f"commit {table.name}")
        defined = self.store.known.get(table.name)
        replaced = isinstance(defined, DynamicTable) and defined.text != table.text
        if self.fenced and (replaced or self.seen.get(table.name) != self._newest(table)):
            raise StoreError(f"another process has refreshed or replaced {table.name} meanwhile")
        return commit()

    def _newest(self, table: DynamicTable) -> tuple[str, int]:
        """Returns which table has a name now, and how many refreshes it has."""
        if table.name not in self.store.tables:
            return "", 0
        return self.store.identity(table.name), len(self.store.refreshes(table))
