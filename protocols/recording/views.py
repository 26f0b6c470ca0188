"""Materialized views of PostgreSQL beside their tables: what writers, refreshers and readers see.

Goods go from `stock` to `sold`, so that both tables together always hold the same amount. Each row names the
transaction that wrote it. A view holds a total, the writers of the rows that it was computed from, and the
transaction that refreshed it: so whoever reads it sees from which versions it is derived.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random

from protocols.recording.clients import Crew, Load
from protocols.recording.database import Aborted, RecordingError
from protocols.recording.postgres import PostgresConnection, PostgresServer
from protocols.recording.workloads import FIRST_BALANCE, Workload

VIEWS = Workload("views", True, False, False, lambda keys, clients: {}, lambda draw: ())
"""Its transactions are drawn here, because they read tables and views and not single keys."""

TABLES = ("stock", "sold")
READERS: Mapping[str, tuple[str, ...]] = {
    "one view alone": ("stock_total",),
    "two views": ("stock_total", "sold_total"),
    "a view and a table": ("stock_total", "sold"),
    "two tables": ("stock", "sold"),
}
"""By the name of a kind of readers what each of them reads, in one transaction."""

WRITE, REFRESH = "write", "refresh"


@dataclass(frozen=True, slots=True)
class RowVersion:
    """A version of a row. `writer`: the number of the transaction that wrote it; 0: it was there at first."""

    obj: str
    writer: int
    amount: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What a view held. `xid`: PostgreSQL's number of the refresh. `sources`: rows and their writers."""

    view: str
    xid: int
    sources: tuple[tuple[str, int], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Which transactions PostgreSQL shows: those below `end` that were not `running`, by its own numbers."""

    end: int
    running: frozenset[int]

    @classmethod
    def of(cls, text: str) -> Snapshot:
        """Reads PostgreSQL's text, such as 10:14:10,12."""
        _, end, running = text.split(":")
        return cls(int(end), frozenset(map(int, filter(None, running.split(",")))))

    def shows(self, xid: int) -> bool:
        """Tells whether it shows what a transaction did."""
        return xid < self.end and xid not in self.running


@dataclass(slots=True)
class Seen:
    """What a transaction did and saw. `kind`: WRITE, REFRESH, or a kind of readers.

    `xid`: PostgreSQL's number of one that writes. `written`: with the place of each version in its
    row. `refreshed`: what a refresh left, and `order`: a number that grows with each refresh of a view.
    `ended`: its place among all ends.
    """

    number: int
    kind: str
    snapshot: Snapshot
    xid: int = 0
    committed: bool = False
    rows: list[RowVersion] = field(default_factory=list)
    views: list[Contents] = field(default_factory=list)
    written: list[tuple[RowVersion, int]] = field(default_factory=list)
    refreshed: Contents | None = None
    order: int = 0
    ended: int = 0

    @property
    def total(self) -> int | None:
        """What a reader has counted of all goods; None: it sees a part of them."""
        counted = sum(row.amount for row in self.rows) + sum(view.total for view in self.views)
        return counted if len(READERS.get(self.kind, ())) > 1 else None


@dataclass(slots=True)
class Views:
    """The transactions of a run, in the order of their ends. `due`: what both tables hold together.

    `refused`: how many transactions failed, by error class.
    """

    seen: list[Seen]
    due: int
    refused: Mapping[str, int]
    interrupted: bool


def recorded_views(
    server: PostgresServer, run: Load, clock: Callable[[], int] = time.perf_counter_ns
) -> Views:
    """Runs writers, refreshers and readers and returns what they saw.

    Raises RecordingError: the server cannot be used, or two clients disagree about what a refresh has read.
    """
    with server.place(lists=False):
        whole = _Run(server, run, Crew(run, clock, clock()))
        whole.load()
        interrupted = whole.crew.work(whole.client, lambda: None)
    seen = sorted(whole.seen, key=lambda each: each.ended)
    _ensure_agreement(seen)
    return Views(seen, run.keys * FIRST_BALANCE, whole.refused, interrupted)


def _ensure_agreement(seen: list[Seen]) -> None:
    """Raises RecordingError where a client has seen other contents of a view than its refresh has noted."""
    refreshes = {each.refreshed.xid: each for each in seen if each.refreshed is not None and each.committed}
    for each in seen:
        if each.refreshed is not None and each.refreshed.xid != each.xid:
            raise RecordingError(
                f"T{each.number} refreshed {each.refreshed.view} and then noted what another transaction had "
                "left there; its versions must be read before it commits"
            )
        for view in each.views:
            maker = refreshes.get(view.xid)
            if maker is None or maker.refreshed != view:
                refresh = f"T{maker.number}" if maker else f"PostgreSQL's transaction {view.xid}"
                raise RecordingError(
                    f"T{each.number} has read {view.view} as {refresh} left it, and saw other versions "
                    "behind it than the refresh has noted; one of them is recorded wrongly"
                )


@dataclass(slots=True)
class _Run:
    """A run. `seen`: all transactions but those of readers that failed."""

    server: PostgresServer
    run: Load
    crew: Crew
    seen: list[Seen] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    numbers: count[int] = field(default_factory=lambda: count(1))
    ends: count[int] = field(default_factory=lambda: count(1))

    def load(self) -> None:
        """Makes the tables, and both views in a transaction each."""
        connection = self.server.session()
        for table in TABLES:
            connection.execute(
                f"CREATE TABLE {table} (k INT PRIMARY KEY, amount INT, writer BIGINT, n BIGINT)"
            )
            amount = FIRST_BALANCE if table == "stock" else 0
            connection.execute(
                f"INSERT INTO {table} SELECT k, {amount}, 0, 0 FROM generate_series(1, {self.run.keys}) k"
            )
            connection.execute(
                f"CREATE MATERIALIZED VIEW {table}_total AS SELECT 1 AS one, sum(amount) AS total, "
                "array_agg(writer ORDER BY k) AS writers, pg_current_xact_id()::text::bigint AS refresh "
                f"FROM {table}"
            )
            connection.execute(f"CREATE UNIQUE INDEX ON {table}_total (one)")
            self._refresh(connection, f"{table}_total", concurrently=False)
        connection.close()

    def client(self, client: int) -> None:
        """Runs the transactions of a client; half of them read. Refreshers refresh in most of theirs."""
        connection = self.server.session()
        try:
            for number in self.crew.numbers(client):
                random = Random(f"{self.run.seed} views {client} {number}")
                chance = random.random()
                if client < self.run.refreshers and chance < 0.6:
                    view = f"{random.choice(TABLES)}_total"
                    self._refresh(connection, view, concurrently=not self.run.plain or random.random() < 0.5)
                elif chance < 0.5:
                    self._write(connection, random)
                else:
                    self._read(connection, random.choice(list(READERS)))
        finally:
            connection.close()

    def _begun(self, connection: PostgresConnection, kind: str) -> Seen:
        connection.begin()
        [[text]] = connection.execute("SELECT pg_current_snapshot()::text")
        return Seen(next(self.numbers), kind, Snapshot.of(text))

    def _attempt(self, connection: PostgresConnection, kind: str, does: Callable[[Seen], None]) -> None:
        """Runs a transaction and keeps what it saw; of one that was refused, what it wrote."""
        seen: Seen | None = None
        try:
            seen = self._begun(connection, kind)
            does(seen)
            connection.commit()
            seen.committed = True
        except Aborted as error:
            connection.rollback()
            self.refused[str(error)] += 1
        if seen is not None and (seen.committed or seen.written):
            with _ENDS:
                seen.ended = next(self.ends)
            self.seen.append(seen)

    def _refresh(self, connection: PostgresConnection, view: str, *, concurrently: bool) -> None:
        def does(seen: Seen) -> None:
            connection.execute(f"REFRESH MATERIALIZED VIEW {'CONCURRENTLY ' if concurrently else ''}{view}")
            # It holds the view's lock until it commits: so the next refresh gets a greater number.
            seen.order = self.crew.clock()
            seen.xid = _xid(connection)
            seen.refreshed = contents(connection, view)

        self._attempt(connection, REFRESH, does)

    def _write(self, connection: PostgresConnection, random: Random) -> None:
        key, amount = random.randint(1, self.run.keys), random.randint(1, 3)

        def does(seen: Seen) -> None:
            seen.xid = _xid(connection)
            for table, change in zip(TABLES, (-amount, amount), strict=True):
                [[old, writer]] = connection.execute(f"SELECT amount, writer FROM {table} WHERE k = {key}")
                seen.rows.append(RowVersion(f"{table}_{key}", writer, old))
                [[new, place]] = connection.execute(
                    f"UPDATE {table} SET amount = amount + {change}, writer = {seen.number}, n = n + 1 "
                    f"WHERE k = {key} RETURNING amount, n"
                )
                seen.written.append((RowVersion(f"{table}_{key}", seen.number, new), place))

        self._attempt(connection, WRITE, does)

    def _read(self, connection: PostgresConnection, kind: str) -> None:
        def does(seen: Seen) -> None:
            for name in READERS[kind]:
                if name in TABLES:
                    rows = connection.execute(f"SELECT k, writer, amount FROM {name} ORDER BY k")
                    seen.rows += [RowVersion(f"{name}_{key}", writer, amount) for key, writer, amount in rows]
                else:
                    seen.views.append(contents(connection, name))

        self._attempt(connection, kind, does)


_ENDS = threading.Lock()


def _xid(connection: PostgresConnection) -> int:
    return int(connection.execute("SELECT pg_current_xact_id()::text")[0][0])


def contents(connection: PostgresConnection, view: str) -> Contents:
    """Returns what a view holds, for the transaction that is open."""
    [[total, writers, xid]] = connection.execute(f"SELECT total, writers, refresh FROM {view}")
    table = view.removesuffix("_total")
    sources = tuple((f"{table}_{key}", writer) for key, writer in enumerate(writers, 1))
    return Contents(view, xid, sources, total)
