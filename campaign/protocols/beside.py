"""The workload `views` of `dvs record` on dynamic tables: accounts of this project in memory, and pg_ivm.

Goods go from `stock` to `sold` as on PostgreSQL, in transactions one after the other; readers come between
any two steps of a refresh. Each dynamic table holds the rows of its table, each of which names its writer, so
a reader sees from which versions it is derived.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from campaign.verify.protocol_steps import SteppingStore
from dynamic_tables.account import Account
from dynamic_tables.operations.runner import Runner
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.port import Store
from engines.errors import EngineError
from engines.memory.applier import Applier
from engines.memory.database import Connection, own_database
from engines.memory.duck_store import DuckStore
from engines.others.node.pglite import server_of_thread
from protocols.recording.clients import Load
from protocols.recording.database import RecordingError
from protocols.recording.views import (
    READERS,
    REFRESH,
    TABLES,
    WRITE,
    Contents,
    RowVersion,
    Seen,
    Snapshot,
    Views,
)
from protocols.recording.workloads import FIRST_BALANCE
from workload.dml import Insert, Merge
from workload.scenario import Commit
from workload.schema import Column, Table
from workload.types import INT

PERIOD = 48 * SECOND
Rows = Sequence[tuple[int, int, int]]
"""Rows of a table: of each its key, its amount, and the transaction that wrote it last."""


class System(ABC):
    """A system to record: the tables stock and sold, and over each a dynamic table (`stock_total`)."""

    @abstractmethod
    def write(self, changed: Mapping[str, tuple[int, int, int]]) -> None:
        """Changes a row of each table, in one transaction; `changed`: by table the new row."""

    @abstractmethod
    def refresh(self, reader: Callable[[], None]) -> None:
        """Refreshes what is due; `reader` is called between any two steps."""

    @abstractmethod
    def refreshes(self) -> Iterator[tuple[str, int, Rows]]:
        """Yields the refreshes since the last call: the dynamic table, how many writes it shows, its rows."""

    @abstractmethod
    def rows(self, name: str) -> Rows:
        """Returns what readers of a table or dynamic table see now."""


@dataclass(slots=True)
class InMemory(System):
    """An account of this project. `group`: the isolation of a refresh group of both, or empty: no group."""

    connection: Connection
    keys: int
    group: str
    clock: SimulatedClock = field(default_factory=SimulatedClock)
    store: DuckStore = field(init=False)
    applier: Applier = field(init=False)
    seen: dict[str, int] = field(default_factory=dict)
    turn: int = 1

    def __post_init__(self) -> None:
        self.store = DuckStore(self.connection)
        self.applier = Applier(self.connection, self.store)
        for name in TABLES:
            self.applier.create(Table(name, tuple(Column(each, INT) for each in ("k", "amount", "writer"))))
        amounts = {"stock": FIRST_BALANCE, "sold": 0}
        first = (
            Insert(name, tuple((key, amounts[name], 0) for key in range(1, self.keys + 1))) for name in TABLES
        )
        self.clock.set(10)
        self.applier.commit(Commit(10, tuple(first)))
        account = self._account(lambda: None)
        for name in TABLES:
            # With another lag, a table is not due at each time of the other one.
            lag = 120 if name == "sold" and self.group == "read_committed" else 60
            query = f"SELECT k, amount, writer FROM {name}"
            account.create_dynamic_table(f"{name}_total", query, target_lag=lag * SECOND)
        if self.group:
            # Members of a group have a table in common: here a join above both.
            join = "SELECT stock_total.k FROM stock_total JOIN sold_total ON stock_total.k = sold_total.k"
            account.create_dynamic_table("both", join, target_lag=120 * SECOND)
            account.create_refresh_group("g", tuple(f"{name}_total" for name in TABLES), self.group)

    def _account(self, step: Callable[[], None]) -> Account:
        return Account(store=cast(Store, SteppingStore(self.store, lambda _: step())), clock=self.clock)

    def write(self, changed: Mapping[str, tuple[int, int, int]]) -> None:
        # After the last write, which left one version less, and before the time of the next refresh.
        at = self.turn * PERIOD - 1000 + len(self.store.tables["stock"].rows)
        self.clock.set(at)
        rows = (Merge(name, ("k",), (row,), None, False) for name, row in changed.items())
        self.applier.commit(Commit(at, tuple(rows)))

    def refresh(self, reader: Callable[[], None]) -> None:
        self.clock.set(self.turn * PERIOD + 500)
        self.turn += 1
        Runner(account=self._account(reader), beats=False).run_due()

    def refreshes(self) -> Iterator[tuple[str, int, Rows]]:
        for name in (f"{table}_total" for table in TABLES):
            records = self.store.tables[name].records
            for number in range(self.seen.get(name, 0), len(records)):
                version = records[number].frontier.sources[name.removesuffix("_total")].version
                # Version 0 is the empty table, version 1 has the first rows; each writer adds one.
                yield name, version - 1, self._rows(name, number)
            self.seen[name] = len(records)

    def _rows(self, name: str, version: int) -> Rows:
        found = self.store.tables[name].rows[version].rows()
        return sorted((int(str(k)), int(str(amount)), int(str(writer))) for k, amount, writer, *_ in found)

    def rows(self, name: str) -> Rows:
        if name in TABLES:
            return self._rows(name, -1)
        account = self._account(lambda: None)
        table = account.dynamic_table(name)
        times = [record.frontier.timestamp for record in self.store.refreshes(table)]
        return self._rows(name, times.index(account.visible(table)[-1]))


@dataclass(slots=True)
class PgIvm(System):
    """pg_ivm on PGlite, which has one session: what a writer changes is in the views when it commits."""

    keys: int
    writes: int = 0
    seen: int = -1

    def __post_init__(self) -> None:
        texts = ["DROP SCHEMA IF EXISTS dvs_recording CASCADE", "CREATE SCHEMA dvs_recording"]
        texts.append("SET search_path = dvs_recording")
        for name, amount in zip(TABLES, (FIRST_BALANCE, 0), strict=True):
            texts += [
                f"CREATE TABLE {name} (k INT PRIMARY KEY, amount INT, writer INT)",
                f"INSERT INTO {name} SELECT k, {amount}, 0 FROM generate_series(1, {self.keys}) k",
                f"SELECT pgivm.create_immv('{name}_total', 'SELECT k, amount, writer FROM {name}')",
            ]
        for text in texts:
            server_of_thread().connection.execute(text)

    def write(self, changed: Mapping[str, tuple[int, int, int]]) -> None:
        connection = server_of_thread().connection
        with connection.transaction():
            for name, (key, amount, writer) in changed.items():
                connection.execute(f"UPDATE {name} SET amount = {amount}, writer = {writer} WHERE k = {key}")
        self.writes += 1

    def refresh(self, reader: Callable[[], None]) -> None:
        reader()

    def refreshes(self) -> Iterator[tuple[str, int, Rows]]:
        if self.seen < self.writes:
            self.seen = self.writes
            yield from ((name, self.writes, self.rows(name)) for name in ("stock_total", "sold_total"))

    def rows(self, name: str) -> Rows:
        found = server_of_thread().connection.execute(f"SELECT k, amount, writer FROM {name} ORDER BY k")
        return [(int(k), int(amount), int(writer)) for k, amount, writer in found.fetchall()]


def _account(group: str) -> Callable[[int], AbstractContextManager[System]]:
    @contextmanager
    def opened(keys: int) -> Iterator[System]:
        with own_database() as connection:
            yield InMemory(connection, keys, group)

    return opened


@contextmanager
def _pg_ivm(keys: int) -> Iterator[System]:
    try:
        yield PgIvm(keys)
    except EngineError as error:
        raise RecordingError(str(error)) from error


SYSTEMS: Mapping[str, Mapping[str, Callable[[int], AbstractContextManager[System]]]] = MappingProxyType(
    {
        "account": {
            "no-group": _account(""),
            "read-committed": _account("read_committed"),
            "repeatable-read": _account("repeatable_read"),
        },
        "pg_ivm": {"immediate": _pg_ivm},
    }
)
"""By name and isolation level the function that opens a system with a number of keys."""


@dataclass(slots=True)
class _Recording:
    """A run. `xid`: the number of the last transaction that wrote; `writers`: those of writers, in order.

    `made`: by dynamic table what its refreshes left. `places`: by row how many versions were written.
    """

    system: System
    load: Load
    draw: random.Random
    seen: list[Seen] = field(default_factory=list)
    xid: int = 0
    writers: list[int] = field(default_factory=list)
    made: dict[str, list[Contents]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)

    def _note(self, kind: str, shown: int) -> Seen:
        """Adds a transaction of a kind, which sees those up to the number `shown`, and returns it."""
        seen = Seen(len(self.seen) + 1, kind, Snapshot(shown + 1, frozenset()), committed=True)
        seen.ended = seen.number
        self.seen.append(seen)
        return seen

    def write(self) -> None:
        """Runs a writer, which moves goods of one key from stock to sold."""
        key, amount = self.draw.randint(1, self.load.keys), self.draw.randint(1, 3)
        seen = self._note(WRITE, self.xid)
        changed = {}
        for table, change in zip(TABLES, (-amount, amount), strict=True):
            _, held, writer = self.system.rows(table)[key - 1]
            name = f"{table}_{key}"
            seen.rows.append(RowVersion(name, writer, held))
            changed[table] = (key, held + change, seen.number)
            self.places[name] = self.places.get(name, 0) + 1
            seen.written.append((RowVersion(name, seen.number, held + change), self.places[name]))
        self.system.write(changed)
        self.xid += 1
        seen.xid = self.xid
        self.writers.append(self.xid)

    def refreshes(self) -> None:
        """Notes the refreshes since the last call: each sees the writes that it shows, and nothing later."""
        for view, writers, rows in self.system.refreshes():
            seen = self._note(REFRESH, self.writers[writers - 1] if writers else 0)
            self.xid += 1
            seen.xid = seen.order = self.xid
            seen.refreshed = _contents(view, self.xid, rows)
            self.made.setdefault(view, []).append(seen.refreshed)

    def read(self) -> None:
        """Runs a reader of a random kind. Raises RecordingError: it saw what no refresh has left."""
        self.refreshes()
        kind = self.draw.choice(list(READERS))
        seen = self._note(kind, self.xid)
        for name in READERS[kind]:
            rows = self.system.rows(name)
            if name in TABLES:
                seen.rows += [RowVersion(f"{name}_{key}", writer, amount) for key, amount, writer in rows]
                continue
            sources = _contents(name, 0, rows)
            same = [contents for contents in self.made[name] if contents.sources == sources.sources]
            if not same:
                raise RecordingError(f"T{seen.number} saw contents of {name} that no refresh has left there")
            seen.views.append(same[-1])


def _contents(view: str, xid: int, rows: Rows) -> Contents:
    table = view.removesuffix("_total")
    sources = tuple((f"{table}_{key}", writer) for key, _, writer in rows)
    return Contents(view, xid, sources, sum(amount for _, amount, _ in rows))


def recorded_beside(name: str, isolation: str | None, load: Load) -> Views:
    """Runs writers, refreshes and readers on a system, one after the other, and returns what they saw.

    Raises RecordingError: there is no such level, or a reader saw what no refresh has left.
    """
    levels = SYSTEMS[name]
    level = isolation or next(iter(levels))
    if level not in levels:
        raise RecordingError(f"{name} has no isolation level {level}; take one of {', '.join(levels)}")
    draw = random.Random(f"{load.seed} beside")
    with levels[level](load.keys) as system:
        run = _Recording(system, load, draw)

        def reader() -> None:
            if draw.random() < 0.15:
                run.read()

        while len(run.seen) < (load.transactions or 300):
            for _ in range(draw.randint(1, 3)):
                run.write()
                # On pg_ivm the write has refreshed the views already.
                run.refreshes()
                reader()
            system.refresh(reader)
            run.read()
        run.refreshes()
    return Views(run.seen, load.keys * FIRST_BALANCE, {}, False)
