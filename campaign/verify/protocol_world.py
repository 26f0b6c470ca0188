"""The world of `protocol`: an account in memory, processes that work on it, and a reader after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import cast

from campaign.faults.fault import ModelFault
from campaign.verify.protocol_steps import Died, OnStep, OnUse, SteppingStore, Used, WatchedClock, used_by
from dynamic_tables.account import Account
from dynamic_tables.definition import DynamicTable
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.journal.events import Event, GroupCreated, GroupDropped, Published
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.runner import Runner
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.schedule.group import RefreshGroup
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.port import Store
from engines.memory.applier import Applier
from engines.memory.database import Connection
from engines.memory.duck_store import DuckStore
from workload.dml import Insert
from workload.scenario import Commit
from workload.schema import Column, Table
from workload.types import INT

PERIOD = 48 * SECOND
LEASE = 60 * SECOND
GROUP = "g"
AWAY = "x_away"
"""The name that x has after it was renamed."""

QUERIES = {
    "x": "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM r GROUP BY a",
    "y": "SELECT a, b FROM s WHERE b > 0",
    "z": "SELECT a, MAX(b) AS b FROM s GROUP BY a",
    "d": "SELECT x.a, x.s, y.b FROM x JOIN y ON x.a = y.a",
}
"""Tables that are a group with repeatable reads, x and y without a common source; d is above both."""

MEMBERS = ("x", "y")
"""The members of the group, unless a world is made with others."""

REPLACED = "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM r WHERE b <> 10 GROUP BY a"
"""Another query of x, which has the same columns."""

# Rows of the base tables: of the first commit, of the second one, and of a writer while a process works.
WRITES = (
    ("r", ((1, 10), (2, 20))),
    ("s", ((1, 1), (2, 2))),
)
LATER = (("r", ((1, 5),)), ("s", ((1, 7),)))
FOREIGN = (("r", ((2, 100),)), ("s", ((2, 200),)))


def _drop_group(account: Account) -> None:
    account.drop_refresh_group(GROUP)


def _replace_group(account: Account) -> None:
    account.drop_refresh_group(GROUP)
    account.create_refresh_group(GROUP, ("x", "d"), "repeatable_read")


def _make_group_anew(account: Account) -> None:
    account.drop_refresh_group(GROUP)
    account.create_refresh_group(GROUP, ("x", "y"), "repeatable_read")


def _create_again(account: Account) -> None:
    account.drop("x", even_if_read=True)
    account.create_dynamic_table("x", QUERIES["x"], target_lag=60 * SECOND, initialize=False)


def _replace_query(account: Account) -> None:
    if account.dynamic_table("x").text == QUERIES["x"]:
        lag = 60 * SECOND
        account.create_dynamic_table("x", REPLACED, target_lag=lag, or_replace=True, initialize=False)


CHANGES: Mapping[str, Callable[[Account], object]] = {
    "the group is dropped": _drop_group,
    "the group is replaced by one of x and d": _replace_group,
    "x is dropped": lambda account: account.drop("x", even_if_read=True),
    "x is dropped and created again": _create_again,
    "x is renamed": lambda account: account.rename("x", AWAY),
    "x and y are swapped": lambda account: account.swap("x", "y"),
    "x is cloned": lambda account: account.clone("x", "x_copy"),
    "x is replaced by another query": _replace_query,
}
"""What a colleague may do to the group and to its member x, by the words of a report."""

PROCESSES = ("first", "second", "third")
"""The processes that keep the account fresh, in the order in which they begin."""

FIRST, HEIR, _ = PROCESSES

SCHEDULE = "the schedule"

COMMANDS: Mapping[str, Callable[[Account], object]] = {
    "a command to refresh d": lambda account: account.refresh("d"),
    "a command to make the group anew": _make_group_anew,
    "a command to drop x": lambda account: account.drop("x", even_if_read=True),
    "a command to swap x and y": lambda account: account.swap("x", "y"),
}
"""The commands that the first process may run instead of the schedule, by the words of a report."""


@dataclass(frozen=True, slots=True)
class Planted:
    """The mistakes planted in the protocol, each to show that the laws notice it.

    `PROTOCOL_FAULTS` and `PAIR_FAULTS` say what each one does. A protocol with `memberships_outlived` also
    publishes blindly.
    """

    unfenced: bool = False
    claims_ignored: bool = False
    published_one_by_one: bool = False
    published_blindly: bool = False
    memberships_outlived: bool = False
    heir_unfenced: bool = False


SOUND = Planted()

PROTOCOL_FAULTS: Mapping[str, ModelFault[Planted]] = {
    "unfenced": ModelFault(
        "A process whose lease has run out commits its refresh all the same.", Planted(unfenced=True)
    ),
    "claims-ignored": ModelFault(
        "A process refreshes tables that another one has claimed.", Planted(claims_ignored=True)
    ),
    "published-one-by-one": ModelFault(
        "Readers see the members of a group as they are refreshed.", Planted(published_one_by_one=True)
    ),
    "published-blindly": ModelFault(
        "A group is published whatever it has become meanwhile.", Planted(published_blindly=True)
    ),
    "memberships-outlived": ModelFault(
        "What a group has published of a table is believed of a table that is in no group.",
        Planted(memberships_outlived=True),
    ),
}
"""The mistakes by name that one disturbance shows."""

PAIR_FAULTS: Mapping[str, ModelFault[Planted]] = {
    "heir-unfenced": ModelFault(
        "A process that takes over from another one commits its refresh though its own lease has run out.",
        Planted(heir_unfenced=True),
    ),
}
"""The mistakes that two disturbances show, and none alone."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a run's report: a step of the process `of`, or a disturbance (`of` is empty)."""

    of: str
    what: str

    def __str__(self) -> str:
        return f"{self.of} {self.what}" if self.of else f"  {self.what}"


