"""`dvs verify groups`: what a reader of two dynamic tables without a common source may see, as histories.

Tables b and c are written by users, often both in one transaction. p is a dynamic table over b, q one over c,
and j joins p and q. Readers read p and q, or j alone. Runs are random, on the engine's own code in memory;
the readers come between any two steps of a refresh. Each run is recorded as a history with derivations: a
reader that sees one half of a transaction shows G-single, read skew. Only the derivations reveal it, since
nobody reads b and c.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import cast

from campaign.verify.protocol_steps import SteppingStore
from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import check
from dvs_model.histories.history import History
from dvs_model.notation import parse
from dvs_model.theory.names import Phenomenon
from dynamic_tables.account import Account
from dynamic_tables.operations.runner import Runner
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.port import Store
from engines.memory.applier import Applier
from engines.memory.database import Connection, own_database
from engines.memory.duck_store import DuckStore
from workload.dml import Insert
from workload.outcomes.decision import Decision
from workload.scenario import Commit
from workload.schema import Column, Table
from workload.types import INT

PERIOD = 48 * SECOND
BASES = {"p": "b", "q": "c"}
"""The dynamic tables over one base table each."""

READS = {"p": ("b",), "q": ("c",), "j": ("p", "q")}
"""What each dynamic table reads."""

JOIN = "SELECT p.k FROM p JOIN q ON p.k = q.k"


class Setting(Enum):
    """How the tables are refreshed, the weakest first.

    PERSISTED: j reads what p and q hold at the time of its refresh, whatever their data timestamps
    (persisted table semantics, DVS paper, section 3.1.1). The engine does not do this; it is recorded as if.
    In the other settings j reads both at one data timestamp, and is read beside p and q.
    """

    PERSISTED = "persisted tables"
    APART = "no group"
    READ_COMMITTED = "read_committed"
    REPEATABLE_READ = "repeatable_read"


@dataclass(slots=True)
class RecordedRun:
    """A run as the text of a history. `writers`: the transaction that made each version of a table.

    `order`: the transactions that wrote each table, in order. `last`: the number of the newest transaction.
    """

    events: list[str] = field(default_factory=list)
    writers: dict[tuple[str, int], int] = field(default_factory=dict)
    order: dict[str, list[int]] = field(default_factory=dict)
    last: int = 0

    def transaction(self) -> int:
        """Returns the number of a new transaction."""
        self.last += 1
        return self.last

    def made(self, table: str, version: int, by: int) -> str:
        """Notes a version of a table, and returns its name in the history."""
        self.writers[table, version] = by
        self.order.setdefault(table, []).append(by)
        return f"{table}{by}"

    def text(self) -> str:
        """Returns the history in the text notation."""
        orders = [" << ".join(f"{table}{by}" for by in ids) for table, ids in self.order.items() if ids[1:]]
        return "\n".join([*self.events, *([f"[{', '.join(orders)}]"] if orders else [])])


@dataclass(slots=True)
class Run:
    """An account with two base tables and three dynamic tables, and the recording of what happens to it.

    `persisted`: how many persisted versions of j are recorded; `refreshed`: how many refreshes of each table.
    """

    connection: Connection
    setting: Setting
    draw: random.Random
    recording: RecordedRun = field(default_factory=RecordedRun)
    clock: SimulatedClock = field(default_factory=SimulatedClock)
    store: DuckStore = field(init=False)
    applier: Applier = field(init=False)
    persisted: int = 0
    refreshed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(READS, 0))

    def __post_init__(self) -> None:
        self.store = DuckStore(self.connection)
        self.applier = Applier(self.connection, self.store)
        for name in BASES.values():
            self.applier.create(Table(name, (Column("k", INT),)))
            # Version 0 is the empty table, which no transaction wrote.
            self.recording.writers[name, 0] = 0
        self.write(10, ("b", "c"))
        account = self.account(lambda step: None)
        for name, base in BASES.items():
            # With another lag, a table is not due at each time of the other one.
            lag = 120 if name == "q" and self.setting is Setting.READ_COMMITTED else 60
            account.create_dynamic_table(name, f"SELECT k FROM {base}", target_lag=lag * SECOND)
        account.create_dynamic_table("j", JOIN, target_lag=120 * SECOND)
        if self.setting in (Setting.READ_COMMITTED, Setting.REPEATABLE_READ):
            account.create_refresh_group("g", tuple(BASES), self.setting.value)
        self.note_refreshes()

    def account(self, step: Callable[[str], None]) -> Account:
        """Returns the account as a process sees it; `step` is called before each step of a refresh."""
        return Account(store=cast(Store, SteppingStore(self.store, step)), clock=self.clock)

    def write(self, at: int, tables: Sequence[str]) -> None:
        """Commits a row to each of some base tables, in one transaction."""
        self.clock.set(at)
        number = self.recording.transaction()
        self.applier.commit(Commit(at, tuple(Insert(table, ((number,),)) for table in tables)))
        names = [
            self.recording.made(table, len(self.store.tables[table].rows) - 1, number) for table in tables
        ]
        self.recording.events.append(" ".join(f"w{number}({name})" for name in names) + f" c{number}")

    def note_refreshes(self) -> None:
        """Records the refreshes that were committed since the last call."""
        for name, sources in READS.items():
            records = self.store.tables[name].records
            for number in range(self.refreshed[name], len(records)):
                if name != "j" or self.setting is not Setting.PERSISTED:
                    frontier = records[number].frontier.sources
                    read = [(source, frontier[source].version) for source in sources]
                    self.derive(name, number, read)
            self.refreshed[name] = len(records)

    def derive(self, name: str, version: int, read: Sequence[tuple[str, int]]) -> None:
        """Records a refresh: a version of a table, derived from versions of other tables."""
        by = self.recording.transaction()
        written = self.recording.made(name, version, by)
        sources = ", ".join(f"{source}{self.recording.writers[source, number]}" for source, number in read)
        self.recording.events.append(f"d{by}({written} | {sources}) c{by}")

    def visible(self, name: str) -> int:
        """Returns the version of a table that readers see now, from 0."""
        account = self.account(lambda step: None)
        table = account.dynamic_table(name)
        times = [record.frontier.timestamp for record in self.store.refreshes(table)]
        return times.index(account.visible(table)[-1])

    def read(self) -> None:
        """Records a reader of p and q, or of j alone, which sees what is published."""
        self.note_refreshes()
        tables: tuple[str, ...] = tuple(BASES)
        versions = {name: self.visible(name) for name in BASES}
        if self.setting is Setting.PERSISTED:
            tables, versions["j"] = ("j",), self.persisted
            self.derive("j", self.persisted, [(name, versions[name]) for name in BASES])
            self.persisted += 1
        elif self.draw.random() < 0.3:
            tables, versions["j"] = ("j",), self.visible("j")
        number = self.recording.transaction()
        seen = [f"r{number}({name}{self.recording.writers[name, versions[name]]})" for name in tables]
        self.recording.events.append(f"{' '.join(seen)} c{number}")


def recorded(setting: Setting, seed: int) -> str:
    """Returns the history of one random run, in the text notation; the same seed gives the same one."""
    draw = random.Random(seed)
    with own_database() as connection:
        run = Run(connection, setting, draw)
        for number in range(1, draw.randrange(2, 5)):
            tables = draw.choice((("b", "c"), ("b", "c"), ("b",), ("c",)))
            run.write(number * PERIOD - draw.randrange(1, 1000), tables)
            run.clock.set(number * PERIOD + draw.randrange(1000))

            def sometimes(step: str) -> None:
                if draw.random() < 0.15:
                    run.read()

            Runner(account=run.account(sometimes), beats=False).run_due()
            run.read()
        run.note_refreshes()
        return run.recording.text()


def skewed(history: History) -> bool:
    """Tells whether some reader of a history saw one half of a transaction: G-single."""
    return isinstance(check(history, only=[Phenomenon.G_SINGLE]).phenomena[Phenomenon.G_SINGLE], Present)


@dataclass(frozen=True, slots=True)
class Searched:
    """The runs of one setting: their number, how many show read skew, and the shortest history of these."""

    setting: Setting
    runs: int
    skewed: int
    shortest: str


def decision_of(found: Sequence[Searched]) -> Decision:
    """Returns whether readers see what each setting allows: read skew in all but the strongest, none in that.

    Undecided where some weaker setting has not shown its read skew: too few runs, so that the readers that
    saw none prove nothing either.
    """
    if any(each.skewed for each in found if each.setting is Setting.REPEATABLE_READ):
        return Decision.FAILED
    shown = all(each.skewed for each in found if each.setting is not Setting.REPEATABLE_READ)
    return Decision.PASSED if found and shown else Decision.UNDECIDED


def search(setting: Setting, seeds: Sequence[int]) -> Searched:
    """Runs one setting with each seed, and returns in how many runs readers saw read skew."""
    found = [text for seed in seeds if skewed(parse(text := recorded(setting, seed)))]
    shortest = min(found, key=lambda text: (len(text.split()), text), default="")
    return Searched(setting, len(seeds), len(found), shortest)
