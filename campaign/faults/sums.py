"""Faults in sums: right rows, wrong in the last digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, Plant, in_operator
from campaign.faults.group_pieces import computed, replaced, rows_at_t1, with_groups_at_t1
from dynamic_tables.differentiate.differentiation import Differentiation
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit
from dynamic_tables.plan.functions import CAST
from dynamic_tables.plan.nodes import Aggregate, Plan
from dynamic_tables.plan.types import DOUBLE, Kind
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


def through_double(node: Aggregate, affected: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """SUM of DECIMAL is computed over DOUBLE."""
    types = {name: agg.type for name, agg in node.aggregates}

    def as_double(agg: Agg) -> Agg:
        if agg.name != "SUM" or agg.arg is None or agg.type.kind is not Kind.DECIMAL:
            return agg
        return replace(agg, arg=Fn(CAST, (agg.arg,), DOUBLE), type=DOUBLE)

    def back(name: str, agg: Agg) -> Expr:
        column = Col(name, agg.type)
        return column if agg.type == types[name] else Fn(CAST, (column,), types[name])

    return computed(replaced(node, as_double), rows_at_t1(node, affected, d), back, want_ids, d)


def _fault(name: str, wrong: str, plant: Plant, *checks: Check) -> Fault:
    return Fault(name=name, area="values", wrong=wrong, plant=plant, caught_by=checks, core=False)


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        _fault(
            "sum-drifts",
            "an incremental refresh adds a relative error of 2^-50 to SUM and AVG of doubles",
            in_operator("grouped aggregation", delta=with_groups_at_t1(drifting)),
            Check.EQUALITY,
            Check.INVARIANT_2,
        ),
        _fault(
            "decimal-through-double",
            "SUM of DECIMAL is computed over DOUBLE",
            in_operator("grouped aggregation", delta=with_groups_at_t1(through_double)),
            Check.EQUALITY,
        ),
    )
}
