"""From scripts to what scenarios are drawn from: `read_definitions` is the one way in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from generators.given.model import Given, GivenTable, Goal, Witness
from given.changes import ANY, Changes, read_changes
from given.facts import UNKNOWN, Resolved, Resolver, in_order
from given.frequencies import Sample
from given.goals import GoalFinder
from given.near import BEGIN_US, TICK_US
from given.script import (
    Script,
    ScriptError,
    WrittenDefinition,
    read_scripts,
    unusable,
    with_foreign_keys,
)
from given.translation import duckdb_text
from given.values import NoRow, Values
from given.witnesses import Witnesses
from workload.errors import WorkloadError
from workload.query import Named, Verbatim
from workload.scenario import Definition, DynamicTable, Scenario, View
from workload.schema import Column, Table
from workload.sql.passing_time import reads_time, text_at
from workload.types import DOUBLE, ESTIMATE, SqlType
from workload.wellformed import check_definitions


@dataclass(frozen=True, slots=True)
class Described:
    """What an engine says of a definition: the columns that it has, or why it cannot be read."""

    columns: tuple[Column, ...] = ()
    reason: str = ""


class NothingToJudge(ScriptError):
    """No dynamic table of the scripts can be judged. `wrong`: why statements cannot be used, by name."""

    def __init__(self, message: str, wrong: Mapping[str, str]) -> None:
        super().__init__(message)
        self.wrong = wrong


Describe = Callable[[WrittenDefinition, Mapping[str, tuple[Column, ...]]], Described]
"""(definition, columns of the relations that it may read) -> its columns."""


def read_definitions(
    path: Path,
    describe: Describe,
    connection: duckdb.DuckDBPyConnection,
    *,
    by_duckdb: bool,
    sample: Sample | None = None,
) -> Given:
    """Tables and definitions of the scripts at a path, with the values and the goals of random data.

    `connection`: an empty database that evaluates constants and CHECK conditions; tables are created there.
    `by_duckdb`: DuckDB alone will say what they mean, so one that it cannot read cannot be judged. `sample`:
    how often the user's own tables have what. What cannot be used is refused, with the file and the line, and
    so is what reads it. Raises ScriptError where the scripts or the file dvs.toml cannot be read at all, and
    NothingToJudge where no dynamic table is left.
    """
    script = read_scripts(path)
    changes = read_changes(path, script)
    while True:
        try:
            return _given(path, script, changes, describe, connection, by_duckdb=by_duckdb, sample=sample)
        except NoRow as error:
            script = with_foreign_keys(
                script.without(unusable(error.base.table.name, error.base.place, error))
            )


def _given(
    path: Path,
    script: Script,
    changes: Mapping[str, Changes],
    describe: Describe,
    connection: duckdb.DuckDBPyConnection,
    *,
    by_duckdb: bool,
    sample: Sample | None,
) -> Given:
    """What the usable part of a script gives. Raises NoRow: a table can hold no row."""
    resolver = Resolver(script)
    values = Values(resolver, connection)
    found = Witnesses(resolver, values)
    witnesses: dict[str, tuple[Witness, ...]] = {}
    known = {base.table.name: base.table.columns for base in script.tables}
    behind: dict[str, tuple[str, ...]] = {}
    definitions: list[Definition] = []
    ordered, circular = in_order(script)
    wrong = {each.name: each.wrong for each in script.unfit.values() if each.wrong} | dict(circular)
    refused = dict(wrong)
    clocked = False
    goals: dict[str, tuple[Goal, ...]] = {}
    places: dict[str, tuple[str, int]] = {}
    tables = {base.table.name: base for base in script.tables}
    for written in ordered:
        if written.name in circular:
            resolver.known[written.name] = {}
            continue
        try:
            resolved = resolver.resolve(written)
        except ScriptError as error:
            refused[written.name] = wrong[written.name] = str(error)
            resolver.known[written.name] = {}
            continue
        values.read(resolved)
        if written.frozen:
            values.read(resolver.resolve(frozen_rows(written)))
        witnesses[written.name] = found.of(resolved)
        unfit = [script.unfit[name].reason for name in resolved.sources if name in script.unfit]
        unfit += [f"it reads {name}" for name in resolved.sources if name in refused]
        described = Described(reason=unfit[0]) if unfit else describe(written, known)
        definition = defined(resolved, described.columns)
        text, columns = duckdb_text(resolved.translated), described.columns
        refusal = values.refusal(written.name, text, columns) if by_duckdb and not described.reason else ""
        reason = described.reason or refusal or _malformed(definition, known)
        if reason:
            refused[written.name] = f"{written.place}: {reason}"
            continue
        known[written.name] = described.columns
        behind[written.name] = tuple(
            dict.fromkeys(base for name in resolved.sources for base in behind.get(name, (name,)))
        )
        definitions.append(definition)
        places[written.name] = (str(written.place.file), written.line)
        if not written.view:
            clocked = clocked or reads_time(definition.query) or text_at(written.frozen, 0) != written.frozen
            got = {name: changes.get(name, ANY).got for name in behind[written.name]}
            goals[written.name] = GoalFinder(resolver, values, resolved, tables, got).goals()
    if not goals:
        raise NothingToJudge(_nothing(path, script, refused), wrong)
    given = parents_first(
        [
            values.given(base, changes.get(base.table.name, ANY), (sample or {}).get(base.table.name))
            for base in script.tables
        ]
    )
    _ensure_whole(path, given, definitions)
    return Given(
        source=str(path),
        tables=given,
        definitions=tuple(definitions),
        goals=goals,
        places=places,
        witnesses=witnesses,
        refused=refused,
        wrong=frozenset(wrong),
        **({"begin": BEGIN_US, "tick": TICK_US} if clocked else {}),
    )


def frozen_rows(written: WrittenDefinition) -> WrittenDefinition:
    """The query for the frozen rows of a table, under a name that no table has."""
    tree = sqlglot.parse_one(f"SELECT * FROM {written.name} WHERE {written.frozen}", read="databricks")
    assert isinstance(tree, exp.Query)
    return replace(written, name=f"{written.name} frozen", tree=tree)


def _ensure_whole(path: Path, tables: Sequence[GivenTable], definitions: Sequence[Definition]) -> None:
    """Raises ScriptError: a scenario cannot hold all of the tables and definitions together."""
    whole = Scenario(str(path), tuple(each.table for each in tables), tuple(definitions), ())
    try:
        check_definitions(whole)
    except WorkloadError as error:
        raise ScriptError(f"{path}: {error}") from error


def _malformed(definition: Definition, known: Mapping[str, tuple[Column, ...]]) -> str:
    """Why a scenario cannot hold a definition beside those before it; empty where it can."""
    above = tuple(Table(name, columns) for name, columns in known.items())
    try:
        check_definitions(Scenario("", above, (definition,), ()))
    except WorkloadError as error:
        return str(error)
    return ""


def defined(resolved: Resolved, columns: tuple[Column, ...]) -> Definition:
    """The definition of a scenario: its text in both dialects."""
    written = resolved.written
    query = Verbatim(
        text=written.text,
        translated=duckdb_text(resolved.translated),
        sources=tuple(Named(name, name) for name in resolved.sources),
        columns=tuple((column.name, _compared(column, resolved)) for column in columns),
    )
    if written.view:
        return View(written.name, query)
    frozen = sqlglot.parse_one(written.frozen, read="databricks") if written.frozen else None
    return DynamicTable(
        written.name,
        query,
        written.mode,
        written.lag,
        frozen_where=written.frozen,
        frozen_translated="" if frozen is None else duckdb_text(frozen),
    )


def _compared(column: Column, resolved: Resolved) -> SqlType:
    """The type of an output column: an ESTIMATE for a DOUBLE that is calculated, in any order of rows."""
    shown = resolved.facts.get(column.name, UNKNOWN).origin is not None
    return ESTIMATE if column.type == DOUBLE and not shown else column.type


def parents_first(tables: list[GivenTable]) -> tuple[GivenTable, ...]:
    """The tables, each after those that its foreign keys refer to, as far as there is no circle."""
    ordered: list[GivenTable] = []
    remaining = list(tables)
    while remaining:
        waiting = {each.table.name for each in remaining}
        free = [
            each
            for each in remaining
            if not any(
                key.table in waiting and key.table != each.table.name for key in each.table.promises.foreign
            )
        ]
        ordered += free or remaining
        remaining = [each for each in remaining if each not in ordered]
    return tuple(ordered)


def _nothing(path: Path, script: Script, refused: Mapping[str, str]) -> str:
    if refused:
        reasons = "; ".join(refused.values())
        return f"no dynamic table can be judged: {reasons}"
    what = "views only" if script.definitions else "no definition"
    return f"{path}: the scripts hold {what}; add a CREATE DYNAMIC TABLE name AS SELECT .."
