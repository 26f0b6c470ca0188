"""The protocols of refresh and of refresh groups, verified under every interleaving up to a bound.

The code is the engine's own, on tables in memory and simulated time. One process refreshes what is due. At
each of its steps one thing happens: it dies; another writer commits; its lease runs out and a second process
works, to its end or until it dies at one of its own steps, before the first goes on as a zombie; a table is
suspended. Then a third process brings everything up to date, and the laws are checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from campaign.verify.protocol_steps import Died, Step, SteppingStore
from dynamic_tables.account import Account
from dynamic_tables.operations.operated import Operated
from dynamic_tables.operations.operating import publish
from dynamic_tables.operations.runner import Runner
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.schedule.group import RefreshGroup
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.port import Store
from engines.memory.applier import Applier
from engines.memory.database import Connection, own_database
from engines.memory.duck_store import DuckStore
from workload.dml import Insert
from workload.run_verdict import Decision
from workload.scenario import Commit
from workload.schema import Column, Table
from workload.types import INT

PERIOD = 48 * SECOND
LEASE = 60 * SECOND

QUERIES = {
    "x": "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM r GROUP BY a",
    "y": "SELECT a, b FROM s WHERE b > 0",
    "d": "SELECT x.a, x.s, y.b FROM x JOIN y ON x.a = y.a",
}
"""Two tables without a common source, which are a group with repeatable reads, and one above both."""

WRITES = (
    ("r", ((1, 10), (2, 20))),
    ("s", ((1, 1), (2, 2))),
)
LATER = (("r", ((1, 5),)), ("s", ((1, 7),)))
FOREIGN = (("r", ((2, 100),)), ("s", ((2, 200),)))


@dataclass(frozen=True, slots=True)
class Interleaving:
    """What happens at step `at` of the first process. `then`: the step at which the second one dies."""

    what: str
    at: int
    then: int | None = None

    def __str__(self) -> str:
        ended = "" if self.then is None else f", which dies at its step {self.then}"
        return f"at step {self.at} of the first process: {self.what}{ended}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A law that an interleaving breaks; `steps`: those of all processes, in order."""

    interleaving: Interleaving
    law: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """Mistakes in the protocol, to show that the laws notice them."""

    unfenced: bool = False
    claims_ignored: bool = False
    published_one_by_one: bool = False


SOUND = Planted()


@dataclass(slots=True)
class World:
    """An account with a past, and the processes that work on it. `steps`: what they did, in order."""

    connection: Connection
    planted: Planted
    steps: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    clock: SimulatedClock = field(default_factory=SimulatedClock)
    store: DuckStore = field(init=False)
    applier: Applier = field(init=False)
    dead: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.store = DuckStore(self.connection)
        self.applier = Applier(self.connection, self.store)
        for name in ("r", "s"):
            self.applier.create(Table(name, (Column("a", INT), Column("b", INT))))
        self.write(10, WRITES)
        account = self.account("maker", lambda step: None)
        for name, query in QUERIES.items():
            account.create_dynamic_table(name, query, target_lag=60 * SECOND)
        account.create_refresh_group("g", ("x", "y"), "repeatable_read")
        self.write(20, LATER)
        self.clock.set(PERIOD)

    def write(self, at: int, rows: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]) -> None:
        """Commits rows of both base tables in one transaction."""
        self.clock.set(max(self.clock.time, at))
        self.applier.commit(Commit(self.clock.time, tuple(Insert(name, each) for name, each in rows)))

    def account(self, process: str, step: Step) -> Account:
        """Returns the account as a process sees it that begins now."""
        store = cast(Store, SteppingStore(self.store, step, fenced=not self.planted.unfenced))
        return Account(store=store, clock=self.clock, process=process)

    def process(self, name: str, before: Callable[[int], None]) -> None:
        """Runs a process on all that is due, to its end or death; `before` gets the number of each step."""
        counted = itertools.count()

        def step(what: str) -> None:
            self._look()
            if name in self.dead:
                # Handlers of the code that was killed do nothing any more.
                raise Died
            number = next(counted)
            self.steps.append(f"{name} {number}: {what}")
            try:
                before(number)
            except Died:
                self.dead.add(name)
                raise

        def gone(owner: str) -> bool:
            return self.planted.claims_ignored or owner in self.dead

        runner = Runner(account=self.account(name, step), lease=LEASE, gone=gone, beats=False)
        if self.planted.published_one_by_one:
            runner = replace(runner, publish=_one_by_one)
        try:
            runner.run_due()
        except Died:
            self.steps.append(f"{name} has died")

    def _look(self) -> None:
        """Looks at the group as a reader does, at any time."""
        published = {name: self.store.journal.poll().of(name).published[-1] for name in ("x", "y")}
        if len(set(published.values())) > 1:
            self.torn.append(f"a reader saw x at {published['x']} and y at {published['y']}")