@dataclass(slots=True)
class Step:
    """A step of a process: its number and name, and what the process used from it to its next one."""

    of: str
    number: int
    what: str
    used: Used


@dataclass(slots=True)
class World:
    """An account with a past, and the processes that work on it.

    `members`: of its group. `lines`: what happened, in order; `taken`: the steps alone. `found`: what readers
    saw that they must not see. `seen`: the newest data timestamp that readers saw of each table, by its
    identity. `dead`: the processes that have died. `replaced`: the identity of x when its query was replaced,
    and how many refreshes it had.
    """

    connection: Connection
    planted: Planted
    members: Sequence[str] = MEMBERS
    lines: list[Line] = field(default_factory=list)
    taken: list[Step] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    clock: SimulatedClock = field(default_factory=SimulatedClock)
    store: DuckStore = field(init=False)
    applier: Applier = field(init=False)
    dead: set[str] = field(default_factory=set)
    replaced: tuple[str, int] | None = None

    def __post_init__(self) -> None:
        self.store = DuckStore(self.connection)
        self.applier = Applier(self.connection, self.store)
        for name in ("r", "s"):
            self.applier.create(Table(name, (Column("a", INT), Column("b", INT))))
        self.write(10, WRITES)
        account = self.account("maker")
        for name, query in self.queries.items():
            account.create_dynamic_table(name, query, target_lag=60 * SECOND)
        if self.planted.memberships_outlived:
            state = self.store.journal.poll()
            self.store.journal.state = _Believing(**{f.name: getattr(state, f.name) for f in fields(state)})
        account.create_refresh_group(GROUP, tuple(self.members), "repeatable_read")
        self.write(20, LATER)
        self.clock.set(PERIOD)

    @property
    def queries(self) -> Mapping[str, str]:
        """The dynamic tables: the members of the group, and d."""
        return {name: query for name, query in QUERIES.items() if name in self.members or name == "d"}

    def write(self, at: int, rows: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]) -> None:
        """Commits rows of base tables in one transaction, at a time that is not before the present."""
        self.clock.set(max(self.clock.time, at))
        self.applier.commit(Commit(self.clock.time, tuple(Insert(name, each) for name, each in rows)))

    def account(
        self,
        process: str,
        step: OnStep = lambda what: None,
        use: OnUse = lambda used: None,
    ) -> Account:
        """Returns the account for a process that begins now; `step` and `use` as in `SteppingStore`."""
        fenced = not (self.planted.unfenced or (self.planted.heir_unfenced and process != FIRST))
        store = cast(Store, SteppingStore(self.store, step, use, fenced=fenced))
        clock = cast(SimulatedClock, WatchedClock(self.clock, use))
        return Account(store=store, clock=clock, process=process)

    def user(self, change: Callable[[Account], object]) -> None:
        """Lets a user do something, in a process that begins now; a command that is refused does nothing."""
        with suppress(DynamicTablesError):
            change(self.account("user"))
        x = self.store.known.get("x")
        if isinstance(x, DynamicTable) and x.text == REPLACED and self.replaced is None:
            self.replaced = self.store.identity("x"), len(self.store.refreshes(x))

    def process(self, name: str, before: Callable[[int], None], does: str = SCHEDULE) -> None:
        """Runs a process to its end or death, on all that is due or on a command.

        `before` is called with the number of each step, just before it. `does`: SCHEDULE or one of COMMANDS.
        """
        own: list[Step] = []

        def step(what: str) -> None:
            self.look()
            if name in self.dead:
                # Handlers of the code that was killed do nothing any more.
                raise Died
            new_step = Step(name, len(own), what, used_by(what))
            self.lines.append(Line(name, f"{new_step.number}: {what}"))
            own.append(new_step)
            self.taken.append(new_step)
            try:
                before(new_step.number)
            except Died:
                self.dead.add(name)
                raise

        def use(used: Used) -> None:
            if own:
                own[-1].used |= used

        account = self.account(name, step, use)
        try:
            if does == SCHEDULE:
                self._runner(account).run_due()
            else:
                # The command may be refused, because of what has happened meanwhile.
                with suppress(DynamicTablesError):
                    COMMANDS[does](account)
        except Died:
            self.lines.append(Line(name, "has died"))
        self.look()

    def _runner(self, account: Account) -> Runner:
        """Returns the runner of a process, with the planted mistakes of claims and publishing."""

        def gone(owner: str) -> bool:
            return self.planted.claims_ignored or owner in self.dead

        runner = Runner(account=account, lease=LEASE, gone=gone, beats=False)
        if self.planted.published_one_by_one:
            return replace(runner, publish=one_by_one)
        if self.planted.published_blindly or self.planted.memberships_outlived:
            return replace(runner, publish=blindly)
        return runner

    def look(self) -> None:
        """Looks at all tables as a reader does, and notes what must not be seen."""
        state = self.store.journal.poll()
        account = self.account("reader")
        seen: dict[str, int] = {}
        for name, definition in self.store.known.items():
            if not isinstance(definition, DynamicTable) or state.is_moving([name]):
                continue
            stored = [record.frontier.timestamp for record in self.store.refreshes(definition)]
            visible = account.visible(definition)
            if not visible:
                continue
            seen[name] = visible[-1]
            identity = self.store.identity(name)
            if visible[-1] < self.seen.get(identity, 0):
                self._wrong(f"readers of {name} went back from {self.seen[identity]} to {visible[-1]}")
            self.seen[identity] = visible[-1]
            if visible[-1] not in stored:
                self._wrong(f"readers of {name} are sent to {visible[-1]}, and it holds {stored}")
            elif state.group_of(name) is None and visible[-1] != stored[-1]:
                self._wrong(f"a reader of {name}, in no group, saw {visible[-1]}, and it holds {stored[-1]}")
        for group in state.groups.values():
            self._look_at_group(group, seen)

    def _look_at_group(self, group: RefreshGroup, seen: Mapping[str, int]) -> None:
        """Notes that members of a group were seen at different data timestamps."""
        times = {name: seen[name] for name in group.members if name in seen}
        if len(set(times.values())) > 1:
            self._wrong("a reader saw " + " and ".join(f"{name} at {time}" for name, time in times.items()))

    def _wrong(self, what: str) -> None:
        if what not in self.found:
            self.found.append(what)


