"""Laws of the scheduler, on random graphs with random lags, durations, failures and groups.

A planted mistake shows that each law can fail: see `test_a_law_notices`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks import simulation as simulated
from benchmarks.simulation import Ran, Simulation, World
from dynamic_tables.errors import DefinitionError
from dynamic_tables.schedule.due import Due, TableState, due
from dynamic_tables.schedule.failing import Blame
from dynamic_tables.schedule.graph import Graph, Scheduled
from dynamic_tables.schedule.group import Isolation, RefreshGroup, checked_group
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.schedule.timetable import PERIOD, Rhythm, Timetable, timetable
from tests.depth import examples

DAY = 86_400 * SECOND
LAGS = (None, 60, 90, 300, 600, 3_600)


def random_graph(draw: random.Random, count: int = 12) -> Graph:
    """Returns tables that read each other and two base tables, with random target lags."""
    tables = []
    for number in range(count):
        above = tuple({f"t{draw.randrange(number)}" for _ in range(draw.randrange(3))}) if number else ()
        lag = draw.choice(LAGS)
        bases = tuple(draw.sample(("b1", "b2"), draw.randrange(0 if above else 1, 3)))
        tables.append(Scheduled(f"t{number}", above, None if lag is None else lag * SECOND, bases))
    return Graph.of(tables)


def random_groups(draw: random.Random, graph: Graph) -> dict[str, RefreshGroup]:
    """Returns up to two groups of a graph, of those that the engine admits."""
    groups: dict[str, RefreshGroup] = {}
    for number in range(draw.randrange(3)):
        members = draw.sample(list(graph.order), draw.randrange(2, 5))
        isolation = draw.choice(list(Isolation))
        try:
            groups[f"g{number}"] = checked_group(f"g{number}", members, isolation, graph, groups)
        except DefinitionError:
            continue
    return groups


def random_world(draw: random.Random, graph: Graph) -> tuple[World, dict[str, int]]:
    """Returns a world with failures, few workers and sometimes slow refreshes; and the usual durations."""
    usual = {name: draw.choice((0, 1, 2, 30)) * SECOND for name in graph.tables}
    seed = draw.random()
    failing = draw.choice((0.0, 0.02, 0.3))

    def duration(table: str, before: int | None, timestamp: int) -> int:
        return usual[table] * random.Random(f"{seed} {table} {timestamp}").choice((1, 1, 1, 5))

    def fault(table: str, timestamp: int) -> Blame | None:
        own = random.Random(f"fault {seed} {table} {timestamp}")
        return own.choice(list(Blame)) if own.random() < failing else None

    return World(duration=duration, fault=fault, workers=draw.choice((None, 1, 3))), usual


def run(
    seed: int, until: int = DAY // 24, *, crowded: bool = True
) -> tuple[Timetable, list[Ran], Simulation]:
    """Returns a timetable, the refreshes of a random account in their order of ending, and its last state."""
    draw = random.Random(seed)
    graph = random_graph(draw)
    world, usual = random_world(draw, graph)
    table = timetable(graph, Rhythm(phase=draw.randrange(PERIOD)), random_groups(draw, graph), usual)
    ran: list[Ran] = []
    if not crowded:
        world = replace(world, workers=None)
    simulation = Simulation(table, world, ran.append)
    simulation.run(until)
    return table, ran, simulation


def broken_laws(table: Timetable, ran: Sequence[Ran]) -> list[str]:
    """Returns the laws that the refreshes of an account break."""
    return [
        law.__name__
        for law in (upstream_first, one_at_a_time, on_time, time_grows, groups_are_whole)
        if not law(table, ran)
    ]


def upstream_first(table: Timetable, ran: Sequence[Ran]) -> bool:
    """A refresh begins after all tables above it have its data timestamp; in its group they run before it."""
    ended: dict[tuple[str, int], int] = {}
    for each in ran:
        for up in table.graph.tables[each.table].upstream:
            done = ended.get((up, each.timestamp))
            together = table.unit_of[up] == table.unit_of[each.table]
            if not together and (done is None or done > each.start):
                return False
        if each.fault is None:
            ended[each.table, each.timestamp] = each.end
    return True


def one_at_a_time(table: Timetable, ran: Sequence[Ran]) -> bool:
    """No two refreshes of one table overlap."""
    ends: dict[str, int] = {}
    for each in ran:
        if ends.get(each.table, -1) > each.start:
            return False
        ends[each.table] = each.end
    return True


def on_time(table: Timetable, ran: Sequence[Ran]) -> bool:
    """Every data timestamp is a time of the table's period, and none lies in the future."""
    return all(
        table.rhythm.has(table.periods[each.table], each.timestamp) and each.timestamp <= each.start
        for each in ran
    )


