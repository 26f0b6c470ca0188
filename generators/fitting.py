"""Scenarios cut down to what an engine can be asked: the rest is left out before anything runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import assert_never

from generators.coverage import JOIN_NAMES, operators
from generators.limits import Limits, Timestamps
from generators.profiles import Profile
from workload.dml import Dml, Restore
from workload.errors import WorkloadError
from workload.query import names_read
from workload.scenario import Commit, Create, Definition, DynamicTable, Read, Refresh, Scenario, Step, View


def fitted(profile: Profile, limits: Limits) -> Profile:
    """The profile that draws what an engine with these limits can do, with floors for its operators.

    States and intents have no floors: many of them need what the engine may not have.
    """
    kinds = {kind: weight for kind, weight in profile.dml.items() if _kind(kind) in limits.statements}
    joins = tuple((w, kind) for w, kind in profile.query.joins if JOIN_NAMES[kind] in limits.operators)
    return replace(
        profile,
        limits=limits,
        dml=kinds,
        query=replace(profile.query, joins=joins or profile.query.joins),
        view_percent=profile.view_percent if limits.views else 0,
        stale_percent=profile.stale_percent if limits.timestamps is Timestamps.ANY else 0,
        floors={f"operator: {operator}": 3 for operator in sorted(limits.operators)},
    )


def _kind(weight: str) -> str:
    """`update_one` is an update."""
    return weight.removesuffix("_one")


def refused(scenario: Scenario, limits: Limits) -> dict[str, str]:
    """The definitions that an engine with these limits cannot have, each with the reason."""
    gaps: dict[str, str] = {}
    used: dict[str, frozenset[str]] = {}
    definitions = {definition.name: definition for definition in scenario.definitions}
    for name, definition in definitions.items():
        below = [definitions[source] for source in names_read(definition.query) if source in definitions]
        used[name] = frozenset(operators(definition.query)).union(
            *(used[source.name] for source in below if isinstance(source, View))
        )
        gap = _gap(definition, below, gaps, used[name], limits)
        if gap is not None:
            gaps[name] = gap
    return gaps


def _gap(
    definition: Definition,
    below: list[Definition],
    gaps: dict[str, str],
    used: frozenset[str],
    limits: Limits,
) -> str | None:
    for source in below:
        if source.name in gaps:
            return f"it reads {source.name}: {gaps[source.name]}"
        if isinstance(source, DynamicTable) and not limits.layered:
            return f"it reads {source.name}, another dynamic table"
    if isinstance(definition, View) and not limits.views:
        return "it is a view"
    beyond = sorted(used - limits.operators)
    return ", ".join(beyond) if beyond else limits.gap(definition.query)


def fit(scenario: Scenario, limits: Limits) -> Scenario:
    """The scenario without what the engine cannot do, its refreshes at the data timestamps it can have.

    A well-formed scenario stays so. Raises WorkloadError if a commit is followed too closely by the next
    step for the refreshes that a table maintained within its transactions gets right after each commit.
    """
    amended = (replace(d, query=limits.amend(d.query)) for d in scenario.definitions)
    scenario = replace(scenario, definitions=tuple(amended))
    gone = refused(scenario, limits)
    steps: list[Step] = []
    commits: set[int] = set()
    created: list[str] = []
    for step in scenario.steps:
        match step:
            case Commit(at, statements):
                kept = tuple(s for s in statements if _admitted(s, limits, commits))
                if kept:
                    commits.add(at)
                    steps.append(Commit(at, kept))
                    if limits.timestamps is Timestamps.COMMIT:
                        steps.extend(Refresh(at + 1 + i, name, at) for i, name in enumerate(created))
            case Create(_, name):
                if name not in gone:
                    steps.append(step)
                    created += [name] if isinstance(scenario.definition(name), DynamicTable) else []
            case Refresh():
                steps.extend(_refresh(step, gone, limits))
            case Read(at, reader, tables):
                names = tuple(name for name in tables if name not in gone)
                if names:
                    steps.append(Read(at, reader, names))
            case _:
                assert_never(step)
    for before, after in pairwise(steps):
        if before.at >= after.at:
            raise WorkloadError(f"{scenario.name}: no room for refreshes between {before.at} and {after.at}")
    definitions = tuple(_timed(d, limits) for d in scenario.definitions if d.name not in gone)
    return replace(scenario, definitions=definitions, steps=tuple(steps))


def _admitted(statement: Dml, limits: Limits, commits: set[int]) -> bool:
    if isinstance(statement, Restore) and statement.to not in commits:
        return False
    return type(statement).__name__.lower() in limits.statements


def _refresh(step: Refresh, gone: dict[str, str], limits: Limits) -> list[Step]:
    if step.table in gone:
        return []
    match limits.timestamps:
        case Timestamps.ANY:
            return [step]
        case Timestamps.NOW:
            return [replace(step, timestamp=step.at)]
        case Timestamps.COMMIT:
            return []
        case _:
            assert_never(limits.timestamps)


def _timed(definition: Definition, limits: Limits) -> Definition:
    # The shortest lag makes every table start from its sources as they are at its creation.
    if limits.timestamps is Timestamps.ANY or isinstance(definition, View):
        return definition
    return replace(definition, target_lag=1)
