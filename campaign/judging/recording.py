"""Records a trace as a history: its tables as objects, commits as writes, refreshes as derivations.

`run_history` judges the histories; a planted fault replaces a function of `Recording`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby, pairwise

from dvs_model.histories.draft import Chain, Draft, DraftEvent, Name, Precedes
from workload.outcomes.trace import ReadDone, Refreshed, SourceWritten, Trace
from workload.scenario import Scenario

TableVersion = tuple[str, int]
"""A table and one of its versions, as the platform numbers them."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Which events of a run are recorded.

    `written`: the writes of one transaction. `sources`: the source versions that a refresh derived from.
    """

    written: Callable[[Sequence[SourceWritten]], Sequence[SourceWritten]] = lambda events: events
    sources: Callable[[Refreshed], Mapping[str, int]] = lambda refreshed: refreshed.versions


RECORDING = Recording()


class Unrecorded(Exception):
    """Raised for a version that a refresh or a reader used and that no recorded commit or refresh made."""

    def __init__(self, step: int, table: str, message: str) -> None:
        super().__init__(message)
        self.step, self.table = step, table


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader transaction and its statements, in order.

    `run_history` adds readers that the scenario does not have, one for each version of a dynamic table.
    `refreshed`: the refresh that made this version; None for a reader of the scenario.
    """

    statements: tuple[ReadDone, ...]
    refreshed: Refreshed | None = None

    def reads_one(self, dynamic: frozenset[str]) -> bool:
        """Tells whether the reader reads one version of one dynamic table and nothing else."""
        read = {version for statement in self.statements for version in statement.versions.items()}
        return len(read) == 1 and next(iter(read))[0] in dynamic


