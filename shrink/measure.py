"""The size of a scenario, in the figures that a report shows."""

from __future__ import annotations

from dataclasses import dataclass

from workload.dml import WithRows
from workload.operators import written_operators
from workload.scenario import Commit, Scenario


@dataclass(frozen=True, slots=True)
class Size:
    """The number of operators of all definitions (`written_operators`), literal rows, and DML statements."""

    operators: int
    rows: int
    dml: int


def size(scenario: Scenario) -> Size:
    """Returns the size of a scenario."""
    statements = [s for step in scenario.steps if isinstance(step, Commit) for s in step.statements]
    return Size(
        operators=sum(1 for definition in scenario.definitions for _ in written_operators(definition.query)),
        rows=sum(len(s.rows) for s in statements if isinstance(s, WithRows)),
        dml=len(statements),
    )
