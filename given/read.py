"""The way from scripts to a `Given`, from which scenarios are drawn: `read_definitions`.

Definitions are read upstreams first. An engine says which columns each one has; then it gets values,
witnesses and goals. A definition that cannot be judged is refused, and so is what reads it. A table that can
hold no row is taken out of the script, and everything is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from generators.given.model import Given, GivenTable, Goal, Witness
from given.changes import ANY, Changes, read_changes
from given.dialect import WrittenSpark
from given.facts import UNKNOWN, Resolved, Resolver, in_order
from given.frequencies import Sample
from given.goals import GoalFinder
from given.near import BEGIN_US, TICK_US
from given.script import (
    TOO_DEEP,
    UNUSABLE,
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
from workload.schema import Column, Promises, Table
from workload.sql.passing_time import reads_time, text_at
from workload.types import DOUBLE, ESTIMATE, SqlType
from workload.wellformed import check_definitions


@dataclass(frozen=True, slots=True)
class Described:
    """An engine's answer about a definition: the columns that it has, or why it cannot be read."""

    columns: tuple[Column, ...] = ()
    reason: str = ""


class NothingToJudge(ScriptError):
    """The error where no dynamic table can be judged. `wrong`: why statements cannot be used, by name."""

    def __init__(self, message: str, wrong: Mapping[str, str]) -> None:
        super().__init__(message)
        self.wrong = wrong


Describe = Callable[[WrittenDefinition, Mapping[str, Table]], Described]
"""(definition, the relations that it may read, views as tables) -> its columns."""


