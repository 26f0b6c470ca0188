"""Collects what the script `reproduce.py` of a failure folder shows: tables, transactions, query and rows."""

from __future__ import annotations

from campaign.lanes.spec import LaneSpec
from engines.registry import limits_of
from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from oracle.expansion import expand
from reports.describe import formatted_sql
from reports.findings import by_diagnosis, place, summary_text
from reports.reproduction import AdapterReproduction, Given, Reproduction, RestoreTo
from workload.dml import Dml, Restore
from workload.errors import WorkloadError
from workload.outcomes.results import Check, DifferenceKind, Finding, Outcome
from workload.scenario import Commit, Create, Drop, Redefine, Refresh, Scenario, View
from workload.schema import Column, Table
from workload.sql import Dialect, column_types, create_table_text, delta_texts, dml_texts
from workload.timeline import due_refreshes
from workload.types import Row
from workload.wellformed import check_scenario
from workload.writing import definition_text


def reproduction(scenario: Scenario, outcome: Outcome, replay: str) -> Reproduction | None:
    """Returns what `reproduce.py` shows of a failure; None where no finding names a view or dynamic table.

    A finding with wrong rows is preferred to others: rows can be shown without the engine.
    """
    names = {definition.name for definition in scenario.definitions}
    findings = [finding for finding in by_diagnosis(outcome) if finding.table in names]
    if not findings:
        return None
    shown = next((finding for finding in findings if _rows_differ(finding)), findings[0])
    expansion = expand(scenario, shown.table).at(shown.timestamp or 0)
    tables = {table.name: table for table in scenario.tables if table.name in expansion.tables}
    with DelayedView(scenario) as truth:
        columns = tuple(column.name for column in truth.columns(shown.table))
    return Reproduction(
        title=f"{outcome.outcome.value}: {shown.check.value}",
        summary=summary_text(outcome),
        findings=tuple(f"{f.check.value}: {place(f)}: {f.message}" for f in findings),
        table=shown.table,
        timestamp=shown.timestamp,
        tables={
            name: (column_types(t, Dialect.SPARK), column_types(t, Dialect.DUCKDB))
            for name, t in tables.items()
        },
        transactions=_transactions(scenario, tables, shown.timestamp),
        spark_query=formatted_sql(expansion.text((), Dialect.SPARK), Dialect.SPARK),
        duckdb_query=formatted_sql(expansion.text((), Dialect.DUCKDB), Dialect.DUCKDB),
        columns=columns,
        rows=stored_rows(scenario, shown),
        replay=replay,
    )


def adapter_reproduction(
    scenario: Scenario, outcome: Outcome, replay: str, spec: LaneSpec
) -> AdapterReproduction | None:
    """Returns what the script of an adapter gives its engine: the same texts, up to the first failure.

    None where some statement has no text in the engine's dialect or in DuckDB's.
    """
    shown = next((f for f in by_diagnosis(outcome) if f.table), None)
    broken = outcome.breakage
    last = shown.step if shown is not None else len(scenario.steps)
    last = last if shown is not None or broken is None or broken.step is None else broken.step
    names = {definition.name for definition in scenario.definitions}
    table, query = "", ""
    columns: tuple[Column, ...] = ()
    try:
        if shown is not None:
            table = shown.table
            columns = dict(check_scenario(scenario))[table]
            query = f"SELECT * FROM {table}"
        if table in names:
            expansion = expand(scenario, table).at((shown.timestamp if shown else None) or 0)
            query = formatted_sql(expansion.text((), Dialect.DUCKDB), Dialect.DUCKDB)
            table = scenario.definition(table).public_name
        steps = _given(scenario, last, spec)
        tables = {
            each.name: (
                each.columns,
                create_table_text(each, spec.dialect, keyed=limits_of(spec.tier).keys),
                create_table_text(each, Dialect.DUCKDB),
            )
            for each in scenario.tables
        }
    except WorkloadError:
        return None
    return AdapterReproduction(
        title=f"{outcome.outcome.value}: {'no check' if shown is None else shown.check.value}",
        summary=summary_text(outcome),
        findings=tuple(f"{f.check.value}: {place(f)}: {f.message}" for f in by_diagnosis(outcome)),
        replay=replay,
        adapter=spec.adapter,
        table=table,
        tables=tables,
        steps=steps,
        columns=columns,
        duckdb_query=query,
    )


