"""Scenarios cut down to what an engine supports, before anything runs.

`fitted` adapts the profile, so that little is drawn in vain. `fit` takes out what is left: definitions with
an operator, type or value that the engine lacks, steps on these, and statements that it cannot run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import assert_never

from generators.coverage import operators
from generators.profiles import Profile
from generators.reshaping import has_key, reshaped
from workload import query as ir
from workload.dml import Dml, Restore, WithRows, statement_expressions
from workload.errors import WorkloadError
from workload.failing import may_fail
from workload.limits import NO_LIMITS, Limits, Timestamps
from workload.operators import JOIN_OPERATORS, OPERATORS
from workload.scenario import (
    Commit,
    Create,
    Definition,
    Drop,
    DynamicTable,
    Read,
    Redefine,
    Refresh,
    Scenario,
    Step,
    View,
)
from workload.schema import Table
from workload.sql import render_expr, render_query
from workload.sql.passing_time import reads_time
from workload.types import Kind, SqlType, Value, distinct_objects


def fitted(profile: Profile, limits: Limits) -> Profile:
    """Returns the profile that draws what an engine with these limits supports, with floors for that only.

    Many states and intents need features that the engine may lack, so they have no floors.
    """
    # `update_one` is a weight of the statement `update`.
    kinds = {k: weight for k, weight in profile.dml.items() if k.removesuffix("_one") in limits.statements}
    joins = tuple((w, kind) for w, kind in profile.query.joins if JOIN_OPERATORS[kind] in limits.operators)
    floors = {f"operator: {operator}": 3 for operator in sorted(limits.reachable)}
    return replace(
        profile,
        limits=limits,
        dml=kinds,
        query=replace(profile.query, joins=joins or profile.query.joins),
        view_percent=profile.view_percent if limits.views else 0,
        stale_percent=profile.stale_percent if limits.timestamps is Timestamps.ANY else 0,
        floors=floors
        | ({"state: refresh killed": 100} if limits.restarts else {})
        | ({"state: transaction rolled back": 100} if limits.rollbacks else {}),
    )


def refused(scenario: Scenario, limits: Limits) -> dict[str, str]:
    """Returns the definitions that an engine with these limits does not support, each with the reason."""
    gaps = {table.name: gap for table in scenario.tables if (gap := table_gap(table, limits)) is not None}
    missing = frozenset(gaps)
    if _keeps_first(scenario, limits):
        # One that takes the name of a replaced one later finds the first one still there.
        gaps |= {
            each.name: "it replaces another definition" for each in scenario.definitions if each.known_as
        }
    used: dict[str, frozenset[str]] = {}
    definitions = {definition.name: definition for definition in scenario.definitions}
    for name, definition in definitions.items():
        below = [definitions[source] for source in ir.names_read(definition.query) if source in definitions]
        used[name] = frozenset(operators(definition.query)).union(
            *(used[source.name] for source in below if isinstance(source, View))
        )
        absent = [source for source in ir.names_read(definition.query) if source in missing]
        gap = gaps[absent[0]] if absent else _gap(definition, below, gaps, used[name], limits)
        gap = gaps.get(name, gap)
        if gap is not None:
            gaps[name] = gap
    return {name: gap for name, gap in gaps.items() if name in definitions}


def _gap(
    definition: Definition,
    below: list[Definition],
    gaps: dict[str, str],
    used: frozenset[str],
    limits: Limits,
) -> str | None:
    """Returns why an engine lacks a definition, or None. `below`: the definitions that it reads."""
    for source in below:
        if source.name in gaps:
            return f"it reads {source.name}: {gaps[source.name]}"
        if isinstance(source, DynamicTable) and not limits.layered:
            return f"it reads {source.name}, another dynamic table"
    if definition.known_as and not _drops(limits):
        return "it takes the name of one that was dropped"
    if isinstance(definition, DynamicTable) and definition.frozen_where and limits != NO_LIMITS:
        return "it has a frozen part"
    if isinstance(definition, View) and not limits.views:
        return "it is a view"
    if may_fail(definition.query) and not limits.failures:
        return "it may fail on its data"
    if reads_time(definition.query) and not limits.clock:
        return "it reads the current time"
    beyond = sorted(used - limits.operators)
    if beyond:
        return ", ".join(beyond)
    return query_gap(definition.query, limits) or limits.gap(definition.query)


DRAWN, CUT, LOST = "drawn", "cut: ", "lost: "
"""The keys under which the cost of limits is counted: scenarios drawn; by reason, those of them that lost a
definition; and by `operator / reason`, how many operators were lost with the definitions."""

READS = re.compile(r"^(it reads \w+: )+")
NAMES = re.compile(r"\b\w*\d\w*\b")
"""What reasons have beside the gap: the definitions read on the way to it, and names with numbers."""


def _note(cut: Counter[str], scenario: Scenario, reasons: Mapping[str, str]) -> None:
    """Counts what limits cost a scenario: the reasons, without the names in them."""
    whole = {name: NAMES.sub("_", READS.sub("", reason)) for name, reason in reasons.items()}
    cut[DRAWN] += 1
    cut.update(f"{CUT}{reason}" for reason in set(whole.values()))
    for name, reason in whole.items():
        used = operators(scenario.definition(name).query)
        cut.update(f"{LOST}{operator} / {reason}" for operator in used if operator in OPERATORS)


def fit(scenario: Scenario, limits: Limits, cut: Counter[str] | None = None) -> Scenario:
    """Returns the scenario without what the engine does not support, at data timestamps that it supports.

    `cut`: counts what that costs, by DRAWN, CUT and LOST. A well-formed scenario stays well-formed. Raises
    WorkloadError if, with `Timestamps.COMMIT`, the time after a commit is too short: each commit is then
    followed by a refresh of every table.
    """
    return without(*with_reasons(scenario, limits, cut), limits)


def with_reasons(
    scenario: Scenario, limits: Limits, cut: Counter[str] | None = None
) -> tuple[Scenario, Mapping[str, str]]:
    """Returns the scenario in the shapes of the limits, and the refused definitions with their reasons.

    This is the first half of `fit`, which says already whether a dynamic table is left. `cut`: as for `fit`.
    """
    amended = (replace(d, query=limits.amend(d.query)) for d in scenario.definitions)
    scenario = reshaped(replace(scenario, definitions=tuple(amended)), limits)
    reasons = refused(scenario, limits)
    if cut is not None:
        _note(cut, scenario, reasons)
    return scenario, reasons


def without(scenario: Scenario, reasons: Mapping[str, str], limits: Limits) -> Scenario:
    """Returns the scenario without what is refused, and without steps on it: the second half of `fit`."""
    tables = {table.name: table for table in scenario.tables if table_gap(table, limits) is None}
    missing = {table.name for table in scenario.tables if table.name not in tables}
    steps: list[Step] = []
    commits: set[int] = set()
    created: list[str] = []
    restarts = {
        (s.at, s.table): s.killed for s in scenario.steps if isinstance(s, Refresh) and limits.restarts
    }
    # Where nothing is replaced the first definitions stay: what read a replaced one later reads the first.
    drops = _drops(limits) and not _keeps_first(scenario, limits)
    for step in scenario.steps:
        match step:
            case Commit(at, statements):
                supported = tuple(s for s in statements if _supported(s, tables, limits, commits))
                if supported:
                    commits.add(at)
                    undone = step.rolled_back and limits.rollbacks
                    # The calls of an engine with limits are its own: no other process works between them.
                    steps.append(replace(step, statements=supported, meanwhile=None, rolled_back=undone))
                    if limits.timestamps is Timestamps.COMMIT:
                        steps.extend(
                            Refresh(at + i, name, at, restarts.get((at + i, name)))
                            for i, name in enumerate(created, 1)
                        )
            case Create() | Drop() | Redefine():
                defining = _defining(step, reasons, drops=drops)
                steps.extend(defining)
                created = _created(created, defining, scenario)
            case Refresh():
                steps.extend(() if step.table in reasons else _refresh(step, limits))
            case Read():
                names = tuple(name for name in step.tables if name not in reasons and name not in missing)
                if names:
                    steps.append(replace(step, tables=names))
            case _:
                assert_never(step)
    for before, after in pairwise(steps):
        if before.at >= after.at:
            raise WorkloadError(f"{scenario.name}: no room for refreshes between {before.at} and {after.at}")
    definitions = tuple(_timed(d, limits) for d in scenario.definitions if d.name not in reasons)
    return replace(scenario, tables=tuple(tables.values()), definitions=definitions, steps=tuple(steps))


def is_within(scenario: Scenario, limits: Limits) -> bool:
    """Tells whether an engine with these limits supports a scenario as it is, such as a shrunk one."""
    try:
        return limits == NO_LIMITS or fit(scenario, limits) == scenario
    except WorkloadError:
        return False


def _supported(statement: Dml, tables: Mapping[str, Table], limits: Limits, commits: Collection[int]) -> bool:
    """Tells whether the engine can run a statement; `commits`: the times that RESTORE can go back to."""
    if statement.table not in tables or not holds(statement, tables[statement.table], limits):
        return False
    if isinstance(statement, Restore) and statement.to not in commits:
        return False
    return type(statement).__name__.lower() in limits.statements


def _keeps_first(scenario: Scenario, limits: Limits) -> bool:
    """Tells whether a scenario replaces definitions, and the engine cannot."""
    return not limits.replaces and any(isinstance(step, Redefine) for step in scenario.steps)


def _drops(limits: Limits) -> bool:
    """Tells whether the engine drops definitions in scenarios."""
    # Where every commit maintains the tables, the refreshes that it adds would stand after the drop.
    return limits.drops and limits.timestamps is not Timestamps.COMMIT


def _defining(
    step: Create | Drop | Redefine, reasons: Collection[str], *, drops: bool
) -> list[Create | Drop | Redefine]:
    """Returns the step without the definitions that the engine refuses; no step where none is left."""
    match step:
        case Create(_, name):
            return [] if name in reasons else [step]
        case Drop(_, name):
            return [] if name in reasons or not drops else [step]
        case Redefine(at, names):
            kept = tuple(name for name in names if name not in reasons)
            return [Redefine(at, kept)] if names[0] in kept else []


def _created(before: list[str], steps: Sequence[Create | Drop | Redefine], scenario: Scenario) -> list[str]:
    """Returns the dynamic tables that exist after some steps; none is replaced where commits refresh."""
    for step in steps:
        match step:
            case Create(_, name) if isinstance(scenario.definition(name), DynamicTable):
                before = [*before, name]
            case Drop(_, dropped):
                before = [name for name in before if name != dropped]
            case _:
                pass
    return before


def _refresh(step: Refresh, limits: Limits) -> list[Step]:
    """Returns the refresh at a data timestamp that the engine supports; no step if commits refresh."""
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
    """Returns the definition, with the shortest lag unless the engine refreshes to any data timestamp."""
    # The shortest lag makes every table start from its sources as they are at its creation.
    if limits.timestamps is Timestamps.ANY or isinstance(definition, View):
        return definition
    return replace(definition, target_lag=1)


def table_gap(table: Table, limits: Limits) -> str | None:
    """Returns why the engine cannot have the table; None if it can."""
    for column in table.columns:
        if not _has(limits, column.type):
            return f"{table.name} has a column of type {column.type.kind.value}"
    if limits.keys and not has_key(table):
        return f"{table.name} has no primary key"
    return None


def _has(limits: Limits, type_: SqlType) -> bool:
    """Tells whether the engine has a type, and all types inside it."""
    return type_.kind in limits.types and all(_has(limits, part) for _, part in type_.parts)


def _stores(limits: Limits, value: Value, type_: SqlType) -> bool:
    """Tells whether the engine stores a value and all values in it."""
    if value is None:
        return True
    parts = [part for _, part in type_.parts]
    match type_.kind, value:
        case Kind.ARRAY, tuple():
            inside = [(element, parts[0]) for element in value]
        case Kind.STRUCT, tuple():
            inside = list(zip(value, parts, strict=True))
        case Kind.MAP, tuple():
            inside = [each for pair in value for each in zip(pair, parts, strict=True)]
        case _:
            inside = []
    return limits.stores(value, type_) and all(_stores(limits, *each) for each in inside)


def query_gap(node: ir.Query | ir.Expr, limits: Limits) -> str | None:
    """Returns why the engine cannot run a query or evaluate an expression; None if it can."""
    conditions = frozenset[int]() if Kind.BOOLEAN in limits.types else frozenset(_conditions(node))
    for part in ir.walk(node):
        if isinstance(part, ir.Expr) and not _has(limits, part.type) and id(part) not in conditions:
            return f"it calculates with type {part.type.kind.value}"
        if isinstance(part, ir.Literal) and not _stores(limits, part.value, part.type):
            return f"it has the value {part.value!r} of type {part.type.kind.value}"
    for dialect in limits.dialects:
        try:
            text = render_query(node, dialect) if isinstance(node, ir.Query) else render_expr(node, dialect)
        except WorkloadError as error:
            return str(error)
        for word in sorted(limits.lacks):
            if _pattern(word).search(QUOTED.sub("''", text)):
                return f"it has {word}, which the engine lacks"
    return None


QUOTED = re.compile(r"'(?:[^']|'')*'")
"""A string in a text of SQL."""


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Returns the pattern of a word or an operator sign in SQL, whatever its case and its blanks."""
    parts = r"\s+".join(map(re.escape, word.split()))
    start, end = (r"\b" if edge.isalnum() else "" for edge in (word[0], word[-1]))
    return re.compile(f"{start}{parts}{end}", re.IGNORECASE)


