"""The store, the journal and the clock as one process uses them, wrapped so that each of its steps is seen.

A step is a call after which others may see something else: a commit, an event of the journal, a decided data
timestamp; and the computation of rows. Just before it the wrapper calls `step(name)`, in which the verifier
may run another process or raise `Died`. The wrapper also tells what the process reads (`Used`): a disturbance
that changes nothing of that can come before or after the step (`protocol_pairs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

from dynamic_tables.definition import Definition, DynamicTable
from dynamic_tables.errors import StoreError
from dynamic_tables.journal.events import Claimed, Event, Published, Released
from dynamic_tables.journal.state import Operations
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.store.port import RefreshRecord, Relation
from engines.memory.duck_store import DuckStore

OnStep = Callable[[str], None]
"""Receives the name of a step just before it is taken."""


class Used(Flag):
    """The parts of an account that a process has used since its last step, and that others may change.

    CONTENTS: rows of its own table. STATE: definitions, refreshes, the journal, the clock. BASE: versions of
    base tables, and the data timestamps that were decided.
    """

    NOTHING = 0
    CONTENTS = auto()
    STATE = auto()
    BASE = auto()
    ANYTHING = CONTENTS | STATE | BASE


OnUse = Callable[[Used], None]
"""Receives what a process uses of what others may change."""

COMPUTE, NO_EVENT, DECIDE = "compute", "no event", "decide"
"""Names of steps; the first two change nothing that others see."""

PRIVATE = ("dialect", "folded", "merge_validates", "query", "release")
"""Attributes of the store that no other process changes: values that a process has already."""


USED: Mapping[str, Used] = {
    "current": Used.CONTENTS,
    "begin": Used.STATE,
    "definitions": Used.STATE,
    "identity": Used.STATE,
}
"""By attribute of the store what a process uses by it; by every other one it may use anything."""


def used_by(step: str) -> Used:
    """Returns what a step itself uses: a data timestamp is decided among the commits of base tables."""
    return {COMPUTE: Used.NOTHING, DECIDE: Used.ANYTHING}.get(step, Used.STATE)


@dataclass(slots=True)
class WatchedClock:
    """The simulated clock, which notes that a process has read it."""

    clock: SimulatedClock
    use: OnUse

    def now(self) -> int:
        """Returns the time."""
        self.use(Used.STATE)
        return self.clock.now()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.clock, name)


class Died(BaseException):
    """The death of a process. It is no Exception, so that no handler in the code of the process sees it."""


@dataclass(slots=True)
class SteppingJournal:
    """The journal of the account as one process uses it: each event that it appends is a step."""

    journal: Journal
    step: OnStep
    use: OnUse

    def poll(self) -> Operations:
        """Returns the state of the account after all events; no step, because it changes nothing."""
        self.use(Used.STATE)
        return self.journal.poll()

    def append(self, make: Callable[[Operations], Event | None]) -> Event | None:
        """Appends the event that `make` returns for the state, as a step of its own; None appends nothing."""
        kinds = {Claimed: "claim", Released: "release", Published: "publish"}

        # `make` is called here only for the name of the step. The journal calls it again, after whatever
        # happens at the step.
        event = make(self.journal.poll())
        self.step(NO_EVENT if event is None else kinds.get(type(event), "note"))
        return self.journal.append(make)

    def add(self, event: Event) -> None:
        """Appends an event whatever others have appended, as a step of its own."""
        self.append(lambda state: event)


@dataclass(slots=True)
class SteppingStore:
    """The store of the account as one process uses it.

    Commits are fenced as on Delta: a refresh has the number after the newest one that the process had seen
    when it began, each number is committed once, and the name must belong to the same table still, with the
    same query (`refresh_commits`). `fenced`: whether they are; False is a planted fault. `seen`: of each
    table its identity and the number of its refreshes when the process last read them.
    """

    store: DuckStore
    step: OnStep
    use: OnUse = lambda used: None
    fenced: bool = True
    seen: dict[str, tuple[str, int]] = field(default_factory=dict)
    journal: SteppingJournal = field(init=False)

    def __post_init__(self) -> None:
        self.journal = SteppingJournal(self.store.journal, self.step, self.use)

    def __getattr__(self, name: str) -> Any:
        if name not in PRIVATE:
            self.use(USED.get(name, Used.ANYTHING))
        return getattr(self.store, name)

    def decide(self, timestamp: int) -> None:
        """Decides a data timestamp, as a step."""
        self.step(DECIDE)
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
        """Returns the refreshes of a table, and remembers their number for the fence."""
        self.use(Used.STATE)
        records = self.store.refreshes(table, edited=edited)
        self.seen[table.name] = self._newest(table)
        return records

    def compute(
        self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool, few: bool = False
    ) -> Relation:
        """Computes the rows of a plan; a step if they are computed now (`once`), not when they are read."""
        if once:
            self.step(COMPUTE)
        return self.store.compute(plan, leaves, once=once, few=few)

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Commits changes of a table, as a step. Returns and raises as `_committed`."""
        return self._committed(table, lambda: self.store.merge(table, folded, apply, record))

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Commits new contents of a table, as a step. Returns and raises as `_committed`."""
        return self._committed(table, lambda: self.store.overwrite(table, contents, record))

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits the record of a refresh without changes, as a step. Returns and raises as `_committed`."""
        return self._committed(table, lambda: self.store.touch(table, record))

    def _committed(self, table: DynamicTable, commit: Callable[[], int]) -> int:
        """Returns what `commit` returns. Raises StoreError: another process has been faster (the fence)."""
        self.step(f"commit {table.name}")
        defined = self.store.known.get(table.name)
        replaced = isinstance(defined, DynamicTable) and defined.text != table.text
        if self.fenced and (replaced or self.seen.get(table.name) != self._newest(table)):
            raise StoreError(f"another process has refreshed or replaced {table.name} meanwhile")
        return commit()

    def _newest(self, table: DynamicTable) -> tuple[str, int]:
        """Returns the identity of the table that has a name now, and the number of its refreshes."""
        if table.name not in self.store.tables:
            return "", 0
        return self.store.identity(table.name), len(self.store.refreshes(table))
