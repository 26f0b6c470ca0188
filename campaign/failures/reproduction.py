"""Collects what the script `reproduce.py` of a failure folder shows."""

from __future__ import annotations

from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from oracle.expansion import expand
from reports.describe import formatted_sql
from reports.findings import by_diagnosis, place, summary_text
from reports.reproduction import Reproduction, RestoreTo
from workload.dml import Dml, Restore
from workload.outcomes.results import Check, DifferenceKind, Finding, Outcome
from workload.scenario import Commit, Scenario
from workload.schema import Table
from workload.sql import Dialect, column_types, delta_texts
from workload.types import Row


def reproduction(scenario: Scenario, outcome: Outcome, replay: str) -> Reproduction | None:
    """Returns what `reproduce.py` shows of a failure; None where no finding names a view or dynamic table.

    A finding with wrong rows is preferred to others: rows can be shown without the engine.
    """
    names = {definition.name for definition in scenario.definitions}
    findings = [finding for finding in by_diagnosis(outcome) if finding.table in names]
    if not findings:
        return None
    shown = next((finding for finding in findings if _rows_differ(finding)), findings[0])
    expansion = expand(scenario, shown.table)
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


def _rows_differ(finding: Finding) -> bool:
    difference = finding.difference
    return (
        finding.check is Check.EQUALITY
        and difference is not None
        and difference.kind is not DifferenceKind.SCHEMA
    )


def stored_rows(scenario: Scenario, finding: Finding) -> tuple[Row, ...] | None:
    """The rows that the engine had stored: the expected ones, without the missing, with the extra ones.

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
    commits = [step for step in scenario.steps if isinstance(step, Commit) and step.at <= until]
    transactions = []
    for commit in commits:
        texts = [text for dml in commit.statements if dml.table in tables for text in _texts(dml, tables)]
        if texts:
            transactions.append((commit.at, tuple(texts)))
    return tuple(transactions)


def _texts(dml: Dml, tables: dict[str, Table]) -> tuple[str | RestoreTo, ...]:
    if isinstance(dml, Restore):
        return (RestoreTo(dml.table, dml.to),)
    return delta_texts(dml, tables[dml.table], lambda name, at: "")
