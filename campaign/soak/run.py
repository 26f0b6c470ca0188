"""Runs the plan of a simulated account on the engine in memory, and judges every look of its process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from campaign.soak.acts import Acts
from campaign.soak.judge import Judge
from campaign.soak.plan import BASES, SECOND, TICK, VIEW, Happening, Plan, view_query
from campaign.soak.result import SOUND, Scheduler, Seen, Soaked
from campaign.soak.truth import Truth
from dynamic_tables.account import Account
from dynamic_tables.operations.runner import Runner, Schedule, Told
from dynamic_tables.schedule.clock import SimulatedClock
from engines.memory.applier import Applier
from engines.memory.database import own_database
from engines.memory.duck_store import DuckStore
from workload.schema import Column, Table
from workload.types import INT

MEMORY = "8GB"
"""Memory of an account: the store keeps all versions, tens of thousands of 200 tables in eight hours."""


def soak(plan: Plan, scheduler: Scheduler = SOUND, *, most: int = 3) -> Soaked:
    """Runs a plan and returns what was done and what was wrong; it stops at `most` wrong results."""
    with own_database(MEMORY) as connection:
        store = DuckStore(connection)
        applier = Applier(connection, store)
        for base in BASES:
            applier.create(Table(base, (Column("a", INT), Column("b", INT))))
        account = Account(store=store, clock=SimulatedClock(), protocol=scheduler.protocol)
        account.create_view(VIEW, view_query(0))
        session = _Session(plan, account, applier, scheduler.schedule)
        session.begin()
        for number, happened in enumerate(plan.ticks[1:], 2):
            session.tick(number * TICK, happened)
            if len(session.result.wrong) >= most:
                break
        return session.result


@dataclass(slots=True)
class _Session:
    """One run of a plan. `told`: what the last look of the process reported: refreshes and errors."""

    plan: Plan
    account: Account
    applier: Applier
    schedule: Schedule
    result: Soaked = field(init=False)
    truth: Truth = field(init=False)
    acts: Acts = field(init=False)
    judge: Judge = field(init=False)
    told: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        seen, self.result = Seen(), Soaked(self.plan)
        self.truth = Truth({table.name: table for table in self.plan.tables})
        self.acts = Acts(self.account, self.truth, seen, self.result, self.applier)
        self.judge = Judge(self.account, self.truth, seen, self.result)

    def begin(self) -> None:
        """Fills the base tables and declares the dynamic tables, all at the first tick."""
        self._at(TICK - SECOND)
        for each in self.plan.ticks[0]:
            self.acts.happens(each)
        self._at(TICK)
        self.truth.keep(TICK)
        for table in self.plan.tables:
            lag = None if table.lag is None else table.lag * SECOND
            self.account.create_dynamic_table(table.name, table.query, target_lag=lag)
        self.acts.note()
        self.judge.look(TICK, [])

    def tick(self, at: int, happened: Sequence[Happening]) -> None:
        """Carries out the events before a tick, then lets the process look at what is due, then judges."""
        # The events lie in the half of a tick before the look.
        apart = min(SECOND, TICK // 2 // max(1, len(happened)))
        for place, each in enumerate(happened):
            self._at(at - TICK // 2 + place * apart)
            self.acts.happens(each)
            self.truth.known.clear()
        self._at(at)
        self.truth.keep(at)
        if self.acts.down:
            self.acts.down -= 1
            return
        self.told.clear()
        Runner(account=self.account, observe=self.told.append, beats=False, schedule=self.schedule).run_due()
        self.judge.look(at, self.told)

    def _at(self, time: int) -> None:
        """Sets the account's clock, in microseconds."""
        self.account.clock.set(time)  # type: ignore[attr-defined]
