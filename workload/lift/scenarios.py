"""Worlds of one shape over different data, lifted into one scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from workload import dml
from workload.lift.queries import WORLD, WORLDS, lifted_query
from workload.query import Call, ColumnRef, Expr, Limited, Literal, blocks, names_read, walk
from workload.scenario import Commit, Scenario, Step
from workload.types import BOOLEAN, INT, Row


@dataclass(frozen=True, slots=True)
class Unliftable:
    """The reason why some worlds must run one by one."""

    reason: str


class _CannotLift(Exception):
    """Raised for worlds that one scenario cannot hold; its text is the reason."""


def lift(worlds: Sequence[Scenario]) -> Scenario | Unliftable:
    """Returns one scenario that runs all worlds; world i has the number i in column `WORLD`.

    The worlds share tables, definitions, and steps but for the statements of their commits. A statement that
    is the same in all worlds but for its literal rows stays one statement.
    """
    first = worlds[0]
    try:
        _check_names(first)
        _check_queries(first)
        for other in worlds[1:]:
            _check_shape(first, other)
        definitions = tuple(replace(d, query=lifted_query(d.query)) for d in first.definitions)
        steps = tuple(_step(number, worlds) for number in range(len(first.steps)))
        tables = tuple(replace(table, columns=(*table.columns, WORLD)) for table in first.tables)
        if any(WORLDS.name in names_read(definition.query) for definition in definitions):
            tables, steps = (*tables, WORLDS), _with_worlds(steps, len(worlds))
    except _CannotLift as reason:
        return Unliftable(str(reason))
    return Scenario(f"{first.name}/x{len(worlds)}", tables, definitions, steps, first.intents)


def rows_of_world(rows: Iterable[Row], world: int) -> tuple[Row, ...]:
    """Returns the rows of a world in a lifted relation, as they are without lifting."""
    return tuple(row[:-1] for row in rows if row[-1] == world)


def _check_names(scenario: Scenario) -> None:
    if WORLDS.name in {d.name for d in (*scenario.tables, *scenario.definitions)}:
        raise _CannotLift(f"a relation is named {WORLDS.name}")
    outputs = {item.name for d in scenario.definitions for block in blocks(d.query) for item in block.items}
    if WORLD.name in outputs | {column.name for table in scenario.tables for column in table.columns}:
        raise _CannotLift(f"a column is named {WORLD.name}")


def _check_queries(scenario: Scenario) -> None:
    for definition in scenario.definitions:
        if any(isinstance(part, Limited) for part in walk(definition.query)):
            raise _CannotLift(f"{definition.name}: the first rows of each world are no query with LIMIT")


def _check_shape(first: Scenario, other: Scenario) -> None:
    if (other.tables, other.definitions) != (first.tables, first.definitions):
        raise _CannotLift("the worlds have different tables or definitions")
    if [_outline(step) for step in other.steps] != [_outline(step) for step in first.steps]:
        raise _CannotLift("the worlds have different steps")


def _outline(step: Step) -> object:
    return replace(step, statements=()) if isinstance(step, Commit) else step


def _step(number: int, worlds: Sequence[Scenario]) -> Step:
    steps = [world.steps[number] for world in worlds]
    first = steps[0]
    if not isinstance(first, Commit):
        return first
    transactions = [step.statements for step in steps if isinstance(step, Commit)]
    one_by_one = (
        statement_of_world
        for world, statements in enumerate(transactions)
        for statement in statements
        for statement_of_world in _for_one_world(statement, world)
    )
    statements = _for_all_worlds(transactions) or tuple(one_by_one)
    inserts = all(isinstance(statement, dml.Insert) for statement in statements)
    meanwhile = first.meanwhile
    # What is abandoned may be INSERTs only (`workload.wellformed`); a lifted OVERWRITE is a DELETE first.
    if meanwhile is not None and meanwhile.abandoned and not inserts:
        meanwhile = replace(meanwhile, abandoned=False)
    return replace(first, statements=statements, meanwhile=meanwhile)


def _for_all_worlds(transactions: Sequence[tuple[dml.Dml, ...]]) -> tuple[dml.Dml, ...] | None:
    """Returns the transaction of all worlds, statement by statement; None: they differ in more than rows."""
    if len({tuple(map(_without_rows, statements)) for statements in transactions}) > 1:
        return None
    return tuple(_with_all_rows(same) for same in zip(*transactions, strict=True))


def _without_rows(statement: dml.Dml) -> str:
    # As text: two statements that hold a NaN are the same, though they are not equal.
    return repr(replace(statement, rows=()) if isinstance(statement, dml.WithRows) else statement)


def _with_all_rows(statements: Sequence[dml.Dml]) -> dml.Dml:
    """Returns one statement for the same statement of all worlds, with the rows of all of them."""
    first = statements[0]
    rows = tuple(
        (*row, world)
        for world, statement in enumerate(statements)
        if isinstance(statement, dml.WithRows)
        for row in statement.rows
    )
    match first:
        case dml.Insert() | dml.Overwrite() | dml.Replace():
            return replace(first, rows=rows)
        case dml.Merge():
            return replace(first, rows=rows, keys=(*first.keys, WORLD.name))
        case dml.Update() | dml.Delete() | dml.Truncate() | dml.Restore() | dml.Optimize():
            return first
        case _:
            assert_never(first)


def _for_one_world(statement: dml.Dml, world: int) -> tuple[dml.Dml, ...]:
    """Returns statements that change the rows of one world only."""
    table = statement.table
    in_world = Call("eq", (ColumnRef(table, WORLD.name, INT), Literal(world, INT)), BOOLEAN)

    def also(where: Expr | None) -> Expr:
        return in_world if where is None else Call("and", (in_world, where), BOOLEAN)

    def with_world(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple((*row, world) for row in rows)

    match statement:
        case dml.Insert(_, rows):
            return (dml.Insert(table, with_world(rows)),)
        case dml.Update(_, assignments, where):
            return (dml.Update(table, assignments, also(where)),)
        case dml.Delete(_, where):
            return (dml.Delete(table, also(where)),)
        case dml.Merge():
            return (replace(statement, rows=with_world(statement.rows), keys=(*statement.keys, WORLD.name)),)
        case dml.Truncate():
            return (dml.Delete(table, in_world),)
        case dml.Overwrite(_, rows):
            return (dml.Delete(table, in_world), dml.Insert(table, with_world(rows)))
        case dml.Optimize():
            return (statement,)
        case dml.Restore() | dml.Replace():
            raise _CannotLift(f"{type(statement).__name__.upper()} of {table} in some worlds only")
        case _:
            assert_never(statement)


def _with_worlds(steps: tuple[Step, ...], count: int) -> tuple[Step, ...]:
    """Returns the steps with an INSERT into `WORLDS`, one row for each world, before everything else."""
    insert = dml.Insert(WORLDS.name, tuple((world,) for world in range(count)))
    first = steps[0]
    if isinstance(first, Commit):
        return (replace(first, statements=(insert, *first.statements)), *steps[1:])
    if first.at == 0:
        raise _CannotLift("there is no time before the first step for the table of all worlds")
    return (Commit(first.at - 1, (insert,)), *steps)