@dataclass(slots=True)
class Observation:
    """Builds a history from a trace.

    `names`: the name of every table version in the history. `behind`: for each derived version, the versions
    of base tables from which it derives. `timestamps`: the data timestamp of each derived version. `commits`:
    (transaction, logical time) of each commit to base tables. `derived`: the versions of each dynamic table,
    in order. `newest`: the newest version of each base table. `readers`: each reader by its transaction.
    `starts`: the logical time at which a reader starts. `txn_of`: a reader's transaction, by `id(reader)`.
    `txns`: the numbers of transactions that are not used yet.
    """

    scenario: Scenario
    trace: Trace
    recording: Recording = RECORDING
    events: list[DraftEvent] = field(default_factory=list)
    names: dict[TableVersion, Name] = field(default_factory=dict)
    behind: dict[Name, frozenset[Name]] = field(default_factory=dict)
    timestamps: dict[Name, int] = field(default_factory=dict)
    commits: list[tuple[int, int]] = field(default_factory=list)
    derived: dict[str, list[Name]] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    readers: dict[int, Reader] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    txn_of: dict[int, int] = field(default_factory=dict)
    txns: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        # Version 0 of a base table is there before any transaction.
        for table in self.scenario.tables:
            self.names[table.name, 0] = Name(table.name, 0)

    @property
    def dynamic(self) -> frozenset[str]:
        """The names of the dynamic tables."""
        return frozenset(table.name for table in self.scenario.dynamic_tables)

    def name(self, step: int, table: str, version: int, what: str) -> Name:
        """Returns the name of a table version. Raises Unrecorded: `what` says in the message who used it."""
        name = self.names.get((table, version))
        if name is None:
            raise Unrecorded(step, table, f"{what} version {version} of {table}, which nothing recorded made")
        return name

    def write(self, events: Sequence[SourceWritten]) -> None:
        """Records a transaction over base tables; of several versions of a table it installs the last."""
        new = [
            event
            for event in self.recording.written(events)
            if event.version > self.newest.get(event.table, 0)
        ]
        if not new:
            return
        txn = next(self.txns)
        writes: Counter[str] = Counter()
        for event in new:
            for version in range(self.newest.get(event.table, 0) + 1, event.version + 1):
                writes[event.table] += 1
                name = Name(event.table, txn, writes[event.table])
                self.names[event.table, version] = name
                self.events.append(DraftEvent("w", txn, (name,)))
            self.newest[event.table] = event.version
        self.events.append(DraftEvent("c", txn))
        self.commits.append((txn, self.scenario.steps[events[0].step].at))

    def derive(self, refreshed: Refreshed) -> None:
        """Records a refresh as a derivation in a transaction of its own. Raises Unrecorded."""
        what = f"the refresh of {refreshed.table} at {refreshed.timestamp} used"
        sources = tuple(
            self.name(refreshed.step, table, version, what)
            for table, version in self.recording.sources(refreshed).items()
        )
        txn = next(self.txns)
        name = Name(refreshed.table, txn, 1)
        self.names[refreshed.table, refreshed.version] = name
        self.derived.setdefault(refreshed.table, []).append(name)
        self.timestamps[name] = refreshed.timestamp
        self.behind[name] = frozenset().union(*(self.behind.get(source, {source}) for source in sources))
        self.events.append(DraftEvent("d", txn, (name,), sources))
        self.events.append(DraftEvent("c", txn))

    def draft(self, readers: Sequence[Reader], *, timed: bool) -> Draft:
        """Returns the run with some readers as a history. `timed`: with time-precedes items.

        Raises Unrecorded.
        """
        made_up = {id(reader.refreshed): reader for reader in readers if reader.refreshed is not None}
        # By identity: two readers may make equal statements.
        reader_of = {id(statement): reader for reader in readers for statement in reader.statements}
        for _, events in groupby(self.trace.events, key=lambda event: event.step):
            group = list(events)
            written = [event for event in group if isinstance(event, SourceWritten)]
            if written:
                self.write(written)
            for event in group:
                if isinstance(event, Refreshed):
                    self.derive(event)
                    if id(event) in made_up:
                        self.read(made_up[id(event)].statements[0], made_up[id(event)], timed)
                elif isinstance(event, ReadDone) and id(event) in reader_of:
                    self.read(event, reader_of[id(event)], timed)
        chains = [Chain(tuple(names)) for names in self.derived.values() if len(names) > 1]
        return Draft(self.scenario.name, self.events, chains, precedes=list(self.times()) if timed else [])

    def times(self) -> Iterator[Precedes]:
        """Yields the order in time: each commit before the next, and the last one before a reader's start."""
        for (first, _), (second, _) in pairwise(self.commits):
            yield Precedes(first, second)
        for txn, start in self.starts.items():
            before = [commit for commit, at in self.commits if at <= start]
            if before:
                yield Precedes(before[-1], txn)
            elif any(name.txn == 0 for sources in self.behind.values() for name in sources):
                yield Precedes(0, txn)

    def read(self, statement: ReadDone, reader: Reader, timed: bool) -> None:
        """Records one statement of a reader, and the commit with its last one. Raises Unrecorded."""
        txn = self.txn_of.get(id(reader))
        if txn is None:
            txn = self.txn_of[id(reader)] = next(self.txns)
            self.readers[txn] = reader
        names = [
            self.name(statement.step, table, version, f"reader {statement.reader} saw")
            for table, version in statement.versions.items()
        ]
        self.events.extend(DraftEvent("r", txn, (name,)) for name in names)
        if timed:
            # It reads one dynamic table alone, and delayed view semantics promises it the snapshot of the
            # data timestamp, so it starts then.
            self.starts[txn] = self.timestamps[names[0]]
        if statement is reader.statements[-1]:
            self.events.append(DraftEvent("c", txn))


def real_readers(trace: Trace) -> list[Reader]:
    """Returns the reader transactions of a run, in the order of their first statements."""
    statements: dict[int, list[ReadDone]] = {}
    for event in trace.events:
        if isinstance(event, ReadDone):
            statements.setdefault(event.reader, []).append(event)
    return [Reader(tuple(of_reader)) for of_reader in statements.values()]
