"""The audit of an account: every dynamic table against its query at its data timestamp, with evidence."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path

import duckdb
from deltalake import DeltaTable

from campaign.audit.evaluate import INTERNAL, Evaluation
from campaign.audit.stored import Refresh, StoredTable, Unreadable, refreshes_of, rows_at, tables_of
from campaign.errors import CampaignError
from dynamic_tables.definition import Columns, Definition
from dynamic_tables.differentiate.registry import RULES
from dynamic_tables.errors import DefinitionError, DynamicTablesError, UnsupportedError
from dynamic_tables.operations.own_functions import known_functions
from dynamic_tables.own_functions import Loaded, OwnFunction, called, loaded
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.time import at_times
from dynamic_tables.plan.types import Type
from dynamic_tables.plan.written.render import render
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.store.log.log import TableMetadata
from dynamic_tables.store.names.catalog import (
    ATTACHED,
    DYNAMIC_TABLE,
    VIEW,
    attached,
    from_metadata,
    parse_type,
)
from dynamic_tables.store.port import Action
from workload.errors import first_line

ROWS_SHOWN = 10
"""The most rows of a difference that are kept as evidence."""


class AuditVerdict(Enum):
    """The verdict of an audit on one table, or on a whole account; the values are printed."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    EMPTY = "not refreshed yet"


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """The verdict on one dynamic table.

    `facts`: what is wrong, or why nothing can be said, one sentence each. `missing` and `extra`: some of the
    rows that the query has and the table lacks, and the other way round; `..._count`: how many there are.
    """

    name: str
    verdict: AuditVerdict
    timestamp: int | None = None
    rows: int = 0
    facts: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    missing: tuple[tuple[object, ...], ...] = ()
    extra: tuple[tuple[object, ...], ...] = ()
    missing_count: int = 0
    extra_count: int = 0


@dataclass(frozen=True, slots=True)
class Audit:
    """The verdicts on an account. `skipped`: dynamic tables that the sample left out."""

    folder: str
    tables: tuple[AuditedTable, ...]
    skipped: int

    @property
    def verdict(self) -> AuditVerdict:
        """The worst of all: violated before unknown before holds; unknown where nothing was compared."""
        verdicts = {table.verdict for table in self.tables}
        worst_first = (AuditVerdict.VIOLATED, AuditVerdict.UNKNOWN, AuditVerdict.HOLDS)
        return next((each for each in worst_first if each in verdicts), AuditVerdict.UNKNOWN)

    @property
    def nothing(self) -> str:
        """Why nothing was compared, in a sentence; empty where something was."""
        if not self.tables:
            return "the account has no dynamic table, so nothing was compared"
        if all(table.verdict is AuditVerdict.EMPTY for table in self.tables):
            return "no dynamic table was refreshed yet, so nothing was compared"
        return ""


def audit(
    folder: Path | str,
    *,
    only: Sequence[str] = (),
    sample: int | None = None,
    seed: int = 1,
    progress: Callable[[str, int], None] = lambda name, left: None,
) -> Audit:
    """Judges the dynamic tables of an account, and returns the verdicts; writes nothing.

    `only`: these tables. `sample`: so many tables, chosen by `seed`. `progress`: called before each table
    with its name and how many are left. Raises CampaignError: the folder is no account, or lacks a table.
    """
    tables = tables_of(Path(folder))
    dynamic = [table.name for table in tables.values() if table.kind == DYNAMIC_TABLE]
    unknown = [name for name in only if name not in dynamic]
    if unknown:
        raise CampaignError(
            f"no dynamic table {unknown[0]} in {folder}; there are: {', '.join(dynamic) or 'none'}"
        )
    chosen = [name for name in dynamic if not only or name in only]
    if sample is not None and sample < len(chosen):
        chosen = sorted(random.Random(seed).sample(chosen, sample))
    found: list[AuditedTable] = []
    functions = known_functions(Journal(str(folder), LocalFiles()).poll())
    for number, name in enumerate(chosen):
        progress(name, len(chosen) - number)
        found.append(_audited(tables[name], tables, functions))
    return Audit(str(folder), tuple(found), len(dynamic) - len(chosen))


