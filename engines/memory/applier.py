"""Commits of all processes that write base tables, for the tiers `rules` and `spark`.

Each commit is logged as the engine logs it, so that the engine decides by its own code which commits a data
timestamp stands for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import duckdb

from dynamic_tables.definition import BaseTable
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.ticks.base_log import Stamp
from dynamic_tables.store.transactions.owner import dead_process, this_process
from dynamic_tables.store.transactions.undoing import Undoing
from engines.memory.base_rows import BaseRows, engine_columns
from engines.memory.store import MemoryStore
from workload.dml import Dml, Optimize, Replace, Restore
from workload.scenario import Commit, Meanwhile
from workload.schema import Table
from workload.types import Row

KILLED = dead_process()
"""The owner of transactions whose process was killed."""

RUNNING = this_process()
"""The owner of all other transactions: this process stands for all that run."""

BEFORE_ALL = -1
"""The logical time at which base tables are created."""


class Applier:
    """Applies commits to base tables, and adds each version of each to the engine's store.

    It stands for all processes that write. `written`: for each table its versions, each with the logical
    time of its commit. `replaced`: how often each table was replaced. `inserted`: for a data file that may be
    undone, the first row id in it and the first after it.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, store: MemoryStore[Any]) -> None:
        self.connection = connection
        self.store = store
        self.tables: dict[str, Table] = {}
        self.written: dict[str, list[tuple[int, int]]] = {}
        self.replaced: dict[str, int] = {}
        self.inserted: dict[str, tuple[int, int]] = {}
        self.transactions = 0
        self.clock = SimulatedClock(BEFORE_ALL)
        self.logs = store.base_logs
        self.process = self.logs.process(self.clock, store.version_rules, self.undo_abandoned)
        store.undo_abandoned = self.undo_abandoned
        self.undoing = self._undoing()
        self.base_rows = BaseRows(connection)

    def create(self, table: Table) -> None:
        """Creates an empty base table, whose first version is from before logical time 0."""
        self.tables[table.name] = table
        self.written[table.name] = []
        self.store.create_base_table(BaseTable(table.name, engine_columns(table), key=table.primary_key))
        self.base_rows.create(table)
        self._log(table, (), BEFORE_ALL, None, new=True)
        self.process.polled(table.name)
        self.process.time.add_table(table.name)

    def commit(self, commit: Commit) -> tuple[str, ...]:
        """Applies a transaction that meets no other one; returns the tables it wrote, each in one version."""
        self.clock.set(max(self.clock.time, commit.at))
        changes: dict[str, bool] = {}
        replaced: set[str] = set()
        for statement in commit.statements:
            self._apply(statement)
            name = statement.table
            changes[name] = changes.get(name, False) or not isinstance(statement, Optimize)
            if isinstance(statement, Replace):
                replaced.add(name)
        stamp = self._stamp(commit.at, changes, len(changes))
        for part, (name, changed) in enumerate(changes.items(), 1):
            actions = [_added(self._path(), changed)]
            own_stamp = replace(stamp, part=part)
            self._log(self.tables[name], actions, commit.at, own_stamp, new=name in replaced)
        self.process.time.add_write()
        return tuple(changes)

    # Commits of other processes, part by part

    def parts(self, commit: Commit) -> Sequence[Callable[[], None]]:
        """Returns the parts of a transaction of another process, one for each statement, to be run in order.

        After the last one the transaction is in a tick, as it is when any process has finished its own.
        """
        meanwhile = commit.meanwhile
        assert meanwhile is not None
        names = dict.fromkeys(statement.table for statement in commit.statements)
        stamps: list[Stamp] = []

        def run(part: int, statement: Dml) -> None:
            if part == 1 and meanwhile.abandoned:
                self._abandon(commit, meanwhile)
            if not stamps:
                stamps.append(self._stamp(commit.at + meanwhile.clock, names, len(commit.statements)))
            stamp = None if meanwhile.foreign else replace(stamps[0], part=part)
            with self._noting_ids(statement.table, meanwhile):
                self._statement(statement, commit.at + meanwhile.clock, stamp, commit.at)
            if part == len(commit.statements):
                self._end(commit.at, meanwhile)

        return [partial(run, part, statement) for part, statement in enumerate(commit.statements, 1)]

    def _end(self, at: int, meanwhile: Meanwhile) -> None:
        self.clock.set(max(self.clock.time, at))
        if meanwhile.foreign:
            # A foreign writer adds no tick; another process of the engine looks before the next step.
            self.process.time.decide(at)
        else:
            self.process.time.add_write()

    def _abandon(self, commit: Commit, meanwhile: Meanwhile) -> None:
        """Runs the same inserts in a transaction whose process is killed before its last part."""
        names = dict.fromkeys(statement.table for statement in commit.statements)
        stamp = self._stamp(commit.at + meanwhile.clock, names, len(commit.statements) + 1, KILLED)
        for part, statement in enumerate(commit.statements, 1):
            with self._noting_ids(statement.table, meanwhile):
                self._statement(statement, commit.at + meanwhile.clock, replace(stamp, part=part), commit.at)

    @contextmanager
    def _noting_ids(self, name: str, meanwhile: Meanwhile) -> Iterator[None]:
        """Notes which rows a statement inserts into which file, where an undo may have to take them away."""
        if not meanwhile.abandoned:
            yield
            return
        path, first = self._path(), self.base_rows.next_id(name)
        yield
        self.inserted[path] = (first, self.base_rows.next_id(name))

    def _statement(self, statement: Dml, clock: int, stamp: Stamp | None, at: int) -> None:
        """Commits one statement as a version of its own."""
        self._apply(statement)
        actions = [_added(self._path(), not isinstance(statement, Optimize))]
        is_new = isinstance(statement, Replace)
        self._log(self.tables[statement.table], actions, clock, stamp, new=is_new, at=at)

    def undo_abandoned(self) -> None:
        """Undoes, by the engine's own code, the transactions of processes that were killed."""
        self.undoing.undo_abandoned()

    def _undoing(self) -> Undoing:
        process = self.logs.process(self.clock, self.store.version_rules)
        return Undoing(
            folder=_Folder(process, self._write_undo),
            logs=process.logs,
            ticked=process.ticked,
            rules=self.store.version_rules,
        )

    def _write_undo(self, name: str, text: str) -> None:
        """Takes the rows of removed files away, and logs the commit that removes them."""
        actions = [json.loads(line) for line in text.splitlines()]
        for action in actions:
            if "remove" in action:
                first, end = self.inserted[action["remove"]["path"]]
                self.base_rows.delete_between(name, first, end)
        self.written[name].append((self._add_rows(self.tables[name]), self.written[name][-1][1]))
        self.logs.put(name, text)

    # Versions

    def rows(self, name: str) -> tuple[Row, ...]:
        """Returns the current rows of a base table, without their ids."""
        return self.base_rows.current(self.tables[name])

    def newest(self, name: str) -> int:
        """Returns the number of a table's newest version."""
        return self.written[name][-1][0]

    def _log(
        self,
        table: Table,
        actions: Sequence[Mapping[str, Mapping[str, object]]],
        clock: int,
        stamp: Stamp | None,
        *,
        new: bool,
        at: int | None = None,
    ) -> None:
        """Adds the current rows as a version. `clock`: what the writer's clock shows; `at`: logical time."""
        number = self._add_rows(table)
        self.written[table.name].append((number, clock if at is None else at))
        identity = f"{table.name}#{self.replaced.get(table.name, 0)}" if new else None
        self.logs.commit(table.name, actions, at=clock, stamp=stamp, identity=identity)

    def _add_rows(self, table: Table) -> int:
        name = self.base_rows.snapshot(table, len(self.store.tables[table.name].rows))
        rows = self.store.from_duckdb(self.connection, name, engine_columns(table))
        return self.store.add_rows(table.name, rows)

    def _stamp(self, clock: int, names: Iterable[str], parts: int, owner: str = RUNNING) -> Stamp:
        self.transactions += 1
        before = {name: self.logs.versions[name] - 1 for name in names}
        return Stamp(
            transaction=str(self.transactions),
            timestamp=clock,
            part=0,
            parts=parts,
            before=before,
            owner=owner,
        )

    def _path(self) -> str:
        """Returns the name of the next commit's data file, unique by the number of all versions so far."""
        return f"file {sum(self.logs.versions.values())}"

    def _apply(self, statement: Dml) -> None:
        name, restored = statement.table, 0
        if isinstance(statement, Restore):
            restored = max(version for version, at in self.written[name] if at <= statement.to)
        self.base_rows.apply(statement, self.tables[name], restored)
        if isinstance(statement, Replace):
            self.replaced[name] = self.replaced.get(name, 0) + 1


class _Folder:
    """The logs of a process as an undo reads and writes them."""

    def __init__(self, process: Any, write: Callable[[str, str], None]) -> None:
        self.process = process
        self.write = write

    def polled(self, name: str) -> TableLog:
        log: TableLog = self.process.polled(name)
        return log

    def active(self, name: str) -> ActiveFiles | None:
        active: ActiveFiles = self.process.active(name)
        return active

    def write_commit(self, name: str, version: int, text: str) -> bool:
        self.write(name, text)
        return True


def _added(path: str, changed: bool) -> Mapping[str, Mapping[str, object]]:
    return {"add": {"path": path, "dataChange": changed}}