def _given(scenario: Scenario, last: int, spec: LaneSpec) -> tuple[Given, ...]:
    """Returns the calls of an adapter up to step `last`. Raises WorkloadError: a statement has no text."""
    dialect, limits = spec.dialect, limits_of(spec.tier)
    tables = {table.name: table for table in scenario.tables}
    calls: list[Given] = []

    def create(at: int, name: str, kind: str) -> Given:
        definition = scenario.definition(name)
        return Given(at, kind, definition.public_name, own=(definition_text(scenario, definition, dialect),))

    for step, due in zip(scenario.steps[: last + 1], due_refreshes(scenario), strict=False):
        match step:
            case Commit(at, statements, rolled_back=rolled_back):
                own, of_duckdb = (
                    tuple(text for dml in statements for text in dml_texts(dml, tables[dml.table], each))
                    for each in (dialect, Dialect.DUCKDB)
                )
                if rolled_back and limits.rollbacks:
                    calls.append(Given(at, "roll back", "", own=own))
                calls.append(Given(at, "commit", "", own=own, duckdb=of_duckdb))
            case Create(at, name):
                kind = "view" if isinstance(scenario.definition(name), View) else "dynamic table"
                calls.append(create(at, name, f"create {kind}"))
            case Redefine(at, names):
                calls.append(create(at, names[0], "replace"))
            case Drop(at, name):
                calls.append(Given(at, "drop", scenario.definition(name).public_name))
            case Refresh(at, killed=int()) if limits.restarts:
                calls.append(Given(at, "restart", ""))
            case _:
                pass
        calls += [
            Given(step.at, "refresh", scenario.definition(each.table).public_name, each.timestamp)
            for each in due
        ]
    return tuple(calls)


def _rows_differ(finding: Finding) -> bool:
    """Tells whether a finding is about the rows of a table."""
    difference = finding.difference
    return (
        finding.check is Check.EQUALITY
        and difference is not None
        and difference.kind is not DifferenceKind.SCHEMA
    )


def stored_rows(scenario: Scenario, finding: Finding) -> tuple[Row, ...] | None:
    """Returns the rows that the engine had stored: those expected, less the missing, plus the extra ones.

    None where the finding is not about rows, or the oracle cannot evaluate the query.
    """
    difference = finding.difference
    if difference is None or not _rows_differ(finding):
        return None
    with DelayedView(scenario) as truth:
        try:
            expected = truth.contents(finding.table, finding.timestamp)
        except OracleQueryError:
            return None
        types = [column.type for column in truth.columns(finding.table)]
    stored = Bag.of(expected, types) - Bag.weighted(difference.missing, types)
    stored = stored + Bag.weighted(difference.extra, types)
    return tuple(row for row, times in stored.entries() for _ in range(times))


def _transactions(
    scenario: Scenario, tables: dict[str, Table], until: int
) -> tuple[tuple[int, tuple[str | RestoreTo, ...]], ...]:
    """Returns the time and the statements of each commit to some tables, up to a time."""
    commits = [step for step in scenario.steps if isinstance(step, Commit) and step.at <= until]
    transactions = []
    for commit in commits:
        texts = [text for dml in commit.statements if dml.table in tables for text in _texts(dml, tables)]
        if texts:
            transactions.append((commit.at, tuple(texts)))
    return tuple(transactions)


def _texts(dml: Dml, tables: dict[str, Table]) -> tuple[str | RestoreTo, ...]:
    """Returns a statement in Delta's SQL; for a RESTORE the script itself finds the version's number."""
    if isinstance(dml, Restore):
        return (RestoreTo(dml.table, dml.to),)
    return delta_texts(dml, tables[dml.table], lambda name, at: "")
