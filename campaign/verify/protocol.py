"""The protocols of refresh and of refresh groups, verified under every interleaving up to a bound.

The code is the engine's own, on tables in memory and simulated time. One process refreshes what is due, or
runs a command. At each of its steps one thing happens: it dies; another writer commits; its lease runs out
and a second process works, to its end or until it dies at one of its own steps, before the first goes on as
a zombie; a table is suspended; a colleague drops or replaces the group, or drops, renames, swaps, copies or
replaces a member. After each step a reader looks. Then all tables get their names again, a third process
brings everything up to date, and the laws are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.verify.protocol_steps import Died
from campaign.verify.protocol_world import (
    AWAY,
    CHANGES,
    COMMANDS,
    FOREIGN,
    LEASE,
    PERIOD,
    QUERIES,
    SCHEDULE,
    SOUND,
    Planted,
    World,
)
from dynamic_tables.account import Account
from engines.memory.database import own_database
from workload.outcomes.decision import Decision


@dataclass(frozen=True, slots=True)
class Interleaving:
    """What happens at step `at` of the first process. `then`: the step at which the second one dies.

    `during`: what the first process does.
    """

    what: str
    at: int
    then: int | None = None
    during: str = SCHEDULE

    def __str__(self) -> str:
        ended = "" if self.then is None else f", which dies at its step {self.then}"
        doing = "" if self.during == SCHEDULE else f" ({self.during})"
        return f"at step {self.at} of the first process{doing}: {self.what}{ended}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A law that an interleaving breaks; `steps`: those of all processes, in order."""

    interleaving: Interleaving
    law: str
    steps: tuple[str, ...]


def interleavings(steps: int, inner: int) -> Iterator[Interleaving]:
    """Yields every interleaving with the schedule, without what colleagues do.

    `steps` and `inner`: how many steps the first and second process take.
    """
    for at in range(steps):
        for what in ("it dies", "a writer commits", "x is suspended", "a second process looks"):
            yield Interleaving(what, at)
        yield Interleaving("its lease runs out and a second process works", at)
        for then in range(inner):
            yield Interleaving("its lease runs out and a second process works", at, then)
            yield Interleaving("it dies, and a second process works", at, then)


def changes_at(steps: int, during: str = SCHEDULE) -> Iterator[Interleaving]:
    """Yields all that a colleague may do at each step of a process; while it runs a command, also its end."""
    for at in range(steps):
        for what in CHANGES:
            yield Interleaving(what, at, during=during)
        if during != SCHEDULE:
            for what in (
                "it dies",
                "it dies, and a second process works",
                "its lease runs out and a second process works",
            ):
                yield Interleaving(what, at, during=during)


def verified(
    interleaving: Interleaving | None, planted: Planted = SOUND, during: str = SCHEDULE
) -> tuple[list[Broken], int]:
    """Runs one interleaving, or none; returns the laws it breaks, and the steps of the first process.

    `during`: what the first process does where nothing happens.
    """
    each = interleaving or Interleaving("nothing", 0, during=during)
    with own_database() as connection:
        world = World(connection, planted)
        count = 0

        def before(number: int) -> None:
            nonlocal count
            count = number + 1
            if interleaving is not None and number == interleaving.at:
                _happens(world, interleaving)

        world.process("first", before, each.during)
        laws = _laws(world)
        return [Broken(each, law, tuple(world.steps)) for law in laws], count


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
        case change if change in CHANGES:
            world.user(CHANGES[change])
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
            world.found.append(f"two processes refreshed {name} at once")


def _laws(world: World) -> list[str]:
    """Brings everything up to date by a process that begins now, and returns the laws that are broken."""
    world.dead |= {"first", "second"}
    world.user(_names_as_before)
    world.user(lambda account: account.resume("x"))
    account = world.account("user", lambda step: None)
    world.write(world.clock.time + 1, (("r", ((3, 1),)),))
    world.clock.set(world.clock.time + 4 * PERIOD)
    world.process("third", lambda number: None)
    state = world.store.journal.poll()
    broken = [*world.found]
    members = sorted(member for group in state.groups.values() for member in group.members)
    if members != sorted(state.memberships) or not {*members} <= {*QUERIES}:
        broken.append(f"groups have the members {members}, and {sorted(state.memberships)} are published")
    queries = QUERIES
    if world.replaced is not None:
        # Beside a command that renames, another table may have the name x by now.
        queries = {name: account.dynamic_table(name).text for name in QUERIES}
    for name, query in queries.items():
        table = account.dynamic_table(name)
        times = [record.frontier.timestamp for record in world.store.refreshes(table)]
        if times != sorted(set(times)):
            broken.append(f"the data timestamps of {name} do not grow: {times}")
        if times[-1] != world.clock.time // PERIOD * PERIOD:
            broken.append(f"{name} is not up to date: {times[-1]} at {world.clock.time}")
        stored = sorted(row[: len(table.columns)] for row in world.store.current(table).rows())
        due = sorted(world.connection.execute(_expanded(query, queries)).fetchall())
        if stored != due:
            broken.append(f"{name} holds {stored}, and its query gives {due}")
        if world.replaced is not None and world.store.identity(name) == world.replaced[0]:
            definitions = [record.frontier.definition for record in world.store.refreshes(table)]
            before, after = definitions[: world.replaced[1]], definitions[world.replaced[1] :]
            if {*before} & {*after}:
                broken.append("x was refreshed by a query that had been replaced before")
        if account.visible(table)[-1] != times[-1]:
            broken.append(f"readers of {name} see {account.visible(table)[-1]}, and it holds {times[-1]}")
    return broken


def _names_as_before(account: Account) -> None:
    """Gives the tables their names again, and brings back x, or makes it again, if it is gone."""
    # Finishes what a dead process had begun.
    account.refresh_groups()
    known = account.store.definitions()
    if AWAY in known:
        account.rename(AWAY, "x")
    elif "x" not in known:
        account.undrop("x")
    x = account.dynamic_table("x")
    if x.text == QUERIES["y"]:
        account.swap("x", "y")


def _expanded(query: str, queries: Mapping[str, str]) -> str:
    """Returns a query over base tables alone: dynamic tables are their queries."""
    above = ", ".join(f"{name} AS ({text})" for name, text in queries.items() if name != "d")
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
        return (
            Decision.PASSED if self.steps and self.interleavings > 1 + len(COMMANDS) else Decision.UNDECIDED
        )


def undisturbed(planted: Planted = SOUND) -> tuple[list[Broken], Mapping[str, int]]:
    """Runs what the first process does with nothing beside it.

    Returns the laws that this breaks alone, and how many steps the schedule and each command take.
    """
    broken, steps = list[Broken](), dict[str, int]()
    for during in (SCHEDULE, *COMMANDS):
        found, steps[during] = verified(None, planted, during)
        broken += found
    return broken, steps


def every_interleaving(
    depth: int | None = None, steps: Mapping[str, int] | None = None
) -> Sequence[Interleaving]:
    """Every interleaving. `depth`: at most so many steps of the second process are its death.

    `steps`: of `undisturbed`, which is run where they are not given.
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
    """Runs every interleaving; `depth`: at most so many steps of the second process are its death."""
    broken, steps = undisturbed(planted)
    count = len(steps)
    for each in every_interleaving(depth, steps):
        broken += verified(each, planted)[0]
        count += 1
        progress(count)
    return Protocol(count, steps[SCHEDULE], tuple(broken))
