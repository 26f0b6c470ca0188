"""The history before the first creation, told shortly: one INSERT of the rows that it leads to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from campaign.shrink.reduction import Reduction
from oracle.delayed_view import DelayedView
from oracle.errors import OracleError
from workload.dml import Dml, Insert
from workload.scenario import Commit, Create, Scenario


def fold_history(scenario: Scenario) -> Iterator[Scenario]:
    """One transaction of INSERTs instead of all that happened before the first creation.

    The rows are the oracle's. They get identities of their own, as any inserted row does.
    """
    first = next((n for n, step in enumerate(scenario.steps) if isinstance(step, Create)), 0)
    commits = [step for step in scenario.steps[:first] if isinstance(step, Commit)]
    if not commits or all(isinstance(s, Insert) for commit in commits for s in commit.statements):
        return
    at = commits[-1].at
    try:
        with DelayedView(scenario) as truth:
            inserts: tuple[Dml, ...] = tuple(
                Insert(table.name, tuple(sorted(truth.source_rows(table.name, at), key=repr)))
                for table in scenario.tables
            )
    except OracleError:
        # The statements fail on their data, so there are no rows to insert.
        return
    yield replace(scenario, steps=(Commit(at, inserts), *scenario.steps[first:]))


REDUCTIONS = (Reduction("fold the history into inserts", fold_history),)