def _conditions(node: ir.Query | ir.Expr) -> Iterator[int]:
    """Yields the identities of a query's conditions: they are no values, so they need no type BOOLEAN."""
    values: set[int] = set()
    roots: set[int] = {id(node)}
    for part in ir.walk(node):
        match part:
            case ir.Select(items, _, where, group_by, having, _, qualify):
                values.update(id(expr) for expr in (*(item.expr for item in items), *(group_by or ())))
                roots.update(map(id, (where, having, qualify)))
            case ir.Join(on=on):
                roots.add(id(on))
            case ir.Aggregate(_, arg):
                values.update(map(id, (arg, *part.extra)))
            case _:
                pass
        condition = isinstance(part, ir.Call) or (isinstance(part, ir.Literal) and id(part) in roots)
        if condition and part.type.kind is Kind.BOOLEAN and id(part) not in values:  # type: ignore[union-attr]
            yield id(part)


def holds(statement: Dml, table: Table, limits: Limits) -> bool:
    """Tells whether the engine can run a statement on a table that it can have."""
    if isinstance(statement, WithRows):
        for column, values in zip(table.columns, distinct_objects(statement.rows), strict=False):
            if not all(_stores(limits, value, column.type) for value in values):
                return False
    return all(query_gap(expr, limits) is None for expr in statement_expressions(statement))