def one_by_one(account: AccountTables, group: RefreshGroup, versions: Mapping[str, int]) -> None:
    """Publishes members one by one; a reader may come between. The mistake `published_one_by_one`."""
    for name, timestamp in versions.items():
        blindly(account, group, {name: timestamp})


def blindly(account: AccountTables, group: RefreshGroup, versions: Mapping[str, int]) -> None:
    """Publishes a group whatever it has become meanwhile: the mistake `published_blindly`."""
    account.store.journal.add(
        Published(at=account.clock.now(), by=account.process, group=group.name, versions=versions)
    )


@dataclass(slots=True)
class _Believing(Operations):
    """The mistake `memberships_outlived`: what is published of a table is kept with the table."""

    believed: dict[str, list[int]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        ended = self.groups.get(event.group) if isinstance(event, GroupDropped) else None
        Operations.apply(self, event)
        match event:
            case GroupCreated(published=published) | Published(versions=published):
                for member, timestamp in published.items():
                    self.believed.setdefault(member, []).append(timestamp)
            case GroupDropped() if ended is not None:
                for member in ended.members:
                    self.believed.pop(member, None)
            case _:
                pass

    def published(self, table: str) -> tuple[int, ...] | None:
        return tuple(self.believed[table]) if table in self.believed else None
