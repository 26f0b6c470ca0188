"""The third vote: the engine's full recomputation of a table, which shows whose fault a difference is.

Where the stored contents differ from the oracle's, the engine computes the table anew from the oracle's rows.
If that agrees with the oracle, a refresh went wrong; if it agrees with the stored contents, engine and oracle
read the query differently, which is a divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engines.engine import Recomputation
from engines.errors import shown
from generators.reshaping import reshaped
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from workload.dml import Dml, Insert
from workload.limits import NO_LIMITS, Limits
from workload.outcomes.results import INCREMENTAL_BUG, Finding
from workload.outcomes.trace import Refreshed
from workload.query import names_read
from workload.scenario import Commit, Create, Definition, DynamicTable, RefreshMode, Scenario, Step, View
from workload.schema import Table
from workload.sql.passing_time import at_time
from workload.types import Row

Vote = Callable[[DelayedView, Refreshed], Sequence[Row]]
"""Returns the engine's own full recomputation of a table as of a refresh, from the oracle's source rows."""

OwnError = Callable[[DelayedView, str, int, int | None], str]
"""(truth, table, data timestamp, another one or None) -> the error of the engine's own SQL; "" without one.

It runs the query over base tables that have their rows of the data timestamp and those of the other one."""


def no_own_error(truth: DelayedView, table: str, timestamp: int, before: int | None) -> str:
    """Returns no error: the `OwnError` of an engine without SQL of its own."""
    return ""


NO_VOTE = "a failure, because nothing speaks for the engine"
"""The verdict where the full recomputation failed: what was found before it stays."""


@dataclass(frozen=True, slots=True)
class Votes:
    """Who agrees with the full recomputation, where stored contents differ from the oracle's.

    `rows`: how many rows the oracle expects. `split`: the stored contents agree with the recomputation.
    `error`: why the recomputation has no rows to compare; then it agrees with nothing.
    """

    timestamp: int
    rows: int
    for_oracle: bool = False
    split: bool = False
    error: str = ""

    def added_to(self, finding: Finding) -> Finding:
        """Returns the finding with the votes in words, and the verdict that they give."""
        agreeing = f"{'agrees with' if self.for_oracle else 'differs from'} the oracle"
        if self.error:
            agreeing, verdict = f"failed: {self.error}", NO_VOTE
        elif self.for_oracle:
            verdict = INCREMENTAL_BUG
        else:
            verdict = "divergence of the engines" if self.split else "three different answers"
        votes = {
            "oracle (DuckDB)": f"the defining query at {self.timestamp}: {self.rows} rows",
            "stored contents": "differ from the oracle",
            "full recomputation": agreeing,
            "verdict": verdict,
        }
        return replace(finding, votes=votes)


def count_votes(truth: DelayedView, refreshed: Refreshed, vote: Vote) -> Votes:
    """Recomputes a table in full, and compares the result with the oracle's rows and the stored ones.

    The engine may fail in it in any way, or give values of other types.
    """
    columns = truth.compared_columns(refreshed.table)
    stored = [row.row for row in refreshed.contents]
    try:
        recomputed = vote(truth, refreshed)
        expected = truth.contents_like(refreshed.table, refreshed.timestamp, recomputed, frozen=False)
        for_oracle = compare(columns, expected, columns, recomputed) is None
        # They also agree where a refresh has written a frozen part anew: then the oracle is not wrong.
        split = not for_oracle and compare(columns, recomputed, columns, stored) is None
    except BaseException as error:  # noqa: BLE001  # the difference was found already
        rows = truth.contents(refreshed.table, refreshed.timestamp)
        return Votes(refreshed.timestamp, len(rows), error=shown(error))
    return Votes(refreshed.timestamp, len(expected), for_oracle, split)


def recomputation(
    scenario: Scenario,
    truth: DelayedView,
    table: str,
    timestamp: int,
    before: int | None = None,
    limits: Limits = NO_LIMITS,
) -> Recomputation:
    """Returns what the engine shall compute: a table in full, from the oracle's rows of its sources.

    `before`: another timestamp, whose rows the sources have as well in the text of the query.
    `truth` is read while the engine computes, so it must stay open until then.
    """
    return Recomputation(
        table=table,
        text=lambda dialect: truth.sql(table, timestamp, dialect, before),
        columns=tuple(truth.columns(table)),
        alone=lambda: alone(scenario, truth, table, timestamp, limits),
    )


def alone(
    scenario: Scenario, truth: DelayedView, table: str, timestamp: int, limits: Limits = NO_LIMITS
) -> Scenario:
    """Returns a scenario whose only refresh computes `table` in full from the sources as of `timestamp`.

    Upstream dynamic tables become views, and the base tables hold the oracle's rows: neither the engine's
    frontier nor its stored state takes part, so a wrong version cannot pass for a difference of dialects.
    For an engine without views they stay dynamic tables, and statements have the shapes that it takes.
    """
    needed = _needed(scenario, table)
    # A frozen part keeps rows that no query over the sources gives, so such a table becomes a base table.
    frozen = [
        Table(each.name, tuple(truth.columns(each.name)))
        for each in scenario.dynamic_tables
        if each.frozen_where and each.name in needed - {table}
    ]
    tables = (*scenario.tables, *frozen)
    inserts: list[Dml] = []
    for base in tables:
        rows = truth.contents(base.name, timestamp)
        if rows:
            inserts.append(Insert(base.name, rows))
    # This scenario has other data timestamps, so the current time is written into its queries.
    definitions = tuple(
        _as_source(replace(definition, query=at_time(definition.query, timestamp)), table, limits.views)
        for definition in scenario.definitions
        if definition.name in needed and all(definition.name != each.name for each in frozen)
    )
    steps: list[Step] = [Commit(1, tuple(inserts))] if inserts else []
    steps.extend(Create(2 + position, definition.name) for position, definition in enumerate(definitions))
    return reshaped(Scenario(f"{scenario.name}/vote", tables, definitions, tuple(steps)), limits)


def _as_source(definition: Definition, table: str, views: bool) -> Definition:
    """Returns a definition for the vote: the table in FULL mode, others as views if the engine has views."""
    match definition:
        case DynamicTable(name) if name == table or not views:
            return replace(definition, mode=RefreshMode.FULL, target_lag=None)
        case DynamicTable(name, query):
            return View(name, query)
        case View():
            return definition


def _needed(scenario: Scenario, table: str) -> frozenset[str]:
    """Returns the definition of a name and all that it reads, at any depth; base tables are left out."""
    definitions = {definition.name: definition for definition in scenario.definitions}
    if table not in definitions:
        return frozenset()
    below = (_needed(scenario, source) for source in names_read(definitions[table].query))
    return frozenset({table}).union(*below)
