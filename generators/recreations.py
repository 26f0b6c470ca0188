"""Views and dynamic tables that are dropped, and others that are created under their names.

An engine that keeps anything of a dropped table (a plan, a version, a file, a place in a list) shows it to
the next one of that name. Nothing can be dropped that is read, so its readers are dropped with it and are
created again over the new one: that is also how a view is changed.

Or one is replaced while its readers stay: CREATE OR REPLACE. An engine that keeps anything of the old meaning
then shows it in the tables above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from generators.choices import Choices
from workload.failing import may_fail
from workload.query import Call, ColumnRef, Limited, Query, Select, With, names_read, walk, with_sources
from workload.scenario import Create, Definition, Drop, Redefine, Refresh, Scenario, Step, renamed
from workload.timeline import Timeline
from workload.types import BOOLEAN

STEP = 1
"""Logical microseconds between the steps that are put between two steps."""


def with_recreations(choices: Choices, scenario: Scenario, percent: int, *, may_replace: bool) -> Scenario:
    """Returns the scenario; in that percentage of cases a definition is dropped and created again in it.

    `may_replace`: or replaced while its readers stay. A third of these cases has it twice. Refreshes that are
    impossible then are left out.
    """
    if not choices.chance(percent):
        return scenario
    for _ in range(choices.weighted(((2, 1), (1, 2)))):
        places = list(_places(scenario))
        if not places:
            break
        after, name = choices.pick(places)
        scenario = _recreated(choices, scenario, after, name, may_replace=may_replace)
    return scenario


def _places(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Yields each step after which there is time to drop a definition, and the definition.

    No definition over a table whose query may fail: only a run can tell which data timestamps that has.
    """
    timeline = Timeline({definition.name: definition for definition in scenario.definitions})
    failing = {each.name for each in scenario.definitions if may_fail(each.query)}
    # A definition that goes before it is replaced would have to be changed in two places.
    replaced = [number for number, step in enumerate(scenario.steps) if isinstance(step, Redefine)]
    for number, step in list(enumerate(scenario.steps[:-1]))[max(replaced, default=0) :]:
        live = scenario.live_after(scenario.steps[: number + 1])
        room = scenario.steps[number + 1].at - step.at
        for name in live:
            going = _with_readers(scenario, live, name)
            safe = failing.isdisjoint(source for each in going for source in timeline.upstream(each))
            # Another query may not take over a frozen part.
            frozen = any(getattr(scenario.definition(each), "frozen_where", "") for each in going)
            if safe and not frozen and 2 * STEP * len(going) < room:
                yield number, name


def _with_readers(scenario: Scenario, live: list[str], name: str) -> list[str]:
    """Returns a definition and those among the live ones that read it at any depth, in order of creation."""
    found = [name]
    for other in live[live.index(name) + 1 :]:
        if any(source in found for source in names_read(scenario.definition(other).query)):
            found.append(other)
    return found


def _recreated(choices: Choices, scenario: Scenario, after: int, name: str, *, may_replace: bool) -> Scenario:
    """Returns the scenario in which a definition is dropped and created, or replaced, after a step."""
    before, at = scenario.steps[: after + 1], scenario.steps[after].at
    going = _with_readers(scenario, scenario.live_after(before), name)
    names = dict(zip(going, _new_names(scenario, going), strict=True))
    replacing = may_replace and choices.chance(40)
    definitions = [_again(scenario.definition(old), names) for old in going]
    if replacing or choices.chance(60):
        old_query = definitions[0].query
        definitions[0] = replace(definitions[0], query=_other(choices, old_query))
        # To replace a definition by the same one is no change.
        replacing = replacing and definitions[0].query != old_query
    if replacing:
        steps: list[Step] = [Redefine(at + STEP, tuple(names[old] for old in going))]
    else:
        steps = [Drop(at + STEP * (number + 1), old) for number, old in enumerate(reversed(going))]
        steps += [
            Create(at + STEP * (len(going) + number + 1), new.name) for number, new in enumerate(definitions)
        ]
    later = (renamed(step, names) for step in scenario.steps[after + 1 :])
    # A definition stands after those that it reads.
    created = {step.name for step in before if isinstance(step, Create)}
    created.update(new for step in before if isinstance(step, Redefine) for new in step.names)
    earlier = [each for each in scenario.definitions if each.name in created]
    others = [
        replace(each, query=with_sources(each.query, names))
        for each in scenario.definitions
        if each.name not in created
    ]
    known = (*earlier, *definitions, *others)
    return _possible(replace(scenario, definitions=known, steps=(*before, *steps, *later)))


def _new_names(scenario: Scenario, old: list[str]) -> Iterator[str]:
    """Yields for each of some definitions a name that the scenario does not have yet."""
    taken = {definition.name for definition in scenario.definitions}
    for name in old:
        first = scenario.definition(name).public_name
        yield next(new for number in range(2, 99) if (new := f"{first}_{number}") not in taken)


def _again(definition: Definition, names: Mapping[str, str]) -> Definition:
    """Returns the definition under its new name in the scenario, over the new ones of those that it reads."""
    query = with_sources(definition.query, names)
    return replace(definition, name=names[definition.name], query=query, known_as=definition.public_name)


def _other(choices: Choices, query: Query) -> Query:
    """Returns a query with the same columns and other rows; the same one if it has no block to change."""
    match query:
        case With(_, body):
            return replace(query, body=_other(choices, body))
        case Limited(limited):
            return replace(query, query=_other(choices, limited))
        case Select(where=None):
            columns = [part for item in query.items for part in walk(item) if isinstance(part, ColumnRef)]
            if not columns:
                return query
            column = choices.pick(columns)
            return replace(query, where=Call(choices.pick(("is_not_null", "is_null")), (column,), BOOLEAN))
        case Select():
            return replace(query, where=None)
        case _:
            return query


def _possible(scenario: Scenario) -> Scenario:
    """Returns the scenario without the refreshes to data timestamps that their tables have passed."""
    timeline = Timeline({definition.name: definition for definition in scenario.definitions})
    steps: list[Step] = []
    for number, step in enumerate(scenario.steps):
        match step:
            case Create(at, name):
                timeline.create(name, at)
            case Redefine(at, names):
                live = scenario.live_after(scenario.steps[:number])
                timeline.redefine(scenario.replaced(step, live), names[0], at)
            case Refresh(_, table, timestamp):
                if not timeline.possible(table, timestamp):
                    continue
                timeline.refresh(table, timestamp)
            case _:
                pass
        steps.append(step)
    return replace(scenario, steps=tuple(steps))