def _audited(
    table: StoredTable, tables: Mapping[str, StoredTable], functions: Mapping[str, OwnFunction]
) -> AuditedTable:
    """Returns the verdict on one table; what cannot be read makes it unknown."""
    timestamp: int | None = None
    try:
        refreshes, foreign = refreshes_of(table)
        if not refreshes:
            return _without_refresh(table, foreign)
        newest = refreshes[-1]
        timestamp = newest.timestamp
        facts = [*_frontier(refreshes, tables), *([foreign] if foreign else [])]
        views = {each.name: each.text for each in tables.values() if each.kind == VIEW}
        try:
            found = tuple(map(loaded, called(functions, (table.text, *views.values()))))
        except DefinitionError as error:
            raise Unreadable(str(error)) from error
        return _compared(table, tables, refreshes, facts, views, found)
    except Unreadable as error:
        return AuditedTable(table.name, AuditVerdict.UNKNOWN, timestamp, facts=(str(error),))


def _without_refresh(table: StoredTable, foreign: str | None) -> AuditedTable:
    """Returns the verdict on a table whose log holds no refresh: it must be empty."""
    rows = rows_at(table, table.newest, table.columns).num_rows
    if foreign is not None:
        return AuditedTable(table.name, AuditVerdict.VIOLATED, rows=rows, facts=(foreign,))
    if rows:
        raise Unreadable("it holds rows, but its log holds no refresh")
    return AuditedTable(table.name, AuditVerdict.EMPTY)


def _frontier(refreshes: Sequence[Refresh], tables: Mapping[str, StoredTable]) -> list[str]:
    """Returns what is wrong with the frontiers, which must go forward and name versions that exist."""
    facts: list[str] = []
    for before, after in pairwise(refreshes):
        if after.timestamp <= before.timestamp:
            facts.append(
                f"version {after.version} has the data timestamp {after.timestamp}, "
                f"which is not after {before.timestamp} of version {before.version}"
            )
        back = [name for name, version in after.sources.items() if version < before.sources.get(name, 0)]
        if back and after.action in (Action.INCREMENTAL.value, Action.NO_DATA.value):
            facts.append(
                f"version {after.version} consumed an older version of {back[0]} than the one before"
            )
    for name, version in refreshes[-1].sources.items():
        same = name in tables and tables[name].identity == refreshes[-1].identities[name]
        if same and version > tables[name].newest:
            facts.append(f"its frontier names version {version} of {name}, which has {tables[name].newest}")
    return facts


def _compared(
    table: StoredTable,
    tables: Mapping[str, StoredTable],
    refreshes: Sequence[Refresh],
    facts: list[str],
    views: Mapping[str, str],
    functions: Sequence[Loaded],
) -> AuditedTable:
    """Returns the verdict on a table by its rows; `facts`: what is wrong already. Raises Unreadable."""
    evaluation, newest = Evaluation(), refreshes[-1]
    try:
        evaluation.add_functions(functions)
        hidden = [name for name in table.hidden if name == ROW_ID]
        stored = rows_at(table, table.newest, [*table.columns, *hidden])
        evaluation.add("stored rows", stored, INTERNAL)
        if hidden:
            facts += [
                f"the row id {value!r} occurs {count} times"
                for value, count in evaluation.duplicates("stored rows", ROW_ID)
            ]
        evaluation.run(f'SELECT {_listed(table.columns)} FROM {INTERNAL}."stored rows"', "stored")
        for name, version in newest.sources.items():
            if name not in tables:
                raise Unreadable(f"its source {name} is not there any more")
            if tables[name].identity != newest.identities[name]:
                raise Unreadable(f"its source {name} is another table by now; refresh it first")
            evaluation.add(name, rows_at(tables[name], version))
            facts += [
                f"{count} rows of {name} have the primary key ({', '.join(tables[name].key)}) = {values!r}"
                for *values, count in evaluation.shared(name, tables[name].key)
            ]
        evaluation.query(table.text, views, "due", newest.timestamp)
        if table.frozen_where:
            facts += _frozen(table, refreshes, evaluation)
        columns, missing, less, extra, more = evaluation.difference("stored", "due", ROWS_SHOWN)
        verdict = AuditVerdict.VIOLATED if facts else AuditVerdict.HOLDS
        if less or more:
            alone = _confirmed(table, tables, evaluation, newest.timestamp, functions)
            if verdict is AuditVerdict.HOLDS:
                verdict = AuditVerdict.UNKNOWN if alone else AuditVerdict.VIOLATED
            facts = [*facts, *alone]
            facts.append(f"rows of the query that are missing: {less}; rows that are too many: {more}")
        return AuditedTable(
            name=table.name,
            verdict=verdict,
            timestamp=newest.timestamp,
            rows=stored.num_rows,
            facts=tuple(facts),
            columns=tuple(columns),
            missing=tuple(missing),
            extra=tuple(extra),
            missing_count=less,
            extra_count=more,
        )
    finally:
        evaluation.close()