def _one_by_one(account: Operated, group: RefreshGroup, versions: Mapping[str, int]) -> None:
    for name, timestamp in versions.items():
        publish(account, group, {name: timestamp})


def interleavings(steps: int, inner: int) -> Iterator[Interleaving]:
    """Yields every interleaving; `steps` and `inner`: how many steps the first and second process take."""
    for at in range(steps):
        for what in ("it dies", "a writer commits", "x is suspended", "a second process looks"):
            yield Interleaving(what, at)
        yield Interleaving("its lease runs out and a second process works", at)
        for then in range(inner):
            yield Interleaving("its lease runs out and a second process works", at, then)
            yield Interleaving("it dies, and a second process works", at, then)


def verified(interleaving: Interleaving | None, planted: Planted = SOUND) -> tuple[list[Broken], int]:
    """Runs one interleaving, or none; returns the laws it breaks, and the steps of the first process."""
    with own_database() as connection:
        world = World(connection, planted)
        count = 0

        def before(number: int) -> None:
            nonlocal count
            count = number + 1
            if interleaving is not None and number == interleaving.at:
                _happens(world, interleaving)

        world.process("first", before)
        laws = _laws(world)
        none = Interleaving("nothing", 0)
        return [Broken(interleaving or none, law, tuple(world.steps)) for law in laws], count


def _happens(world: World, interleaving: Interleaving) -> None:
    def second(number: int) -> None:
        if number == interleaving.then:
            raise Died

    match interleaving.what:
        case "it dies":
            raise Died
        case "it dies, and a second process works":
            # The second one sees at once that the first has ended.
            world.dead.add("first")
            world.process("second", second)
            raise Died
        case "a writer commits":
            world.write(world.clock.time + 1, FOREIGN)
        case "x is suspended":
            world.account("user", lambda step: None).suspend("x")
        case "a second process looks":
            _second_looks(world)
        case _:
            world.clock.set(world.clock.time + LEASE)
            world.process("second", second)


def _second_looks(world: World) -> None:
    """A second process works while the claim of the first holds: it must leave those tables alone."""
    claimed = {
        name
        for name, table in world.store.journal.poll().tables.items()
        if table.claim is not None and table.claim.by == "first"
    }
    before = {name: len(world.store.tables[name].records) for name in QUERIES}
    world.process("second", lambda number: None)
    for name in sorted(claimed):
        if len(world.store.tables[name].records) != before[name]:
            world.torn.append(f"two processes refreshed {name} at once")


def _laws(world: World) -> list[str]:
    """Brings everything up to date by a process that begins now, and returns the laws that are broken."""
    world.dead |= {"first", "second"}
    account = world.account("user", lambda step: None)
    account.resume("x")
    world.write(world.clock.time + 1, (("r", ((3, 1),)),))
    world.clock.set(world.clock.time + 4 * PERIOD)
    world.process("third", lambda number: None)
    broken = list(dict.fromkeys(world.torn))
    for name, query in QUERIES.items():
        table = account.dynamic_table(name)
        times = [record.frontier.timestamp for record in world.store.refreshes(table)]
        if times != sorted(set(times)):
            broken.append(f"the data timestamps of {name} do not grow: {times}")
        if times[-1] != world.clock.time // PERIOD * PERIOD:
            broken.append(f"{name} is not up to date: {times[-1]} at {world.clock.time}")
        stored = sorted(row[: len(table.columns)] for row in world.store.current(table).rows())
        due = sorted(world.connection.execute(_expanded(query)).fetchall())
        if stored != due:
            broken.append(f"{name} holds {stored}, and its query gives {due}")
        if account.visible(table)[-1] != times[-1]:
            broken.append(f"readers of {name} see {account.visible(table)[-1]}, and it holds {times[-1]}")
    return broken


def _expanded(query: str) -> str:
    """Returns a query over base tables alone: dynamic tables are their queries."""
    above = ", ".join(f"{name} AS ({text})" for name, text in QUERIES.items() if name != "d")
    return f"WITH {above} {query}"


@dataclass(frozen=True, slots=True)
class Protocol:
    """What was verified. `steps`: of the first process, undisturbed."""

    interleavings: int
    steps: int
    broken: tuple[Broken, ...]

    @property
    def decision(self) -> Decision:
        """Whether every law holds; undecided where nothing happened at any step."""
        if self.broken:
            return Decision.FAILED
        return Decision.PASSED if self.steps and self.interleavings > 1 else Decision.UNDECIDED


def verify_protocol(
    planted: Planted = SOUND,
    *,
    depth: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Protocol:
    """Runs every interleaving; `depth`: at most so many steps of the second process are its death."""
    undisturbed, steps = verified(None, planted)
    broken, count = list(undisturbed), 1
    for each in interleavings(steps, steps if depth is None else min(depth, steps)):
        broken += verified(each, planted)[0]
        count += 1
        progress(count)
    return Protocol(count, steps, tuple(broken))
