"""The third vote: a full recomputation on snapshots that the harness chose."""

from __future__ import annotations

from dataclasses import replace

from oracle.delayed_view import DelayedView
from workload.dml import Dml, Insert
from workload.query import names_read
from workload.scenario import Commit, Create, Definition, DynamicTable, RefreshMode, Scenario, Step, View


def recomputation(scenario: Scenario, truth: DelayedView, table: str, timestamp: int) -> Scenario:
    """A scenario whose only refresh computes `table` in full from the sources as of `timestamp`.

    Upstream dynamic tables become views, and the base tables hold the oracle's rows: neither the engine's
    frontier nor its stored state takes part, so a wrong version cannot pass for a difference of dialects.
    """
    needed = _needed(scenario, table)
    inserts: list[Dml] = []
    for base in scenario.tables:
        rows = truth.source_rows(base.name, timestamp)
        if rows:
            inserts.append(Insert(base.name, rows))
    definitions = tuple(
        _as_source(definition, table) for definition in scenario.definitions if definition.name in needed
    )
    steps: list[Step] = [Commit(1, tuple(inserts))] if inserts else []
    steps.extend(Create(2 + position, definition.name) for position, definition in enumerate(definitions))
    return Scenario(f"{scenario.name}/vote", scenario.tables, definitions, tuple(steps))


def _as_source(definition: Definition, table: str) -> Definition:
    match definition:
        case DynamicTable(name) if name == table:
            return replace(definition, mode=RefreshMode.FULL, target_lag=None)
        case DynamicTable(name, query):
            return View(name, query)
        case View():
            return definition


def _needed(scenario: Scenario, table: str) -> frozenset[str]:
    definitions = {definition.name: definition for definition in scenario.definitions}
    if table not in definitions:
        return frozenset()
    below = (_needed(scenario, source) for source in names_read(definitions[table].query))
    return frozenset({table}).union(*below)
