"""The check that a scenario makes sense: names, types, times. A runner takes well-formed scenarios only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any, assert_never

from workload import dml, query as ir
from workload.errors import WorkloadError
from workload.keywords import KEYWORDS
from workload.orders import tied_order
from workload.scenario import Commit, Create, Drop, DynamicTable, Read, Redefine, Refresh, Scenario
from workload.schema import Column, Promises, Table
from workload.scope import Catalog, Scope, check_expression, definition_columns
from workload.types import BOOLEAN, Row, Value, distinct_objects, fits

name_pattern = re.compile(r"[a-z][a-z0-9_]{0,62}")

# A Delta table without column mapping has none of these in the name of a column; marks of quotes are left out
# for the same reason as below.
column_pattern = re.compile(r"[^ ,;{}()=\x00-\x1f\"'`\\]{1,255}")


def check_scenario(scenario: Scenario) -> Catalog:
    """Returns the columns of every table and definition. Raises WorkloadError for the first mistake."""
    catalog = check_definitions(scenario)
    _check_steps(scenario)
    return catalog


def check_definitions(scenario: Scenario) -> Catalog:
    """Returns the columns, as `check_scenario`, but checks no steps: in a rewriting these may not fit yet."""
    catalog: dict[str, tuple[Column, ...]] = {}
    for table in scenario.tables:
        _check_new_name(table.name, catalog)
        _check_columns(table.columns, table.name)
        catalog[table.name] = table.columns
    tied = {each.name for each in scenario.definitions if tied_order(each.query) is not None}
    for definition in scenario.definitions:
        _check_new_name(definition.name, catalog)
        if definition.known_as:
            _check_name(definition.known_as, f"definition {definition.name}")
        for name in _names_of(definition.query):
            _check_name(name, f"definition {definition.name}")
        if isinstance(definition.query, ir.Verbatim):
            for name, _ in definition.query.columns:
                _check_column_name(name, f"definition {definition.name}")
        known_as = {each.name: each.known_as for each in scenario.definitions if each.known_as}
        ctes = {part.name for part in ir.walk(definition.query) if isinstance(part, ir.Cte)}
        for name in ir.names_read(definition.query):
            if known_as.get(name) in ctes:
                raise WorkloadError(f"{definition.name} reads {name}, which is known as a CTE beside it")
            if name in tied:
                raise WorkloadError(f"{definition.name} reads {name}, which may hold one of several results")
            if name not in catalog:
                raise WorkloadError(
                    f"{definition.name} reads {name}, which is not defined before it (cycles are not allowed)"
                )
        try:
            catalog[definition.name] = definition_columns(definition.query, catalog)
        except WorkloadError as error:
            raise WorkloadError(f"definition {definition.name}: {error}") from error
    return catalog


def _check_steps(scenario: Scenario) -> None:
    tables = {table.name: table for table in scenario.tables}
    dynamic = {table.name for table in scenario.dynamic_tables}
    last = -1
    live: set[str] = set()
    created: set[str] = set()
    commit_times: set[int] = set()
    newest: dict[str, Value] = {}
    for number, step in enumerate(scenario.steps):
        where = f"step {number}"
        if step.at <= last:
            raise WorkloadError(f"{where}: time {step.at} is not after {last}")
        last = step.at
        match step:
            case Commit(at, statements):
                _check_meanwhile(step, where)
                for statement in statements:
                    if statement.table not in tables:
                        raise WorkloadError(f"{where}: no base table named {statement.table}")
                    _check_statement(statement, tables[statement.table], where, commit_times, newest)
                commit_times.add(at)
            case Create(_, name):
                if name in created:
                    raise WorkloadError(f"{where}: {name} is created twice")
                created.add(name)
                _check_create(scenario, name, live, where)
                live.add(name)
            case Drop(_, name):
                _check_drop(scenario, name, live, where)
                live.remove(name)
            case Redefine(_, names):
                replaced = _check_redefine(scenario, step, live, created, where)
                live = (live - replaced) | set(names)
                created.update(names)
            case Refresh():
                _check_refresh(step, dynamic & live, where)
            case Read():
                _check_read(step, tables.keys() | (dynamic & live), where)
            case _:
                assert_never(step)


def _check_meanwhile(step: Commit, where: str) -> None:
    meanwhile = step.meanwhile
    if meanwhile is None:
        return
    if meanwhile.first < 0 or meanwhile.last < max(1, meanwhile.first):
        raise WorkloadError(
            f"{where}: statements before calls {meanwhile.first} and {meanwhile.last}; "
            "the last one is at least 1"
        )
    if meanwhile.abandoned and not all(isinstance(statement, dml.Insert) for statement in step.statements):
        raise WorkloadError(f"{where}: what is abandoned before a commit is INSERTs only")
    if meanwhile.foreign and any(isinstance(statement, dml.Replace) for statement in step.statements):
        raise WorkloadError(f"{where}: a foreign process does not replace tables")
    if meanwhile.foreign and meanwhile.first != meanwhile.last:
        raise WorkloadError(f"{where}: the commits of a foreign process come one directly after the other")


def _check_refresh(step: Refresh, dynamic: Set[str], where: str) -> None:
    if step.table not in dynamic:
        raise WorkloadError(f"{where}: refresh of {step.table}, which is no dynamic table created before")
    if not 0 <= step.timestamp <= step.at:
        raise WorkloadError(
            f"{where}: data timestamp {step.timestamp} does not lie between 0 and the refresh, at {step.at}"
        )
    if step.killed is not None and step.killed < 0:
        raise WorkloadError(f"{where}: killed before call {step.killed}; calls are counted from 0")


def _check_read(step: Read, tables: Set[str], where: str) -> None:
    for name in step.tables:
        if name not in tables:
            raise WorkloadError(f"{where}: reads {name}, which is no table created before")
    if not step.tables or len(set(step.tables)) < len(step.tables):
        raise WorkloadError(f"{where}: a read names tables, each of them once")


def _check_create(scenario: Scenario, name: str, live: Set[str], where: str) -> None:
    try:
        definition = scenario.definition(name)
    except KeyError:
        raise WorkloadError(f"{where}: creates {name}, which is not defined") from None
    definitions = {d.name: d for d in scenario.definitions}
    for upstream in ir.names_read(definition.query):
        if upstream in definitions and upstream not in live:
            raise WorkloadError(
                f"{where}: {name} is created while {upstream}, which it reads, does not exist"
            )
    by_public_name = {definitions[other].public_name: other for other in live}
    by_public_name.update({table.name: table.name for table in scenario.tables})
    if definition.public_name in by_public_name:
        other = by_public_name[definition.public_name]
        raise WorkloadError(f"{where}: {name} is known as {definition.public_name}, as {other} is then")
    if (
        isinstance(definition, DynamicTable)
        and definition.target_lag is not None
        and definition.target_lag <= 0
    ):
        raise WorkloadError(f"{name}: a target lag of {definition.target_lag}; it must be positive")


def _check_drop(scenario: Scenario, name: str, live: Set[str], where: str) -> None:
    if name not in live:
        raise WorkloadError(f"{where}: drops {name}, which does not exist then")
    for other in sorted(live):
        if name in ir.names_read(scenario.definition(other).query):
            raise WorkloadError(f"{where}: drops {name}, which {other} reads")


def _check_redefine(
    scenario: Scenario, step: Redefine, live: Set[str], created: Set[str], where: str
) -> Set[str]:
    """Returns the names of the definitions that a step replaces. Raises WorkloadError: the step is wrong."""
    definitions = {definition.name: definition for definition in scenario.definitions}
    unknown = [name for name in step.names if name not in definitions or name in created]
    if unknown or not step.names or len(set(step.names)) < len(step.names):
        raise WorkloadError(f"{where}: replaces by {', '.join(unknown or step.names) or 'nothing'}")
    try:
        replaced = scenario.replaced(step, live)
    except KeyError as error:
        raise WorkloadError(f"{where}: replaces {error.args[0]}, which does not exist then") from None
    first = next(old for old, new in replaced.items() if new == step.names[0])
    if type(definitions[first]) is not type(definitions[step.names[0]]):
        raise WorkloadError(f"{where}: {first} is replaced by a definition of another kind")
    for name in ir.names_read(definitions[step.names[0]].query):
        if name in definitions and (name not in live or name in replaced):
            raise WorkloadError(f"{where}: {step.names[0]} reads {name}, which does not exist then")
    readers = {first}
    for name in scenario.live_after(scenario.steps[: scenario.steps.index(step)]):
        if readers.intersection(ir.names_read(definitions[name].query)):
            readers.add(name)
    if readers != replaced.keys():
        raise WorkloadError(f"{where}: replaces {first}, which {', '.join(sorted(readers))} read or are")
    for old, new in replaced.items():
        again = replace(
            definitions[old],
            name=new,
            query=ir.with_sources(definitions[old].query, replaced),
            known_as=definitions[old].public_name,
        )
        if old != first and again != definitions[new]:
            raise WorkloadError(f"{where}: {new} is not {old} over what was replaced")
    return replaced.keys()


def _check_promised(statement: dml.Dml, promises: Promises, where: str) -> None:
    # The first rows of any table are inserted, and OPTIMIZE changes none.
    if not isinstance(statement, dml.Insert | dml.Optimize) and not promises.admits(
        type(statement).__name__.lower()
    ):
        raise WorkloadError(f"{where}: the table gets no such statement, by its promises")
    if isinstance(statement, dml.Update) and promises.updated is not None:
        for each in statement.assignments:
            if each.column not in promises.updated and isinstance(each.value, ir.Literal):
                raise WorkloadError(f"{where}: {each.column} is never updated, by the promises of the table")


def is_too_late(statement: dml.Dml, table: Table, newest: dict[str, Value]) -> bool:
    """Tells whether a statement breaks the promise about a table's clock.

    `newest`: the greatest value of the clock so far, by table; that of the statement is added. Statements
    that write a table anew bring old rows back, and break no such promise.
    """
    clock = table.promises.clock
    if clock is None or clock.column not in {column.name for column in table.columns}:
        return False
    position = table.position(clock.column)
    match statement:
        case dml.Insert(_, rows) | dml.Merge(_, _, rows, _, _):
            written = [row[position] for row in rows]
        case dml.Update(_, assignments, _):
            literals = ((each.column, each.value) for each in assignments)
            written = [v.value for name, v in literals if name == clock.column and isinstance(v, ir.Literal)]
        case _:
            return False
    values: list[Any] = [value for value in written if value is not None]
    newest_before: Any = newest.get(table.name)
    if not values:
        return False
    newest[table.name] = max(values) if newest_before is None else max(newest_before, *values)
    return newest_before is not None and min(values) < clock.earliest(newest_before)


def _check_statement(
    statement: dml.Dml, table: Table, where: str, commit_times: set[int], newest: dict[str, Value]
) -> None:
    where = f"{where}, {type(statement).__name__} {table.name}"
    _check_promised(statement, table.promises, where)
    if is_too_late(statement, table, newest):
        raise WorkloadError(f"{where}: a row is later than the promises of the table allow")
    scope = {table.name: {column.name: column.type for column in table.columns}}

    def check(expr: ir.Expr | None) -> None:
        if expr is not None:
            if expr.type != BOOLEAN:
                raise WorkloadError(f"{where}: condition is not a BOOLEAN")
            check_expression(expr, scope)

    match statement:
        case dml.Insert(_, rows) | dml.Overwrite(_, rows) | dml.Replace(_, rows):
            _check_rows(rows, table, where)
        case dml.Update(_, assignments, condition):
            check(condition)
            _check_assignments(assignments, scope, table, where)
        case dml.Delete(_, condition):
            check(condition)
        case dml.Merge(_, _, rows, delete_when, _):
            _check_rows(rows, table, where)
            check(delete_when)
            _check_merge_keys(statement, table, where)
        case dml.Restore(_, to):
            if to not in commit_times:
                raise WorkloadError(f"{where}: no earlier commit at {to}")
        case dml.Truncate() | dml.Optimize():
            pass
        case _:
            assert_never(statement)


def _check_assignments(
    assignments: tuple[dml.Assignment, ...], scope: Scope, table: Table, where: str
) -> None:
    names = [assignment.column for assignment in assignments]
    if len(set(names)) != len(names) or not names:
        raise WorkloadError(f"{where}: sets no column, or one twice ({', '.join(names)})")
    for assignment in assignments:
        if scope[table.name].get(assignment.column) != assignment.value.type:
            raise WorkloadError(f"{where}: cannot set {assignment.column} to a {assignment.value.type}")
        check_expression(assignment.value, scope)


def _check_merge_keys(merge: dml.Merge, table: Table, where: str) -> None:
    names = {column.name for column in table.columns}
    if not merge.keys or any(key not in names for key in merge.keys):
        raise WorkloadError(f"{where}: keys {merge.keys} are not columns")
    positions = [table.position(key) for key in dict.fromkeys(merge.keys)]
    matched = [tuple(comparable(row[i]) for i in positions) for row in merge.rows]
    if len(positions) != len(merge.keys) or len(set(matched)) != len(matched):
        raise WorkloadError(f"{where}: two source rows have one key, or a key is listed twice")


def comparable(value: Value) -> object:
    """Returns a value as a key: NULL and NaN equal themselves, -0.0 equals 0.0, and TRUE is not 1."""
    if isinstance(value, float):
        return ("double", "nan" if value != value else value + 0.0)
    return (type(value).__name__, value)


def _check_rows(rows: tuple[Row, ...], table: Table, where: str) -> None:
    for row in rows:
        if len(row) != len(table.columns):
            raise WorkloadError(f"{where}: a row of {len(row)} values for {len(table.columns)} columns")
    for column, values in zip(table.columns, distinct_objects(rows), strict=False):
        for value in values:
            if not fits(value, column.type):
                raise WorkloadError(f"{where}: {value!r} in column {column.name} is no {column.type}")


def _check_columns(columns: tuple[Column, ...], table: str) -> None:
    if not columns:
        raise WorkloadError(f"table {table} has no columns")
    seen: set[str] = set()
    for column in columns:
        _check_column_name(column.name, f"table {table}")
        if column.name in seen:
            raise WorkloadError(f"table {table} has two columns named {column.name}")
        seen.add(column.name)


def _check_new_name(name: str, catalog: Catalog) -> None:
    _check_name(name, "scenario")
    if name in catalog:
        raise WorkloadError(f"two relations are named {name}")


def _check_name(name: str, where: str) -> None:
    # Names are rendered without quotes, so this pattern is also what keeps a hostile file from
    # smuggling SQL in.
    _check_form(name, where)
    if name in KEYWORDS:
        raise WorkloadError(f"{where}: {name!r} is a keyword of SQL; take another name")


def _check_column_name(name: str, where: str) -> None:
    # A column of a text or of a table is rendered in quotes where it is no plain word.
    if not column_pattern.fullmatch(name) or name != name.lower():
        raise WorkloadError(
            f"{where}: {name!r} is no name of a column here; name it by AS with small letters, digits and "
            "other signs, but no blanks, quotes or any of ,;{}()=\\"
        )


def _check_form(name: str, where: str) -> None:
    if not name_pattern.fullmatch(name):
        raise WorkloadError(f"{where}: {name!r} is no name; use lower-case letters, digits and _")


def _names_of(query: ir.Query) -> Iterator[str]:
    """Yields every name that is rendered: outputs, relations, aliases, CTEs, at any depth."""
    for node in ir.walk(query):
        match node:
            case ir.Item(_, name) | ir.Cte(name, _) | ir.Derived(_, name) | ir.Exploded(alias=name):
                yield name
            case ir.Named(name, alias):
                yield from (name, alias)
            case _:
                pass