def time_grows(table: Timetable, ran: Sequence[Ran]) -> bool:
    """Data timestamps of a table grow, and one at which the query failed is not tried again."""
    refused: dict[str, int] = defaultdict(lambda: -PERIOD * 1000)
    stored: dict[str, int] = defaultdict(lambda: -PERIOD * 1000)
    for each in ran:
        if each.timestamp <= stored[each.table] or each.timestamp <= refused[each.table]:
            return False
        if each.fault is Blame.USER:
            refused[each.table] = each.timestamp
        if each.fault is None:
            stored[each.table] = each.timestamp
    return True


def groups_are_whole(table: Timetable, ran: Sequence[Ran]) -> bool:
    """Of a group with repeatable reads, what one member has stored at the end of a publication, all have."""
    for group in table.groups.values():
        if group.isolation is not Isolation.REPEATABLE_READ:
            continue
        stored: dict[str, int] = {}
        ends: dict[tuple[int, int], list[Ran]] = defaultdict(list)
        for each in ran:
            if each.table in group.members:
                ends[each.end, each.timestamp].append(each)
        for together in ends.values():
            stored.update({each.table: each.timestamp for each in together if each.fault is None})
            seen = [stored.get(member) for member in group.members]
            if any(each.published for each in together) and seen != [together[0].timestamp] * len(seen):
                return False
    return True


@pytest.mark.parametrize("seed", range(examples(100)))
def test_the_scheduler_keeps_its_laws(seed: int) -> None:
    table, ran, _ = run(seed)
    assert broken_laws(table, ran) == []


def test_the_worlds_are_not_empty() -> None:
    seen = [ran for seed in range(30) for ran in run(seed)[1]]
    assert sum(each.fault is not None for each in seen) > 100
    assert sum(each.fault is None for each in seen) > 3_000
    assert sum(bool(run(seed)[0].groups) for seed in range(30)) > 5