def _frozen(table: StoredTable, refreshes: Sequence[Refresh], evaluation: Evaluation) -> Sequence[str]:
    """Leaves out the frozen rows of both sides; returns how the last refresh has changed them, if it has.

    Rows that are frozen now, and were stored by the refresh before, are stored as they were.
    """
    condition, time = table.frozen_where, refreshes[-1].timestamp
    found: list[str] = []
    if len(refreshes) > 1:
        evaluation.add("rows before", rows_at(table, refreshes[-2].version, table.columns), INTERNAL)
        for name, kept in (("rows before", "frozen before"), ("stored", "frozen now")):
            evaluation.part(name, condition, kept, time, frozen=True)
        _, _, gone, _, new = evaluation.difference("frozen now", "frozen before", 1)
        if gone or new:
            found.append(f"the last refresh changed its frozen part: {gone} rows went, {new} came")
    for name in ("stored", "due"):
        evaluation.part(name, condition, name, time, frozen=False)
    return found


def _confirmed(
    table: StoredTable,
    tables: Mapping[str, StoredTable],
    evaluation: Evaluation,
    time: int,
    functions: Sequence[Loaded],
) -> Sequence[str]:
    """Confirms a difference by the engine's reading of the query; returns a fact if there is no such reading.

    Without a second reading the difference is no proof: a wrong translation of a function would make it, too.
    Raises Unreadable: by the other reading the table is right, so that nothing can be said.
    """
    try:
        second_reading(table, tables, evaluation, "due by the engine", time, functions)
    except Unreadable as error:
        return [f"no second reading of the query confirms the difference: {error}"]
    if table.frozen_where:
        kept = "due by the engine"
        evaluation.part(kept, table.frozen_where, kept, time, frozen=False)
    _, _, less, _, more = evaluation.difference("stored", "due by the engine", 1)
    if not less and not more:
        raise Unreadable(
            "two readings of the query differ: by DuckDB's SQL of sqlglot it is wrong, "
            "by the engine's plan it is right"
        )
    return []


def _listed(columns: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns) or "1"


def second_reading(
    table: StoredTable,
    tables: Mapping[str, StoredTable],
    evaluation: Evaluation,
    keep: str,
    time: int,
    functions: Sequence[Loaded],
) -> None:
    """Keeps the rows of a query by the engine's plan. Raises Unreadable: the engine has no plan for it.

    `functions`: those of the account's own that the query calls; DuckDB has them under their names.
    """
    returned = {each.function.name.lower(): each.function.returns for each in functions}

    def type_of(expression: str, _: Columns) -> Type | None:
        """Returns the type of a call of an own function; what else the engine does not know has none."""
        returns = returned.get(expression.partition("(")[0].strip().lower())
        return None if returns is None else parse_type(returns)

    try:
        definitions = {name: _definition(each) for name, each in tables.items() if each is not table}
        bound = RULES.bind(table.text, definitions, type_of)
        leaves = {name: name for name in tables}
        columns = ", ".join(DUCKDB.identifier(column.name) for _, column in bound.outputs)
        evaluation.run(
            f"SELECT {columns} FROM ({render(at_times(bound.plan, None, time), DUCKDB, leaves).text()})", keep
        )
    except UnsupportedError as error:
        raise Unreadable(f"the engine has no plan of the query either: {error}") from error
    except (DynamicTablesError, duckdb.Error, KeyError) as error:
        raise Unreadable(f"the engine's reading cannot be run: {first_line(error)}") from error


def _definition(table: StoredTable) -> Definition:
    delta = DeltaTable(table.place)
    described = delta.metadata()
    metadata = TableMetadata(
        id=str(described.id), properties=described.configuration, schema=delta.schema().to_json()
    )
    if table.kind == ATTACHED:
        return attached(table.name, table.place, metadata)
    return from_metadata(table.name, metadata)[1]