def read_definitions(
    path: Path,
    describe: Describe,
    connection: duckdb.DuckDBPyConnection,
    *,
    by_duckdb: bool,
    sample: Sample | None = None,
) -> Given:
    """Returns the tables and definitions of the scripts at a path, with values and goals for random data.

    `connection`: an empty database that evaluates constants and CHECK conditions; tables are created there.
    `by_duckdb`: DuckDB alone will say what the definitions mean, so one that it cannot read cannot be judged.
    `sample`: how often the user's own tables have which values. What cannot be used is refused, with the file
    and the line, and so is what reads it. Raises ScriptError where the scripts or the file dvs.toml cannot be
    read at all, and NothingToJudge where no dynamic table is left.
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
    """Returns what the usable part of a script gives. Raises NoRow if a table can hold no row."""
    ordered, circular = in_order(script)
    wrong = {each.name: each.wrong for each in script.unfit.values() if each.wrong} | dict(circular)
    resolver = Resolver(script)
    read = _Definitions(script, changes, describe, by_duckdb, resolver, Values(resolver, connection), wrong)
    for written in ordered:
        if written.name in circular:
            resolver.known[written.name] = {}
        else:
            read.add(written)
    if not read.goals:
        raise NothingToJudge(_nothing(path, script, read.refused), wrong)
    tables = parents_first(
        [
            read.values.given(base, changes.get(base.table.name, ANY), (sample or {}).get(base.table.name))
            for base in script.tables
        ]
    )
    _ensure_whole(path, tables, read.definitions)
    return Given(
        source=str(path),
        tables=tables,
        definitions=tuple(read.definitions),
        goals=read.goals,
        places=read.places,
        witnesses=read.witnesses,
        refused=read.refused,
        wrong=frozenset(wrong),
        by_key=frozenset(read.by_key),
        **({"begin": BEGIN_US, "tick": TICK_US} if read.clocked else {}),
    )


class _Definitions:
    """The definitions of a script, with what each needs in a `Given`; they are added upstreams first.

    `known`: the columns of each relation that can be read. `behind`: the base tables below a definition.
    `refused`: why a definition is left out; `wrong`: those of them that the user must correct. `by_key`: the
    definitions that need the primary keys of what they read. `clocked`: a definition reads the time.
    """

    def __init__(
        self,
        script: Script,
        changes: Mapping[str, Changes],
        describe: Describe,
        by_duckdb: bool,
        resolver: Resolver,
        values: Values,
        wrong: dict[str, str],
    ) -> None:
        self.unfit = script.unfit
        self.changes = changes
        self.describe = describe
        self.by_duckdb = by_duckdb
        self.resolver = resolver
        self.values = values
        self.wrong = wrong
        self.refused = dict(wrong)
        self.found = Witnesses(resolver, values)
        self.tables = {base.table.name: base for base in script.tables}
        self.known = {
            name: replace(base.table, promises=Promises(declared=base.declared))
            for name, base in self.tables.items()
        }
        self.behind: dict[str, tuple[str, ...]] = {}
        self.definitions: list[Definition] = []
        self.witnesses: dict[str, tuple[Witness, ...]] = {}
        self.goals: dict[str, tuple[Goal, ...]] = {}
        self.places: dict[str, tuple[str, int]] = {}
        self.by_key: set[str] = set()
        self.clocked = False

    def add(self, written: WrittenDefinition) -> None:
        """Adds a definition, with its witnesses and goals, or the reason why it is refused."""
        try:
            self._add(written)
        except RecursionError:
            reason = f"{written.place}: {TOO_DEEP}"
            self.refused[written.name] = self.wrong[written.name] = reason
            self.resolver.known[written.name] = {}

    def _add(self, written: WrittenDefinition) -> None:
        try:
            resolved = self.resolver.resolve(written)
        except ScriptError as error:
            self.refused[written.name] = self.wrong[written.name] = str(error)
            self.resolver.known[written.name] = {}
            return
        self.values.read(resolved)
        if written.frozen:
            self.values.read(self.resolver.resolve(frozen_rows(written)))
        self.witnesses[written.name] = self.found.of(resolved)
        described = self._described(resolved)
        columns = described.columns
        definition = defined(resolved, columns)
        reason = described.reason or _malformed(definition, self.known)
        if reason:
            self.refused[written.name] = f"{written.place}: {reason}"
            return
        self.known[written.name] = Table(written.name, columns)
        bases = (base for name in resolved.sources for base in self.behind.get(name, (name,)))
        self.behind[written.name] = tuple(dict.fromkeys(bases))
        self.definitions.append(definition)
        self.places[written.name] = (str(written.place.file), written.line)
        if not written.view:
            self.clocked |= reads_time(definition.query) or text_at(written.frozen, 0) != written.frozen
            got = {name: self.changes.get(name, ANY).got for name in self.behind[written.name]}
            goals = GoalFinder(self.resolver, self.values, resolved, self.tables, got)
            self.goals[written.name] = goals.goals()

    def _described(self, resolved: Resolved) -> Described:
        """Returns the columns of a definition, or why it is refused: by its sources, the engine or DuckDB."""
        written = resolved.written
        unfit = [self.unfit[name].reason for name in resolved.sources if name in self.unfit]
        unfit += [f"it reads {name}{UNUSABLE}" for name in resolved.sources if name in self.refused]
        if unfit:
            return Described(reason=unfit[0])
        described = self.describe(written, self.known)
        read = {name: self.known[name] for name in resolved.sources if name in self.known}
        if not described.reason and any(table.promises.declared for table in read.values()):
            keyless = {name: Table(name, table.columns) for name, table in read.items()}
            if self.describe(written, keyless).reason:
                self.by_key.add(written.name)
        if described.reason or not self.by_duckdb:
            return described
        text = duckdb_text(resolved.translated)
        return replace(described, reason=self.values.refusal(written.name, text, described.columns))


def frozen_rows(written: WrittenDefinition) -> WrittenDefinition:
    """Returns the query for the frozen rows of a table, under a name that no table has."""
    tree = sqlglot.parse_one(f"SELECT * FROM {written.name} WHERE {written.frozen}", read=WrittenSpark)
    assert isinstance(tree, exp.Query)
    return replace(written, name=f"{written.name} frozen", tree=tree)


def _ensure_whole(path: Path, tables: Sequence[GivenTable], definitions: Sequence[Definition]) -> None:
    """Raises ScriptError if a scenario cannot hold all of the tables and definitions together."""
    whole = Scenario(str(path), tuple(each.table for each in tables), tuple(definitions), ())
    try:
        check_definitions(whole)
    except WorkloadError as error:
        raise ScriptError(f"{path}: {error}") from error


def _malformed(definition: Definition, known: Mapping[str, Table]) -> str:
    """Returns why a scenario cannot hold a definition beside those before it; empty if it can."""
    try:
        check_definitions(Scenario("", tuple(known.values()), (definition,), ()))
    except WorkloadError as error:
        return str(error)
    return ""


def defined(resolved: Resolved, columns: tuple[Column, ...]) -> Definition:
    """Returns the definition of a scenario, with its text in both dialects."""
    written = resolved.written
    query = Verbatim(
        text=written.text,
        translated=duckdb_text(resolved.translated),
        sources=tuple(Named(name, name) for name in resolved.sources),
        columns=tuple((column.name, _compared(column, resolved)) for column in columns),
    )
    if written.view:
        return View(written.name, query)
    frozen = sqlglot.parse_one(written.frozen, read=WrittenSpark) if written.frozen else None
    return DynamicTable(
        written.name,
        query,
        written.mode,
        written.lag,
        frozen_where=written.frozen,
        frozen_translated="" if frozen is None else duckdb_text(frozen),
    )


def _compared(column: Column, resolved: Resolved) -> SqlType:
    """Returns the type of an output column: ESTIMATE for a calculated DOUBLE, whose last bits may differ."""
    shown = resolved.facts.get(column.name, UNKNOWN).origin is not None
    return ESTIMATE if column.type == DOUBLE and not shown else column.type


def parents_first(tables: list[GivenTable]) -> tuple[GivenTable, ...]:
    """Returns the tables, each after those that its foreign keys refer to, as far as there is no circle."""
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
    """Returns the message that nothing can be judged: all is refused, or there is no dynamic table."""
    if refused:
        # What reads a relation that cannot be used says nothing new.
        causes = [reason for reason in refused.values() if not reason.endswith(UNUSABLE)]
        return f"no dynamic table can be judged: {'; '.join(causes or refused.values())}"
    what = "views only" if script.definitions else "no definition"
    return f"{path}: the scripts hold {what}; add a CREATE DYNAMIC TABLE name AS SELECT .."