MISTAKES: dict[str, tuple[str, Callable[[Due], Due]]] = {
    "an upstream table is not waited for": (
        "upstream_first",
        lambda each: replace(each, steps=tuple((name, at + PERIOD * 64) for name, at in each.steps)),
    ),
    "a time between two periods": (
        "on_time",
        lambda each: replace(each, steps=tuple((name, at + 1) for name, at in each.steps)),
    ),
    "a member is refreshed to a time of its own": (
        "groups_are_whole",
        lambda each: (
            replace(each, steps=(*each.steps[:-1], (each.steps[-1][0], each.steps[0][1] + 1)))
            if len(each.steps) > 1
            else each
        ),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_law_notices(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law, wrong = MISTAKES[mistake]
    monkeypatch.setattr(simulated, "due", lambda *args: [wrong(each) for each in due(*args)])
    found = [broken_laws(*run(seed)[:2]) for seed in range(60)]
    assert any(law in laws for laws in found)


@pytest.mark.parametrize("seed", range(examples(30)))
def test_what_may_have_changed_is_enough_to_look_at(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at every unit at every event finds the same refreshes at the same times."""
    quick = run(seed, crowded=False)[1]
    monkeypatch.setattr(simulated, "due", lambda table, states, now, among: due(table, states, now))
    thorough = run(seed, crowded=False)[1]
    assert {(each.table, each.timestamp, each.start) for each in thorough} == {
        (each.table, each.timestamp, each.start) for each in quick
    }


@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_lag_is_met_where_period_wait_and_duration_are_less(seed: int) -> None:
    draw = random.Random(seed)
    graph = random_graph(draw)
    usual = {name: draw.choice((0, 1, 3)) * SECOND for name in graph.tables}
    table = timetable(graph, Rhythm(), None, usual)
    ran: list[Ran] = []
    Simulation(table, World(duration=lambda name, before, at: usual[name]), ran.append).run(DAY // 12)
    waits: dict[str, int] = {}
    for name in graph.order:
        waits[name] = max((waits[up] + usual[up] for up in graph.tables[name].upstream), default=0)
    met = {
        name
        for name, period in table.periods.items()
        if (lag := table.lags[name]) is not None and period + waits[name] + usual[name] < lag
    }
    for each in ran:
        if each.table in met and each.peak_lag is not None:
            assert each.peak_lag < (table.lags[each.table] or 0)
            assert each.peak_lag == table.periods[each.table] + waits[each.table] + usual[each.table]
    assert met or not table.periods


def crowded(seconds: int, **changed: TableState) -> dict[str, list[int]]:
    """Returns the data timestamps of `up` and `down`, in seconds, in two hours of one busy process.

    Five tables without connection to the two are due again whenever they are refreshed, each for `seconds`.
    `changed`: the state of a table at first.
    """
    others = [Scheduled(f"other{number}", (), 60 * SECOND, ("b1",)) for number in range(5)]
    pair = [Scheduled("up", (), 60 * SECOND, ("b1",)), Scheduled("down", ("up",), 600 * SECOND)]
    graph = Graph.of([*others, *pair])
    usual = {name: (1 if name in ("up", "down") else seconds) * SECOND for name in graph.tables}
    ran: list[Ran] = []
    simulation = Simulation(
        timetable(graph, Rhythm(), None, usual),
        World(duration=lambda name, before, at: usual[name], workers=1),
        ran.append,
    )
    simulation.states.update(changed)
    simulation.run(2 * 3_600 * SECOND)
    return {name: [each.timestamp // SECOND for each in ran if each.table == name] for name in ("up", "down")}


@pytest.mark.parametrize("seconds", [8, 12, 16, 20, 24, 30])
def test_a_table_below_one_that_is_late_does_not_starve(seconds: int) -> None:
    """Found by a simulated account: `up` was refreshed at every other time, and `down` never."""
    times = crowded(seconds)
    assert len(times["down"]) > 15
    assert {after - before for before, after in pairwise(times["down"])} == {384}


def test_a_late_table_skips_the_times_that_no_table_needs() -> None:
    times = crowded(12, down=TableState(suspended=True))
    assert not times["down"]
    assert {after - before for before, after in pairwise(times["up"][1:])} == {96}


def looked(now: int, up: TableState, **others: TableState) -> list[tuple[str, int]]:
    """Returns what is due at a time in periods, for a chain with the periods 1, 1 and 8; 8 for `side`."""
    graph = Graph.of(
        [
            Scheduled("up", (), 60 * SECOND, ("b1",)),
            Scheduled("middle", ("up",), 60 * SECOND),
            Scheduled("down", ("middle",), 600 * SECOND),
        ]
    )
    states = {"up": up, **others}
    found = due(timetable(graph, Rhythm()), states, now * PERIOD)
    return [(name, at // PERIOD) for each in found for name, at in each.steps]


def at(*periods: int, failed: int | None = None) -> TableState:
    """Returns the state of a table with contents at some times, and a failure; times in periods."""
    times = tuple(period * PERIOD for period in periods)
    return TableState(versions=times, own=times[-1], failed=None if failed is None else failed * PERIOD)


def test_a_late_table_gives_those_below_the_newest_time_of_their_period() -> None:
    # The middle one needs the time 11, and `down` the time 8.
    assert looked(11, at(5), middle=at(5), down=at(0)) == [("up", 8)]
    assert looked(11, at(5, 8), middle=at(5), down=at(0)) == [("up", 11), ("middle", 8)]
    assert looked(11, at(5, 8, 11), middle=at(5, 8), down=at(0)) == [("middle", 11), ("down", 8)]


def test_a_late_table_skips_a_time_that_nothing_below_can_take() -> None:
    assert looked(11, at(5), middle=at(5), down=at(8)) == [("up", 11)]
    assert looked(11, at(5), middle=at(9), down=at(0)) == [("up", 11)]
    assert looked(11, at(5), middle=at(5), down=at(0, failed=8)) == [("up", 11)]
    assert looked(11, at(5), middle=replace(at(5), suspended=True), down=at(0)) == [("up", 11)]


def test_a_table_that_failed_tries_the_newest_time_alone() -> None:
    assert looked(11, at(5, failed=6), middle=at(5), down=at(0)) == [("up", 11)]


def test_a_group_that_is_late_gives_those_below_their_time_too() -> None:
    graph = Graph.of(
        [
            Scheduled("one", (), 60 * SECOND, ("b1",)),
            Scheduled("two", (), 60 * SECOND, ("b1",)),
            Scheduled("down", ("one",), 600 * SECOND),
        ]
    )
    group = checked_group("g", ["one", "two"], Isolation.REPEATABLE_READ, graph, {})
    states = {"one": at(5), "two": at(5), "down": at(0)}
    (found,) = due(timetable(graph, Rhythm(), {"g": group}), states, 11 * PERIOD)
    assert found.steps == (("one", 8 * PERIOD), ("two", 8 * PERIOD))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [(5 * PERIOD, [("one", 5 * PERIOD)]), (5 * PERIOD + 1, [])],
)
def test_a_member_does_not_go_back_behind_what_it_has_stored(
    stored: int, expected: list[tuple[str, int]]
) -> None:
    """A process ended before a command published; readers saw nothing of the definition of now."""
    graph = Graph.of([Scheduled(name, (), 60 * SECOND, ("b1",)) for name in ("one", "two")])
    group = checked_group("g", ["one", "two"], Isolation.READ_COMMITTED, graph, {})
    states = {"one": TableState(own=stored), "two": at(5)}
    found = due(timetable(graph, Rhythm(), {"g": group}), states, 5 * PERIOD + 2)
    assert [step for each in found for step in each.steps] == expected


@pytest.mark.parametrize("seed", range(examples(40)))
def test_periods_grow_along_the_graph_and_are_canonical(seed: int) -> None:
    draw = random.Random(seed)
    graph = random_graph(draw, 20)
    table = timetable(graph, Rhythm(), random_groups(draw, graph))
    for name, period in table.periods.items():
        assert period % PERIOD == 0
        assert (period // PERIOD) & (period // PERIOD - 1) == 0
        for up in graph.tables[name].upstream:
            assert table.periods[up] <= period


def test_a_member_without_a_lag_is_kept_as_its_group_and_so_is_what_it_reads() -> None:
    """Found by a simulated account: the group waited for ever for a table that no schedule refreshed."""
    graph = Graph.of(
        [
            Scheduled("above", (), None, ("b1",)),
            Scheduled("member", ("above",), None),
            Scheduled("other", (), 60 * SECOND, ("b1",)),
        ]
    )
    group = checked_group("g", ["member", "other"], Isolation.REPEATABLE_READ, graph, {})
    alone, together = timetable(graph, Rhythm()), timetable(graph, Rhythm(), {"g": group})
    assert dict(alone.periods) == {"other": PERIOD}
    assert dict(together.periods) == {"above": PERIOD, "member": PERIOD, "other": PERIOD}
    assert dict(together.lags) == dict.fromkeys(("above", "member", "other"), 60 * SECOND)
