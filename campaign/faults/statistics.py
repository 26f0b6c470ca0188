"""Faults in aggregates that need all rows of a group: statistics, lists, percentiles, several DISTINCT."""

from __future__ import annotations

from dataclasses import replace

from campaign.faults.aggregates import NEW, OLD, inserted, joined, renamed
from campaign.faults.fault import Fault
from campaign.faults.group_pieces import Grouping, at_t1, group_fault
from campaign.faults.pieces import recomputed
from dynamic_tables.differentiate.differentiation import At
from dynamic_tables.plan.expressions import Agg, Col, Fn
from dynamic_tables.plan.nodes import Aggregate, JoinKind, Plan, UnionAll, columns
from workload.outcomes.results import Check

POPULATION = {"STDDEV_SAMP": "STDDEV_POP", "VAR_SAMP": "VAR_POP", "COVAR_SAMP": "COVAR_POP"}
"""What is 0 of one row, for the statistics that are NULL of it."""

POP = "$POP_"


def sample_of_one_row(group: Grouping) -> Plan:
    """The sample deviation or variance of one row is 0 where it should be NULL."""
    samples = [(name, agg) for name, agg in group.node.aggregates if agg.name in POPULATION]
    if not samples:
        return group.groups(At.T1)
    others = tuple((POP + name, replace(agg, name=POPULATION[agg.name])) for name, agg in samples)
    node = Aggregate(group.node.child, group.node.keys, (*group.node.aggregates, *others))
    zero = {
        name: Fn("coalesce", (Col(name, agg.type), Col(POP + name, agg.type)), agg.type)
        for name, agg in samples
    }
    return recomputed(group.from_rows(group.rows(At.T1), node), zero, columns(group.groups(At.T1)))


def removed_element_stays(group: Grouping) -> Plan:
    """A list keeps the values of rows that left its group: only the new ones are added."""
    node = group.node
    lists = [(name, agg) for name, agg in node.aggregates if agg.name.startswith(("COLLECT_", "LISTAGG"))]
    if not lists:
        return group.groups(At.T1)
    stale = renamed(UnionAll((group.rows(At.T0), inserted(group))), node, lists, OLD)
    groups = group.groups(At.T1)
    both = joined(JoinKind.INNER, groups, stale, node, OLD)
    return recomputed(both, {name: Col(OLD + name, agg.type) for name, agg in lists}, columns(groups))


def percentile_of_new_rows(group: Grouping) -> Plan:
    """The percentile of a group that got rows is that of these rows alone."""
    node = group.node
    percentiles = [(name, agg) for name, agg in node.aggregates if agg.name == "PERCENTILE"]
    if not percentiles:
        return group.groups(At.T1)
    groups, fresh = group.groups(At.T1), renamed(inserted(group), node, percentiles, NEW)
    both = joined(JoinKind.LEFT, groups, fresh, node, NEW)
    values = {
        name: Fn("coalesce", (Col(NEW + name, agg.type), Col(name, agg.type)), agg.type)
        for name, agg in percentiles
    }
    return recomputed(both, values, columns(groups))


def distinct_merged(group: Grouping) -> Plan:
    """A second COUNT of DISTINCT values counts the values of the first."""
    first = next((agg for _, agg in group.node.aggregates if agg.distinct), None)

    def merged(agg: Agg) -> Agg:
        if first is None or not agg.distinct or agg.name != "COUNT":
            return agg
        return replace(agg, arg=first.arg, extra=first.extra if first.name == "COUNT" else ())

    return group.from_rows(group.rows(At.T1), group.with_aggregates(merged))


FAULTS: tuple[Fault, ...] = (
    group_fault("stddev-of-one-row", at_t1(sample_of_one_row), Check.EQUALITY),
    group_fault("list-keeps-removed-element", at_t1(removed_element_stays), Check.EQUALITY),
    group_fault("percentile-of-new-rows", at_t1(percentile_of_new_rows), Check.EQUALITY),
    group_fault("distinct-merged", at_t1(distinct_merged), Check.EQUALITY),
)
