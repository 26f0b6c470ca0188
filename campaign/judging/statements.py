"""Under which kinds of statements each operator was maintained: `window / update`.

A run's coverage counts them as `dml: window / update`, and floors demand each (`generators.profiles`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from generators.coverage import operators
from workload.dml import Optimize
from workload.outcomes.trace import Action, Trace
from workload.query import Query, names_read
from workload.scenario import Commit, Scenario


def statements_met(scenario: Scenario, trace: Trace) -> Counter[str]:
    """Returns how many incremental refreshes maintained each operator under each kind of statement.

    A statement counts that was committed to a base table below the query within the refresh interval.
    """
    commits = [(step.at, step.statements) for step in scenario.steps if isinstance(step, Commit)]
    queries = {definition.name: definition.query for definition in scenario.definitions}
    bases = {name: frozenset(_bases(name, queries)) for name in queries}
    operators_by_name = {
        name: {operator.value for operator in operators(query)} for name, query in queries.items()
    }
    met: Counter[str] = Counter()
    previous: dict[str, int] = {}
    for refreshed in trace.refreshes:
        before = previous.get(refreshed.table)
        previous[refreshed.table] = refreshed.timestamp
        if before is None or refreshed.action is not Action.INCREMENTAL:
            continue
        kinds = {
            type(statement).__name__.lower()
            for at, statements in commits
            if before < at <= refreshed.timestamp
            for statement in statements
            if statement.table in bases[refreshed.table] and not isinstance(statement, Optimize)
        }
        met.update(
            f"{operator} / {kind}" for operator in operators_by_name[refreshed.table] for kind in kinds
        )
    return met


def _bases(name: str, queries: Mapping[str, Query]) -> Iterator[str]:
    """Yields the base tables below a definition, views and dynamic tables looked through."""
    for source in names_read(queries[name]):
        if source in queries:
            yield from _bases(source, queries)
        else:
            yield source
