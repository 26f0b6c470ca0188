"""Runs the plan of a simulated account on the engine in memory, and judges every look of its process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from campaign.soak.plan import (
    BASES,
    SECOND,
    TICK,
    Alter,
    BaseBack,
    Clone,
    Declared,
    Down,
    Drop,
    DropBase,
    Group,
    Happening,
    Plan,
    Redefine,
    Rename,
    Swap,
    Switch,
    Undrop,
    Ungroup,
    Write,
    named_by,
)
from campaign.soak.truth import Truth, is_cyclic
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.operations.runner import Runner, Schedule, Told
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol, RefreshResult
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.schedule.due import Due, TableState, due
from dynamic_tables.schedule.timetable import Timetable
from engines.memory.applier import Applier
from engines.memory.database import own_database
from engines.memory.duck_store import DuckStore
from workload.dml import Delete, Dml, Insert, Replace
from workload.expression import Call, ColumnRef, Literal
from workload.scenario import Commit
from workload.schema import Column, Table
from workload.types import BOOLEAN, INT

MEMORY = "8GB"
"""What an account may take: the store keeps all versions, tens of thousands of 200 tables in eight hours."""

GROUP = "g"
MOST_ERRORS = 5
"""Failed refreshes in a row that suspend a table, as docs/semantics.md says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake of the scheduler or of the refresh protocol, to show that the judge notices it."""

    name: str
    wrong: str
    protocol: RefreshProtocol = PROTOCOL
    schedule: Schedule = due


@dataclass(frozen=True, slots=True)
class Wrong:
    """What was wrong after a look of the process at `at`, in microseconds."""

    at: int
    table: str
    message: str


@dataclass(slots=True)
class Soaked:
    """The result of one run. `wrong`: what the judge found, at most a few."""

    plan: Plan
    looks: int = 0
    refreshes: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    events: Counter[str] = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)


def soak(plan: Plan, fault: Fault | None = None, *, most: int = 3) -> Soaked:
    """Runs a plan and returns what was done and what was wrong; it stops at `most` wrong results."""
    with own_database(MEMORY) as connection:
        store = DuckStore(connection)
        applier = Applier(connection, store)
        for base in BASES:
            applier.create(_base_table(base))
        protocol = PROTOCOL if fault is None else fault.protocol
        account = Account(store=store, clock=SimulatedClock(), protocol=protocol)
        session = _Session(plan, account, applier, Truth({table.name: table for table in plan.tables}), fault)
        session.begin()
        for number, happened in enumerate(plan.ticks[1:], 2):
            session.tick(number * TICK, happened)
            if len(session.result.wrong) >= most:
                break
        return session.result


@dataclass(slots=True)
class _Session:
    """`visible`, `stored`: data timestamps at the last look. `errors`: in a row, of each table, by hand.

    `gone`: what was dropped, whether it was suspended, and how often it had failed in a row.
    """

    plan: Plan
    account: Account
    applier: Applier
    truth: Truth
    fault: Fault | None
    result: Soaked = field(init=False)
    down: int = 0
    gone: dict[str, tuple[Declared, bool, int]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    stored: dict[str, int] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    visible: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.result = Soaked(self.plan)

    def begin(self) -> None:
        """Fills the base tables and declares the dynamic tables, all at the first tick."""
        self._at(TICK - SECOND)
        for each in self.plan.ticks[0]:
            self._happens(each)
        self._at(TICK)
        self.truth.keep(TICK)
        for table in self.plan.tables:
            lag = None if table.lag is None else table.lag * SECOND
            self.account.create_dynamic_table(table.name, table.query, target_lag=lag)
        self._note()
        self._judge(TICK, [])

    def tick(self, at: int, happened: Sequence[Happening]) -> None:
        """Lets things happen before a tick, then the process look, then the judge."""
        apart = min(SECOND, TICK // 2 // max(1, len(happened)))
        for place, each in enumerate(happened):
            self._at(at - TICK // 2 + place * apart)
            self._happens(each)
            self.truth.known.clear()
        self._at(at)
        self.truth.keep(at)
        if self.down:
            self.down -= 1
            return
        self.told.clear()
        Runner(account=self.account, observe=self.told.append, beats=False, schedule=self._schedule).run_due()
        self._judge(at, self.told)

    def _schedule(self, table: Timetable, states: Mapping[str, TableState], now: int) -> Sequence[Due]:
        return (due if self.fault is None else self.fault.schedule)(table, states, now)

    def _at(self, time: int) -> None:
        self.account.clock.set(time)  # type: ignore[attr-defined]

    def _happens(self, each: Happening) -> None:
        known = self.gone if isinstance(each, Undrop) else self.truth.tables
        if not set(named_by(each)).issubset(known):
            # What was to bring back the table was refused.
            return
        self.result.events[type(each).__name__] += 1
        truth, account = self.truth, self.account
        match each:
            case Write():
                truth.write(each)
                self._writes(each)
            case Alter(name, lag):
                account.alter_dynamic_table(name, target_lag=None if lag is None else lag * SECOND)
                truth.tables[name] = replace(truth.tables[name], lag=lag)
            case Switch(name, on):
                (account.resume if on else account.suspend)(name)
                (truth.suspended.discard if on else truth.suspended.add)(name)
                if on:
                    self.errors[name] = 0
            case Group() | Ungroup():
                self._groups(each)
            case Redefine() | Clone():
                self._defines(each)
                self._note()
            case Rename() | Swap() | Drop() | Undrop():
                self._renames(each)
                self._note()
            case DropBase() | BaseBack():
                self._base(each)
                self._note()
            case Down(ticks):
                self.down = ticks

    def _writes(self, each: Write) -> None:
        """Commits a write to the base tables that are there."""
        present = [base for base in BASES if base not in self.truth.lost]
        statements: list[Dml] = [
            Insert(base, tuple((a, b) for other, a, b in each.inserted if other == base))
            for base in present
            if any(other == base for other, _, _ in each.inserted)
        ]
        statements += [
            Delete(base, _equals(base, column, v)) for base, column, v in each.deleted if base in present
        ]
        if statements:
            self.applier.commit(Commit(self.account.clock.now(), tuple(statements)))

    def _base(self, each: DropBase | BaseBack) -> None:
        """Drops a base table, or lets it, or another one of its name, come back."""
        match each:
            case DropBase(name):
                self.account.drop(name, even_if_read=True)
                self.truth.lost.add(name)
            case BaseBack(name, False):
                self.account.undrop(name)
                self.truth.lost.remove(name)
            case BaseBack(name, True):
                # In memory a base table keeps its log: another one that follows in it has its name.
                self.account.undrop(name)
                self.applier.commit(Commit(self.account.clock.now(), (Replace(name, ()),)))
                self.truth.rows[name] = []
                self.truth.lost.remove(name)

    def _groups(self, each: Group | Ungroup) -> None:
        """Drops the group, and makes another one."""
        if self.truth.group:
            self.account.drop_refresh_group(GROUP)
            self.truth.group, self.truth.repeatable = (), False
        if isinstance(each, Ungroup):
            return
        try:
            made = self.account.create_refresh_group(GROUP, each.members, each.isolation)
        except (DefinitionError, RefreshFailed):
            # The members that were refreshed before the failure stay so.
            pass
        else:
            self.truth.group, self.truth.repeatable = made.members, each.isolation == "repeatable_read"
        self._note()

    def _defines(self, each: Redefine | Clone) -> None:
        """Replaces a definition, or copies a table."""
        changed, lacks = self.truth.tables[each.name], self.truth.lacks_source(each.name)
        if isinstance(each, Clone):
            try:
                self.account.clone(each.name, each.copy)
            except DefinitionError as error:
                if not lacks:
                    self._wrong(self.account.clock.now(), each.name, f"was not copied: {error}")
                return
            self.truth.tables[each.copy] = replace(changed, name=each.copy)
            return
        changed = replace(changed, number=each.number)
        if not lacks:
            # Another definition may not fail where the old one did, and if it fails, the old one is new.
            self.errors[each.name] = 0
        lag = None if changed.lag is None else changed.lag * SECOND
        # A group is refreshed as a whole, also one that has a table above.
        read = {each.name, *self.truth.above(each.name)}
        unit = {each.name, *(self.truth.group if read & {*self.truth.group} else ())}
        failing = (RefreshFailed, DefinitionError) if any(map(self.truth.lacks, unit)) else (RefreshFailed,)
        with suppress(*failing):
            self.account.create_dynamic_table(each.name, changed.query, target_lag=lag, or_replace=True)
            self.truth.tables[each.name] = changed

    def _renames(self, each: Rename | Swap | Drop | Undrop) -> None:
        """Lets tables have other names, go, or come back; refused is what would make one read itself."""
        truth, account = self.truth, self.account
        match each:
            case Rename(name, other):
                if not self._refused({name: other}, lambda: account.rename(name, other)):
                    self._moved({name: other})
            case Swap(name, other):
                exchanged = {name: other, other: name}
                if not self._refused(exchanged, lambda: account.swap(name, other)):
                    self._moved(exchanged)
            case Drop(name):
                account.drop(name, even_if_read=True)
                self.gone[name] = truth.dropped(name), name in truth.suspended, self.errors[name]
                truth.suspended.discard(name)
                for known in (self.errors, self.stored, self.visible):
                    known.pop(name, None)
            case Undrop(name):
                table, suspended, errors = self.gone.pop(name)
                if not self._refused({}, lambda: account.undrop(name), table):
                    truth.tables[name] = table
                    self.errors[name] = errors
                    (truth.suspended.add if suspended else truth.suspended.discard)(name)

    def _refused(self, names: Mapping[str, str], command: Callable[[], object], *more: Declared) -> bool:
        """Tells whether a command was refused, which is right only where a table would read itself.

        `names`: the new names of tables; `more`: tables that come back.
        """
        tables = {**self.truth.with_names(names), **{table.name: table for table in more}}
        cyclic = is_cyclic(tables, [names.get(name, name) for name in self.truth.group])
        try:
            command()
        except DefinitionError as error:
            if not cyclic:
                self._wrong(self.account.clock.now(), "", f"was refused: {error}")
            self.result.events["refused"] += 1
            return True
        if cyclic:
            self._wrong(self.account.clock.now(), "", "a table reads itself")
        return False

    def _moved(self, names: Mapping[str, str]) -> None:
        self.truth.moved(names)
        for known in (self.errors, self.stored, self.visible):
            moved = {names.get(name, name): value for name, value in known.items()}
            known.clear()
            known.update(moved)

    def _note(self) -> None:
        """Takes what commands have refreshed between two looks as seen: they read times between ticks."""
        for name in self.truth.tables:
            self.visible[name] = self._visible(name)
            stored = self.account.store.refreshes(self.account.dynamic_table(name))[-1].frontier.timestamp
            before = self.stored.get(name)
            if before not in (None, stored):
                self.errors[name] = 0
            if before != stored and stored in self.truth.states:
                self.truth.note(name, stored)
            self.stored[name] = stored

    def _visible(self, name: str) -> int:
        return self.account.visible(self.account.dynamic_table(name))[-1]

    def _judge(self, at: int, told: Sequence[Told]) -> None:
        self.result.looks += 1
        done = [each for each in told if isinstance(each, RefreshResult)]
        self.result.refreshes += len(done)
        self.result.actions.update(each.action.value for each in done)
        self.result.failures += len(told) - len(done)
        for each in told:
            if isinstance(each, RefreshResult | RefreshFailed) and each.table in self._stopped():
                self._wrong(at, each.table, "is suspended, and was refreshed by the schedule")
            match each:
                case RefreshResult():
                    self.errors[each.table] = 0
                    self.stored[each.table] = each.timestamp
                case RefreshFailed():
                    self.errors[each.table] += 1
                    known = each.timestamp in self.truth.states
                    if known and self.truth.contents(each.table, each.timestamp) is not None:
                        self._wrong(at, each.table, f"its query does not fail, and this did: {each}")
                case DefinitionError() if self._lacks_source(each):
                    self.errors[str(each).split()[0]] += 1
                case _:
                    self._wrong(at, "", f"an error that is no failed refresh: {each}")
        self._contents(at, done)
        self._times(at)

    def _lacks_source(self, error: DefinitionError) -> bool:
        """Tells whether an error, whose first word is a table, is right about a source that it names."""
        name, reads, *_ = str(error).split()
        return reads == "reads" and name in self.truth.tables and self.truth.lacks_source(name)

    def _contents(self, at: int, done: Sequence[RefreshResult]) -> None:
        """Compares what each refresh of this look has stored with its query at its data timestamp."""
        newest = {each.table: each for each in done}
        for result in done:
            if result is not newest[result.table] and result.timestamp in self.truth.states:
                self.truth.note(result.table, result.timestamp)
        for name, result in newest.items():
            due = (
                self.truth.contents(name, result.timestamp) if result.timestamp in self.truth.states else None
            )
            table = self.account.dynamic_table(name)
            rows = Counter(row[: len(table.columns)] for row in self.account.store.current(table).rows())
            if due is None:
                self._wrong(at, name, f"was refreshed to {result.timestamp}, where its query fails")
            elif rows == due:
                self.truth.note(name, result.timestamp)
            else:
                missing, more = due - rows, rows - due
                self._wrong(at, name, f"lacks {dict(missing)} and has {dict(more)} at {result.timestamp}")

    def _times(self, at: int) -> None:
        """Compares the data timestamps that readers see with those that are due by hand."""
        periods = self.truth.periods()
        seen = {name: self._visible(name) for name in self.truth.order()}
        on_time = self._on_time(at, periods)
        for name, timestamp in seen.items():
            before = self.visible.get(name, timestamp)
            if timestamp < before:
                self._wrong(at, name, f"went back from {before} to {timestamp}")
            if timestamp > at:
                self._wrong(at, name, f"has data timestamp {timestamp}, which lies in the future")
            if timestamp != before and timestamp % TICK:
                self._wrong(at, name, f"has data timestamp {timestamp}, which is no tick")
            if name in on_time and timestamp != at:
                self._wrong(at, name, f"is due at {at} and stands at {timestamp}")
        if self.truth.repeatable and len({seen[name] for name in self.truth.group}) > 1:
            self._wrong(at, GROUP, f"members are at different times: {seen}")
        self.visible = seen

    def _on_time(self, at: int, periods: Mapping[str, int]) -> set[str]:
        """Returns the tables that must be at this tick: nothing above them is suspended, fails or waits."""
        for row in self.account.dynamic_tables().to_pylist():
            name, count = row["name"], self.errors[row["name"]]
            if row["consecutive_errors"] != count:
                self._wrong(at, name, f"failed {count} times in a row, shown are {row['consecutive_errors']}")
        stopped = self._stopped()
        fine: set[str] = set()
        # A group is one unit: what stops a member, or a table above one, stops all of it.
        bad = any(
            name in stopped or self.truth.contents(name, at) is None
            for member in self.truth.group
            for name in (*self.truth.above(member), member)
        )
        waits = {
            name
            for name in self.truth.group
            if bad or any(at % periods.get(each, at + 1) for each in self.truth.group)
        }
        for name in self.truth.order():
            above = [source for source in self.truth.tables[name].sources if source in self.truth.tables]
            if (
                name in periods
                and at % periods[name] == 0
                and name not in stopped
                and name not in waits
                and all(source in fine for source in above)
                and self.truth.contents(name, at) is not None
            ):
                fine.add(name)
        return fine

    def _stopped(self) -> set[str]:
        """Returns the tables that no schedule may refresh: suspended by command, or by errors."""
        return self.truth.suspended | {name for name, count in self.errors.items() if count >= MOST_ERRORS}

    def _wrong(self, at: int, table: str, message: str) -> None:
        self.result.wrong.append(Wrong(at, table, message))


def _base_table(name: str) -> Table:
    return Table(name, (Column("a", INT), Column("b", INT)))


def _equals(base: str, column: str, value: int) -> Call:
    return Call("eq", (ColumnRef(base, column, INT), Literal(value, INT)), BOOLEAN)
