"""Faults in values: right rows, wrong in the last digits."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.faults.fault import Fault, in_operator
from campaign.faults.group_pieces import computed, rows_at_t1, with_groups_at_t1
from dynamic_tables.differentiate.differentiation import Differentiation
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit
from dynamic_tables.plan.nodes import Aggregate, Plan
from dynamic_tables.plan.types import DOUBLE
from workload.results import Check

DRIFT = 1.0 + 2.0**-50
"""A relative error of four units in the last place of a double."""


def drifting(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """SUM and AVG of doubles are off by a little after an incremental refresh."""

    def drifted(name: str, agg: Agg) -> Expr:
        column = Col(name, agg.type)
        if agg.name not in ("SUM", "AVG") or agg.type != DOUBLE:
            return column
        return Fn("*", (column, Lit(DRIFT, DOUBLE)), DOUBLE)

    return computed(node, rows_at_t1(node, affected, d), drifted, want_ids, d)


FAULTS: Mapping[str, Fault] = {
    "sum-drifts": Fault(
        name="sum-drifts",
        area="values",
        wrong="an incremental refresh adds a relative error of 2^-50 to SUM and AVG of doubles",
        plant=in_operator("grouped aggregation", delta=with_groups_at_t1(drifting)),
        caught_by=(Check.EQUALITY, Check.INVARIANT_2),
        core=False,
    )
}
