"""Reductions of the history: fewer steps and statements, tables created later, transactions united."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shrink.reduction import Reduction, chunks
from shrink.rewrite import put_at, with_statements
from workload.dml import Dml, Restore
from workload.scenario import Commit, Create, Drop, Meanwhile, Read, Redefine, Refresh, Scenario, Step


def cut_tail(scenario: Scenario) -> Iterator[Scenario]:
    """Yields the scenario up to one of its creations and refreshes, the shortest first."""
    for number, step in enumerate(scenario.steps[:-1]):
        if not isinstance(step, Commit):
            yield replace(scenario, steps=scenario.steps[: number + 1])


def drop_refreshes(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without many refreshes, then without single ones: longer intervals."""
    refreshes = [number for number, step in enumerate(scenario.steps) if isinstance(step, Refresh)]
    yield _without(scenario, frozenset(refreshes[:-1]))
    yield from (_without(scenario, chunk) for chunk in chunks(refreshes))


def create_later(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with all definitions created at the place of a later refresh, the latest first.

    The refreshes before that place go. The commits up to it become history before the initialization. They
    take the earliest of the times of the replaced steps, and RESTORE statements follow them.
    """
    creates = [step for step in scenario.steps if isinstance(step, Create)]
    for number, step in reversed(list(enumerate(scenario.steps))):
        if isinstance(step, Refresh):
            before = scenario.steps[: number + 1]
            later = [s for s in scenario.steps[number + 1 :] if isinstance(s, Create)]
            moved = [create for create in creates if create not in later]
            if any(isinstance(s, Drop | Redefine) for s in before):
                continue
            commits = [s for s in before if isinstance(s, Commit)]
            yield _retimed(scenario, (*commits, *moved), number + 1)


def _retimed(scenario: Scenario, first: tuple[Step, ...], count: int) -> Scenario:
    """Returns the scenario with `first` for the first `count` steps, at the first and last of their times."""
    times = [step.at for step in scenario.steps[:count]]
    creates = sum(isinstance(step, Create) for step in first)
    ats = times[: len(first) - creates] + times[len(times) - creates :]
    moved = {step.at: at for step, at in zip(first, ats, strict=True) if isinstance(step, Commit)}
    steps = (*(replace(step, at=at) for step, at in zip(first, ats, strict=True)), *scenario.steps[count:])

    def restoring(_number: int, _position: int, statement: Dml) -> tuple[Dml, ...]:
        if isinstance(statement, Restore):
            return (replace(statement, to=moved.get(statement.to, statement.to)),)
        return (statement,)

    return with_statements(replace(scenario, steps=steps), restoring)


def drop_steps(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without many commits and refreshes, then without single ones."""
    droppable = [number for number, step in enumerate(scenario.steps) if not isinstance(step, Create)]
    yield from (_without(scenario, chunk) for chunk in chunks(droppable))


def read_less(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with one read of one table less."""
    for number, step in enumerate(scenario.steps):
        if isinstance(step, Read) and len(step.tables) > 1:
            for position in range(len(step.tables)):
                fewer = replace(step, tables=put_at(step.tables, position))
                yield replace(scenario, steps=put_at(scenario.steps, number, fewer))


def drop_statements(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without many statements, then without single ones."""
    places = [
        (number, position)
        for number, step in enumerate(scenario.steps)
        if isinstance(step, Commit)
        for position in range(len(step.statements))
    ]
    yield from (_without_statements(scenario, chunk) for chunk in chunks(places))


def _without_statements(scenario: Scenario, places: frozenset[tuple[int, int]]) -> Scenario:
    return with_statements(scenario, lambda n, position, s: () if (n, position) in places else (s,))


def unite_commits(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with neighbouring transactions as one, all and then pairs, at the later time."""
    united: list[Step] = []
    for step in scenario.steps:
        if isinstance(step, Commit) and united and isinstance(united[-1], Commit):
            step = replace(step, statements=united.pop().statements + step.statements)  # type: ignore[union-attr]
        united.append(step)
    yield replace(scenario, steps=tuple(united))
    for number, (one, two) in enumerate(zip(scenario.steps, scenario.steps[1:], strict=False)):
        if isinstance(one, Commit) and isinstance(two, Commit):
            both = replace(two, statements=one.statements + two.statements)
            yield replace(scenario, steps=(*scenario.steps[:number], both, *scenario.steps[number + 2 :]))


def refresh_to_now(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with refreshes to the time at which they are issued: all, then one by one."""
    now = {n: replace(s, timestamp=s.at) for n, s in enumerate(scenario.steps) if isinstance(s, Refresh)}
    yield replace(scenario, steps=tuple(now.get(number, step) for number, step in enumerate(scenario.steps)))
    for number, refresh in now.items():
        yield replace(scenario, steps=put_at(scenario.steps, number, refresh))


def calm(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with nothing beside refreshes: no other process, no kill, no ROLLBACK."""
    quiet = dict(enumerate(map(_quiet, scenario.steps)))
    if tuple(quiet.values()) == scenario.steps:
        return
    yield replace(scenario, steps=tuple(quiet.values()))
    for number, step in quiet.items():
        if step != scenario.steps[number]:
            yield replace(scenario, steps=put_at(scenario.steps, number, step))


def _quiet(step: Step) -> Step:
    """Returns a step without what happens beside it."""
    match step:
        case Commit():
            return replace(step, meanwhile=None, rolled_back=False)
        case Refresh():
            return replace(step, killed=None)
        case _:
            return step


def simpler_processes(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates whose other processes do less: no wrong clock, nothing abandoned, earlier calls."""
    for number, step in enumerate(scenario.steps):
        match step:
            case Commit(meanwhile=Meanwhile() as meanwhile):
                for simpler in (
                    replace(meanwhile, abandoned=False),
                    replace(meanwhile, foreign=False),
                    replace(meanwhile, clock=0),
                    replace(meanwhile, first=1, last=1),
                    replace(meanwhile, first=meanwhile.last),
                ):
                    commit = replace(step, meanwhile=simpler)
                    yield replace(scenario, steps=put_at(scenario.steps, number, commit))
            case Refresh(killed=int() as call):
                for earlier in (0, 1, call // 2):
                    refresh = replace(step, killed=earlier)
                    yield replace(scenario, steps=put_at(scenario.steps, number, refresh))
            case _:
                pass


def _without(scenario: Scenario, positions: frozenset[int]) -> Scenario:
    return replace(
        scenario, steps=tuple(step for number, step in enumerate(scenario.steps) if number not in positions)
    )


REDUCTIONS = (
    Reduction("cut the tail", cut_tail, cheap=True),
    Reduction("drop refreshes", drop_refreshes, cheap=True),
    Reduction("create later", create_later),
    Reduction("drop steps", drop_steps),
    Reduction("drop statements", drop_statements),
    Reduction("calm", calm),
)

DETAILS = (
    Reduction("unite commits", unite_commits),
    Reduction("simpler processes", simpler_processes),
    Reduction("refresh to now", refresh_to_now),
    Reduction("read less", read_less),
)
