"""`dvs verify protocol`: the protocols of refresh and refresh groups under every interleaving up to a bound.

The code is the engine's own, on tables in memory and simulated time. One process refreshes what is due, or
runs a command. At each of its steps one thing happens: it dies; another writer commits; its lease runs out
and a second process works, to its end or until it dies at one of its own steps, before the first goes on as a
zombie; a table is suspended; a colleague drops or replaces the group, or drops, renames, swaps, copies or
replaces a member. After each step a reader looks. Then all tables get their names again, one more process
brings everything up to date, and the laws are checked. `protocol_pairs` lets any two of these happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from campaign.verify.protocol_steps import Died
from campaign.verify.protocol_world import (
    AWAY,
    CHANGES,
    COMMANDS,
    FIRST,
    FOREIGN,
    HEIR,
    LEASE,
    MEMBERS,
    PERIOD,
    PROCESSES,
    QUERIES,
    SCHEDULE,
    SOUND,
    Line,
    Planted,
    Step,
    World,
)
from dynamic_tables.account import Account
from dynamic_tables.operations.states import is_held
from engines.memory.database import own_database
from workload.outcomes.decision import Decision

DIES = "it dies"
DIES_AND_ANOTHER = "it dies, and another process works"
ANOTHER = "its lease runs out and another process works"
LOOKS = "another process looks"
WRITES = "a writer commits"
SUSPENDED = "x is suspended"

DISTURBANCES = (DIES, DIES_AND_ANOTHER, ANOTHER, LOOKS, WRITES, SUSPENDED, *CHANGES)
"""All that may happen just before a step of a process that refreshes what is due."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """An event just before step `at` of the process `of`. `what`: one of `DISTURBANCES`."""

    what: str
    at: int
    of: str = FIRST

    def __str__(self) -> str:
        return f"at step {self.at} of the {self.of} process: {self.what}"


@dataclass(frozen=True, slots=True)
class Interleaving:
    """The disturbances of a run. `during`: what the first process does, the schedule or one of `COMMANDS`."""

    disturbances: tuple[Disturbance, ...]
    during: str = SCHEDULE

    def __str__(self) -> str:
        doing = "" if self.during == SCHEDULE else f"{self.during}; "
        return doing + ("; ".join(map(str, self.disturbances)) or "undisturbed")


@dataclass(frozen=True, slots=True)
class Broken:
    """A law that an interleaving breaks. `steps`: those of all processes, and the disturbances, in order."""

    interleaving: Interleaving
    law: str
    steps: tuple[Line, ...]


def interleavings(steps: int, inner: int) -> Iterator[Interleaving]:
    """Yields every interleaving with the schedule, without the changes that colleagues make.

    `steps`: of the first process. `inner`: at how many steps of the second process it dies, from its first.
    """
    for at in range(steps):
        for what in (DIES, WRITES, SUSPENDED, LOOKS):
            yield Interleaving((Disturbance(what, at),))
        yield Interleaving((Disturbance(ANOTHER, at),))
        for then in range(inner):
            for what in (ANOTHER, DIES_AND_ANOTHER):
                yield Interleaving((Disturbance(what, at), Disturbance(DIES, then, HEIR)))


def changes_at(steps: int, during: str = SCHEDULE) -> Iterator[Interleaving]:
    """Yields each change that a colleague may make at each step of a process; for a command also its end.

    A schedule's end is in `interleavings`.
    """
    for at in range(steps):
        for what in (*CHANGES, *(() if during == SCHEDULE else (DIES, DIES_AND_ANOTHER, ANOTHER))):
            yield Interleaving((Disturbance(what, at),), during)


@dataclass(frozen=True, slots=True)
class Ran:
    """An interleaving that was run, with the laws that it breaks. `lines`: as in `Broken.steps`."""

    interleaving: Interleaving
    laws: tuple[str, ...]
    lines: tuple[Line, ...]
    steps: tuple[Step, ...]

    @property
    def broken(self) -> list[Broken]:
        """The broken laws, each with the interleaving."""
        return [Broken(self.interleaving, law, self.lines) for law in self.laws]

    @property
    def count(self) -> int:
        """The number of steps that the first process took."""
        return sum(step.of == FIRST for step in self.steps)


def verified(interleaving: Interleaving, planted: Planted = SOUND, members: Sequence[str] = MEMBERS) -> Ran:
    """Runs one interleaving on a new world, and checks the laws. `members`: of the refresh group."""
    with own_database() as connection:
        running = Running(World(connection, planted, members), interleaving)
        running.work(FIRST, interleaving.during)
        world = running.world
        # Taken here, because `_laws` runs one more process.
        steps = tuple(world.taken)
        return Ran(interleaving, tuple(_laws(world, interleaving)), tuple(world.lines), steps)


@dataclass(slots=True)
class Running:
    """A world in which an interleaving runs. `begun`: how many processes have begun."""

    world: World
    interleaving: Interleaving
    begun: int = 0

    def work(self, process: str, does: str = SCHEDULE) -> None:
        """Runs a process, and before each of its steps the disturbances that belong there."""
        self.begun += 1

        def before(number: int) -> None:
            for each in self.interleaving.disturbances:
                if (each.of, each.at) == (process, number):
                    self.world.lines.append(Line("", each.what))
                    self._happens(process, each.what)

        self.world.process(process, before, does)

    def _happens(self, process: str, what: str) -> None:
        """Does one disturbance at a step of a process. Raises Died, if it is the death of the process."""
        world, another = self.world, PROCESSES[self.begun : self.begun + 1]
        # Patterns repeat the texts of the constants above: a bare name in a pattern would match anything.
        match what:
            case "it dies":
                raise Died
            case "it dies, and another process works":
                # The other one sees at once that this one has ended.
                world.dead.add(process)
                self.work(*another)
                raise Died
            case "a writer commits":
                world.write(world.clock.time + 1, FOREIGN)
            case "x is suspended":
                world.user(partial(Account.suspend, name="x"))
            case "another process looks":
                self._another_looks(*another)
            case change if change in CHANGES:
                world.user(CHANGES[change])
            case _:
                world.clock.set(world.clock.time + LEASE)
                self.work(*another)

    def _another_looks(self, process: str) -> None:
        """Runs another process while claims hold, and notes the tables with a claim that it refreshes."""
        world = self.world
        claimed = {
            name
            for name, table in world.store.journal.poll().tables.items()
            if is_held(table.claim, process, world.clock.time, world.dead.__contains__)
        }

        def records(name: str) -> tuple[str, int]:
            there = name in world.store.tables
            return world.store.identity(name), len(world.store.tables[name].records) if there else 0

        before = {name: records(name) for name in claimed}
        self.work(process)
        for name in sorted(claimed):
            if records(name) != before[name]:
                world.found.append(f"two processes refreshed {name} at once")


def _laws(world: World, interleaving: Interleaving) -> list[str]:
    """Brings everything up to date by one more process, and returns the laws that are broken by then."""
    world.dead |= {*PROCESSES}
    world.user(_names_as_before)
    for name in world.queries:
        world.user(partial(Account.resume, name=name))
    account = world.account("user")
    world.write(world.clock.time + 1, (("r", ((3, 1),)),))
    world.clock.set(world.clock.time + 4 * PERIOD)
    world.process("last", lambda number: None)
    state = world.store.journal.poll()
    broken = [*world.found]
    queries = world.queries
    members = sorted(member for group in state.groups.values() for member in group.members)
    if members != sorted(state.memberships) or not {*members} <= {*queries}:
        broken.append(f"groups have the members {members}, and {sorted(state.memberships)} are published")
    if world.replaced is not None or sum(each.what in CHANGES for each in interleaving.disturbances) > 1:
        # Beside a command that renames, or after two commands, another table may have the name x by now.
        queries = {name: account.dynamic_table(name).text for name in queries}
    for name, query in queries.items():
        broken += _wrong_table(world, account, name, query, queries)
    return broken


def _wrong_table(
    world: World, account: Account, name: str, query: str, queries: Mapping[str, str]
) -> Iterator[str]:
    """Yields the laws that one table breaks, after everything was brought up to date."""
    table = account.dynamic_table(name)
    times = [record.frontier.timestamp for record in world.store.refreshes(table)]
    if times != sorted(set(times)):
        yield f"the data timestamps of {name} do not grow: {times}"
    if times[-1] != world.clock.time // PERIOD * PERIOD:
        yield f"{name} is not up to date: {times[-1]} at {world.clock.time}"
    stored = sorted(row[: len(table.columns)] for row in world.store.current(table).rows())
    due = sorted(world.connection.execute(_expanded(query, queries)).fetchall())
    if stored != due:
        yield f"{name} holds {stored}, and its query gives {due}"
    if world.replaced is not None and world.store.identity(name) == world.replaced[0]:
        definitions = [record.frontier.definition for record in world.store.refreshes(table)]
        before, after = definitions[: world.replaced[1]], definitions[world.replaced[1] :]
        if {*before} & {*after}:
            yield "x was refreshed by a query that had been replaced before"
    if account.visible(table)[-1] != times[-1]:
        yield f"readers of {name} see {account.visible(table)[-1]}, and it holds {times[-1]}"


def _names_as_before(account: Account) -> None:
    """Gives the tables their first names again, and brings back x if it was dropped."""
    # Finishes a rename or swap that a dead process had begun.
    account.refresh_groups()
    definitions = account.store.definitions()
    if AWAY in definitions:
        account.rename(AWAY, "x")
    elif "x" not in definitions:
        account.undrop("x")
    x = account.dynamic_table("x")
    if x.text == QUERIES["y"]:
        account.swap("x", "y")


def _expanded(query: str, queries: Mapping[str, str]) -> str:
    """Returns a query over base tables alone: dynamic tables become WITH items of their queries."""
    above = ", ".join(f"{name} AS ({text})" for name, text in queries.items() if name != "d")
    return f"WITH {above} {query}"


@dataclass(frozen=True, slots=True)
class Protocol:
    """The result of a verification. `interleavings`: how many were run. `broken`: the laws that they broke.

    `steps`: of the first process when nothing happens beside it. `processes`: the most in one interleaving.
    `as_others`: interleavings that cannot differ from one that was run; `left_out`: others that were not run.
    `undisturbed`: interleavings in which nothing happens beside the first process.
    """

    interleavings: int
    steps: int
    broken: tuple[Broken, ...]
    as_others: int = 0
    left_out: int = 0
    processes: int = 2
    undisturbed: int = 1 + len(COMMANDS)

    @property
    def decision(self) -> Decision:
        """Whether every law holds; undecided where nothing happened at any step."""
        if self.broken:
            return Decision.FAILED
        return Decision.PASSED if self.steps and self.interleavings > self.undisturbed else Decision.UNDECIDED


def undisturbed(planted: Planted = SOUND) -> tuple[list[Broken], Mapping[str, int]]:
    """Runs the schedule, and each command, with nothing beside the first process.

    Returns the laws that this breaks alone, and how many steps the schedule and each command take.
    """
    every = [verified(Interleaving((), during), planted) for during in (SCHEDULE, *COMMANDS)]
    return [broken for ran in every for broken in ran.broken], {
        ran.interleaving.during: ran.count for ran in every
    }


def every_interleaving(
    depth: int | None = None, steps: Mapping[str, int] | None = None
) -> Sequence[Interleaving]:
    """Returns every interleaving. `depth`: the second process dies at one of so many steps; None: at any.

    `steps`: the numbers of steps by `undisturbed`, which is run where they are not given.
    """
    steps = undisturbed()[1] if steps is None else steps
    inner = steps[SCHEDULE] if depth is None else min(depth, steps[SCHEDULE])
    every = [*interleavings(steps[SCHEDULE], inner), *changes_at(steps[SCHEDULE])]
    for command in COMMANDS:
        every += changes_at(steps[command], command)
    return every


def verify_protocol(
    planted: Planted = SOUND,
    *,
    depth: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Protocol:
    """Runs every interleaving; `depth`: as in `every_interleaving`. Tells `progress` how many were run."""
    broken, steps = undisturbed(planted)
    count = len(steps)
    for each in every_interleaving(depth, steps):
        broken += verified(each, planted).broken
        count += 1
        progress(count)
    return Protocol(count, steps[SCHEDULE], tuple(broken))
