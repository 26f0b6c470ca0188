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
    readers: dict[int, Reader] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    txn_of: dict[int, int] = field(default_factory=dict)
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
        count: dict[str, int] = {}
        for event in made:
            for version in range(self.newest.get(event.table, 0) + 1, event.version + 1):
                count[event.table] = count.get(event.table, 0) + 1
                name = Name(event.table, txn, count[event.table])
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

    def draft(self, readers: Sequence[Reader], *, timed: bool) -> Draft:
        """The run with some readers; `timed`: with time-precedes items. `readers` says who they are."""
        virtual = {id(reader.refreshed): reader for reader in readers if reader.refreshed is not None}
        owner = {id(done): reader for reader in readers for done in reader.statements}
        for group in _by_step(self.trace):
            written = [event for event in group if isinstance(event, SourceWritten)]
            if written:
                self.write(written)
            for event in group:
                if isinstance(event, Refreshed):
                    self.derive(event)
                    if id(event) in virtual:
                        self.read(virtual[id(event)].statements[0], virtual[id(event)], timed)
                elif isinstance(event, ReadDone) and id(event) in owner:
                    self.read(event, owner[id(event)], timed)
        chains = [Chain(tuple(names)) for names in self.derived.values() if len(names) > 1]
        return Draft(self.scenario.name, self.events, chains, precedes=list(self.times()) if timed else [])

    def times(self) -> Iterator[Precedes]:
        """Commits of base tables one after the other; of each reader the last one before its start."""
        for one, two in zip(self.commits, self.commits[1:], strict=False):
            yield Precedes(one[0], two[0])
        for txn, start in self.starts.items():
            before = [commit for commit, at in self.commits if at <= start]
            if before:
                yield Precedes(before[-1], txn)
            elif any(name.txn == 0 for sources in self.behind.values() for name in sources):
                yield Precedes(0, txn)

    def read(self, done: ReadDone, reader: Reader, timed: bool) -> None:
        """One statement of a reader; with the last one it commits."""
        txn = self.txn_of.get(id(reader))
        if txn is None:
            txn = self.txn_of[id(reader)] = self.transaction()
            self.readers[txn] = reader
        names = [
            self.name(done.step, table, version, f"reader {done.reader} saw")
            for table, version in done.versions.items()
        ]
        self.events.extend(DraftEvent("r", txn, (name,)) for name in names)
        if timed:
            # A pure reader of one dynamic table: see the module.
            self.starts[txn] = self.timestamps[names[0]]
        if done is reader.statements[-1]:
            self.events.append(DraftEvent("c", txn))


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
