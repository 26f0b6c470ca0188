"""PostgreSQL with pg_ivm keeps the contract, where it is asked for nothing that it is known to get wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from campaign.pytest_plugin import AdapterConformance
from engines.others.pg_ivm import PgIvm
from engines.others.pg_ivm_gaps import LIMITS, gap
from tests.unit.engines.pglite import needs_pglite
from workload.outcomes.results import Outcome, OutcomeClass
from workload.query import (
    Aggregate,
    AggregateFunction,
    ColumnRef,
    Expr,
    Join,
    JoinKind,
    Named,
    Query,
    Select,
    blocks,
    expressions_of,
    relations_of,
    subexpressions,
)
from workload.scenario import Scenario
from workload.types import Kind

pytestmark = pytest.mark.slow

LOST_TYPE = "type with OID 0 does not exist"
"""What pg_ivm says when it maintains an outer join of a CTE with itself, which it should refuse."""


def gap_or_fault(query: Query) -> str | None:
    """The gaps, and what docs/adapters.md says was found."""
    relations = (relation for block in blocks(query) for relation in relations_of(block.source))
    read = Counter(relation.name for relation in relations if isinstance(relation, Named))
    if max(read.values()) > 1:
        return "a table twice in a query"
    tops = (expr for block in blocks(query) for expr in expressions_of(block))
    if any(_sum_of_doubles(part) for expr in tops for part in subexpressions(expr)):
        return "SUM or AVG of doubles"
    if any(_mixes_sides(block) for block in blocks(query)):
        return "an outer join with a value calculated from both sides"
    return gap(query)


def _mixes_sides(block: Select) -> bool:
    """Whether a block of an outer join selects a value of columns of several relations: it loses pads."""
    joins = (relation for relation in relations_of(block.source) if isinstance(relation, Join))
    if not any(join.kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL) for join in joins):
        return False
    read = (
        {part.relation for part in subexpressions(item.expr) if isinstance(part, ColumnRef)}
        for item in block.items
    )
    return any(len(relations) > 1 for relations in read)


def _sum_of_doubles(expr: Expr) -> bool:
    match expr:
        case Aggregate(AggregateFunction.SUM | AggregateFunction.AVG, arg) if arg is not None:
            return arg.type.kind is Kind.DOUBLE
        case _:
            return False


class WithinWhatItGetsRight(PgIvm):
    """The same engine, asked for less."""

    capabilities = replace(PgIvm.capabilities, limits=replace(LIMITS, gap=gap_or_fault))


@needs_pglite
class TestPgIvm(AdapterConformance):
    adapter = WithinWhatItGetsRight

    def judge(self, scenario: Scenario, *allowed: OutcomeClass) -> Outcome:
        """Allows one more fault, named in docs/adapters.md, where the definitions are beyond the limits."""
        outcome = self.lane.judge(scenario)
        if OutcomeClass.UNSUPPORTED in allowed and LOST_TYPE in outcome.reason:
            return outcome
        return super().judge(scenario, *allowed)
