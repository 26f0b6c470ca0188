"""The reduction of the history before the first creation to one INSERT of the rows that it leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from shrink.reduction import Reduction
from workload.dml import Dml, Insert
from workload.scenario import Commit, Create, Scenario
from workload.types import Row

SourceRows = Callable[[Scenario, int], Mapping[str, tuple[Row, ...]] | None]
"""(scenario, logical time) -> the rows of every base table then; None where a statement fails on its data."""


def folded_history(scenario: Scenario, source_rows: SourceRows) -> Iterator[Scenario]:
    """Yields one transaction of INSERTs instead of all transactions before the first creation.

    The inserted rows get new identities, as the rows of any INSERT do.
    """
    first = next((n for n, step in enumerate(scenario.steps) if isinstance(step, Create)), 0)
    commits = [step for step in scenario.steps[:first] if isinstance(step, Commit)]
    if not commits or all(isinstance(s, Insert) for commit in commits for s in commit.statements):
        return
    at = commits[-1].at
    rows = source_rows(scenario, at)
    if rows is not None:
        inserts: tuple[Dml, ...] = tuple(
            Insert(table.name, tuple(sorted(rows[table.name], key=repr))) for table in scenario.tables
        )
        yield replace(scenario, steps=(Commit(at, inserts), *scenario.steps[first:]))


def folding(source_rows: SourceRows) -> Reduction:
    """Returns the reduction of the history, with the rows that `source_rows` returns."""
    return Reduction("fold the history into inserts", lambda scenario: folded_history(scenario, source_rows))
