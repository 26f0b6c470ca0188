"""From a trace to a history: what is an object, a version, a write, a derivation, a read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dvs_model.draft import Chain, Draft, DraftEvent, Name, Precedes
from workload.scenario import Scenario
from workload.trace import ReadDone, Refreshed, SourceWritten, Trace

Stored = tuple[str, int]
"""A table and its version as the platform numbers them."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What is taken from a run; replaced from outside where a fault of recording is planted.

    `written`: the tables of one transaction that are noted. `sources`: what a refresh derived from.
    """

    written: Callable[[Sequence[SourceWritten]], Sequence[SourceWritten]] = lambda events: events
    sources: Callable[[Refreshed], Mapping[str, int]] = lambda refreshed: refreshed.versions


RECORDING = Recording()


class Unrecorded(Exception):
    """A version was used that no commit and no refresh made."""

    def __init__(self, step: int, table: str, fact: str) -> None:
        super().__init__(fact)
        self.step, self.table = step, table


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader transaction: its statements in order, and which refresh it stands for, if it is not real."""

    statements: tuple[ReadDone, ...]
    refreshed: Refreshed | None = None

    def single(self, dynamic: frozenset[str]) -> Stored | None:
        """The dynamic table and version, if that is all it reads."""
        seen = {item for done in self.statements for item in done.versions.items()}
        table = next(iter(seen))
        return table if len(seen) == 1 and table[0] in dynamic else None


@dataclass(slots=True)
class Observation:
    """A trace on its way to a history. `names`: every stored version by its name in the history."""

    scenario: Scenario
    trace: Trace
    recording: Recording = RECORDING
    events: list[DraftEvent] = field(default_factory=list)
    names: dict[Stored, Name] = field(default_factory=dict)
    behind: dict[Name, frozenset[Name]] = field(default_factory=dict)
    timestamps: dict[Name, int] = field(default_factory=dict)
    commits: list[tuple[int, int]] = field(default_factory=list)
    derived: dict[str, list[Name]] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    txns: int = 0

    def __post_init__(self) -> None:
        for table in self.scenario.tables:
            self.names[table.name, 0] = Name(table.name, 0)

    @property
    def dynamic(self) -> frozenset[str]:
        """The dynamic tables' names."""
        return frozenset(table.name for table in self.scenario.dynamic_tables)

    def transaction(self) -> int:
        """The next transaction's number."""
        self.txns += 1
        return self.txns

    def name(self, step: int, table: str, version: int, what: str) -> Name:
        """A stored version's name. Raises Unrecorded."""
        found = self.names.get((table, version))
        if found is None:
            raise Unrecorded(step, table, f"{what} version {version} of {table}, which nothing recorded made")
        return found

    def write(self, events: Sequence[SourceWritten]) -> None:
        """A transaction over base tables. A table may get several versions: the last one is installed."""
        made = [
            event
            for event in self.recording.written(events)
            if event.version > self.newest.get(event.table, 0)
        ]
        if not made:
            return
        txn = self.transaction()
        for event in made:
            first = self.newest.get(event.table, 0) + 1
            for number, version in enumerate(range(first, event.version + 1), 1):
                name = Name(event.table, txn, number)
                self.names[event.table, version] = name
                self.events.append(DraftEvent("w", txn, (name,)))
            self.newest[event.table] = event.version
        self.events.append(DraftEvent("c", txn))
        self.commits.append((txn, self.scenario.steps[events[0].step].at))

    def derive(self, refreshed: Refreshed) -> None:
        """A refresh: a derivation in a transaction of its own."""
        what = f"the refresh of {refreshed.table} at {refreshed.timestamp} used"
        sources = tuple(
            self.name(refreshed.step, table, version, what)
            for table, version in self.recording.sources(refreshed).items()
        )
        txn = self.transaction()
        name = Name(refreshed.table, txn, 1)
        self.names[refreshed.table, refreshed.version] = name
        self.derived.setdefault(refreshed.table, []).append(name)
        self.timestamps[name] = refreshed.timestamp
        self.behind[name] = frozenset().union(*(self.behind.get(source, {source}) for source in sources))
        self.events.append(DraftEvent("d", txn, (name,), sources))
        self.events.append(DraftEvent("c", txn))

    def draft(self, readers: Sequence[Reader], timed: bool) -> tuple[Draft, dict[int, Reader]]:
        """The run with some readers; `timed`: with time-precedes items. And who the readers are."""
        grouped = _by_step(self.trace)
        last = {id(reader.statements[-1]): reader for reader in readers}
        owner = {id(done): reader for reader in readers for done in reader.statements}
        txns: dict[int, int] = {}
        who: dict[int, Reader] = {}
        items: list[Precedes] = []
        virtual = {id(r.refreshed): r for r in readers if r.refreshed is not None}
        for group in grouped:
            written = [event for event in group if isinstance(event, SourceWritten)]
            if written:
                self.write(written)
            for event in group:
                if isinstance(event, Refreshed):
                    self.derive(event)
                    reader = virtual.get(id(event))
                    if reader is not None:
                        self.read(reader.statements[0], self.transaction(), reader, who, items, timed)
                        self.events.append(DraftEvent("c", self.txns))
                elif isinstance(event, ReadDone) and id(event) in owner:
                    reader = owner[id(event)]
                    txn = txns.setdefault(id(reader), 0) or self.transaction()
                    txns[id(reader)] = txn
                    self.read(event, txn, reader, who, items, timed)
                    if id(event) in last:
                        self.events.append(DraftEvent("c", txn))
        chains = [Chain(tuple(names)) for names in self.derived.values() if len(names) > 1]
        order = [Precedes(one[0], two[0]) for one, two in zip(self.commits, self.commits[1:], strict=False)]
        draft = Draft(self.scenario.name, self.events, chains, precedes=[*order, *items] if timed else [])
        return draft, who

    def read(
        self,
        done: ReadDone,
        txn: int,
        reader: Reader,
        who: dict[int, Reader],
        items: list[Precedes],
        timed: bool,
    ) -> None:
        """One statement of a reader. Its start: see the module."""
        names = [
            self.name(done.step, table, version, f"reader {done.reader} saw")
            for table, version in done.versions.items()
        ]
        self.events.extend(DraftEvent("r", txn, (name,)) for name in names)
        if txn in who or not timed:
            who[txn] = reader
            return
        who[txn] = reader
        start = self.timestamps[names[0]]
        before = [commit for commit, at in self.commits if at <= start]
        if before:
            items.append(Precedes(before[-1], txn))


def _by_step(trace: Trace) -> Iterator[list[object]]:
    """The events, those of one step together."""
    group: list[object] = []
    step = -1
    for event in trace.events:
        if event.step != step and group:
            yield group
            group = []
        step = event.step
        group.append(event)
    if group:
        yield group


def real_readers(trace: Trace) -> list[Reader]:
    """The reader transactions of a run."""
    found: dict[int, list[ReadDone]] = {}
    for event in trace.events:
        if isinstance(event, ReadDone):
            found.setdefault(event.reader, []).append(event)
    return [Reader(tuple(statements)) for statements in found.values()]
