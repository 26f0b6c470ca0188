"""Random scenarios over given definitions: random rows and statements, creations, refreshes and readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from generators.builder import ScenarioBuilder
from generators.choices import Choices
from generators.given.model import Given
from generators.given.statements import GivenStatements
from generators.profiles import Profile
from workload.dml import Dml, Optimize
from workload.scenario import Create, DynamicTable, Scenario
from workload.schema import Table

WITNESS_PERCENT = 30
"""Percent of commits that insert rows that make a row of a definition together."""

KEYED_PERCENT = 50
"""Percent of scenarios in which the engine is told of the primary keys, and keeps rows apart by them."""

EMPTY_PERCENT = 12
"""Percent of scenarios whose definitions are created over tables without rows."""


def scenario_of(
    given: Given, choices: Choices, profile: Profile, name: str, turn: int | None = None
) -> Scenario:
    """Returns a scenario over as many of the given dynamic tables as the profile says, with all they read.

    They take turns, so that a few scenarios have had all of them. The steps are those of other random
    scenarios: rows, creations, then rounds of commits, refreshes and readers. Every statement keeps what is
    promised of the tables.
    """
    targets = whose_turn(given, profile.dynamic_tables[1], choices.integer(0, 999) if turn is None else turn)
    tables, definitions = given.closure(targets)
    builder = ScenarioBuilder(choices, profile, now=given.begin, tick=given.tick)
    builder.commit_times.update({each.table.name: [] for each in tables})
    draws = GivenStatements(choices, tables, profile.null_percent, profile.dml)
    draws.witnesses = [witness for name in targets for witness in given.witnesses.get(name, ())]

    def commit(statements: tuple[Dml, ...]) -> None:
        builder.commit(statements)
        draws.committed(statements, builder.now)

    filled_first = not choices.chance(EMPTY_PERCENT)
    if filled_first:
        commit(draws.initial(*profile.rows))
        for _ in range(choices.integer(0, 3)):
            commit(draws.witness())
    for definition in definitions:
        builder.definitions[definition.name] = definition
        at = builder.now + builder.tick
        builder.now = at
        builder.timeline.create(definition.name, at)
        builder.steps.append(Create(at, definition.name))
    if not filled_first:
        commit(draws.initial(*profile.rows))
    dynamic = [definition.name for definition in definitions if isinstance(definition, DynamicTable)]
    for _ in range(choices.integer(*profile.rounds)):
        for transaction in round_of(draws, choices, profile):
            commit(transaction)
        refresh(builder, dynamic)
        if choices.chance(profile.reader_percent):
            builder.read(builder.next_reader(), choices.subset(dynamic, 1, 3))
    for table in dynamic:
        builder.refresh(table)
    keyed = choices.chance(KEYED_PERCENT) or any(each.name in given.by_key for each in definitions)
    return Scenario(
        name,
        tuple(each.table if keyed else without_key(each.table) for each in tables),
        tuple(definitions),
        tuple(builder.steps),
    )


def without_key(table: Table) -> Table:
    """Returns the table with a primary key that only its rows keep, and of which the engine is not told."""
    return replace(table, promises=replace(table.promises, declared=()))


def round_of(draws: GivenStatements, choices: Choices, profile: Profile) -> Iterator[tuple[Dml, ...]]:
    """Yields the transactions of a round, each drawn after the one before was committed."""
    if choices.chance(profile.quiet_percent):
        if choices.chance(profile.no_op_percent):
            yield (Optimize(choices.pick(draws.tables).table.name),)
        return
    for _ in range(choices.integer(*profile.commits)):
        if choices.chance(WITNESS_PERCENT):
            yield draws.witness()
        else:
            yield draws.transaction(choices.weighted(((5, 1), (2, 2), (1, 3))))


def whose_turn(given: Given, count: int, turn: int) -> list[str]:
    """Returns the names of the `count` dynamic tables whose turn it is: they take turns in a circle."""
    tables = given.dynamic_tables
    # One further in each round, so that other tables meet in one scenario.
    start = turn * count + turn * count // len(tables)
    return [tables[(start + n) % len(tables)].name for n in range(min(count, len(tables)))]


def refresh(builder: ScenarioBuilder, tables: Sequence[str]) -> None:
    """Refreshes some tables to one data timestamp."""
    timestamp = builder.random_timestamp()
    for table in builder.choices.subset(tables, 1, len(tables)):
        builder.refresh(table, timestamp)
