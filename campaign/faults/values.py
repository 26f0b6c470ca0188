"""Faults in values that look right: sums that are off in the last digits, and the two zeros of doubles."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from campaign.faults.fault import in_rules, part_fault, rule_fault
from campaign.faults.group_pieces import Grouping, at_t1, keys_of
from campaign.faults.pieces import OTHER, all_of, equal, recomputed, same_value
from dynamic_tables.differentiate.changes import consolidate
from dynamic_tables.differentiate.differentiation import ID, Differentiation
from dynamic_tables.differentiate.grouping import delta_aggregate, delta_distinct
from dynamic_tables.differentiate.row_id import concat, key_id
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, text
from dynamic_tables.plan.functions import CASE, CAST
from dynamic_tables.plan.nodes import Aggregate, Distinct, Join, JoinKind, Plan, Project, columns
from dynamic_tables.plan.types import DATE, DOUBLE, FLOATING, STRING, Kind
from workload.outcomes.results import Check

DRIFT = 1.0 + 2.0**-50
"""A relative error of four units in the last place of a double."""


def drifting(group: Grouping) -> Plan:
    """An incremental refresh adds a relative error of 2^-50 to SUM and AVG of doubles."""

    def drifted(name: str, agg: Agg) -> Expr:
        column = Col(name, agg.type)
        if agg.name not in ("SUM", "AVG") or agg.type != DOUBLE:
            return column
        return Fn("*", (column, Lit(DRIFT, DOUBLE)), DOUBLE)

    return group.computed(drifted)


def through_double(group: Grouping) -> Plan:
    """SUM of DECIMAL is computed over DOUBLE."""
    types = {name: agg.type for name, agg in group.node.aggregates}

    def as_double(agg: Agg) -> Agg:
        if agg.name != "SUM" or agg.arg is None or agg.type.kind is not Kind.DECIMAL:
            return agg
        return replace(agg, arg=Fn(CAST, (agg.arg,), DOUBLE), type=DOUBLE)

    def back(name: str, agg: Agg) -> Expr:
        column = Col(name, agg.type)
        return column if agg.type == types[name] else Fn(CAST, (column,), types[name])

    return group.computed(back, group.with_aggregates(as_double))


def signed(keys: Sequence[Expr]) -> Expr:
    """The id of a group by the text of its key, where 0.0 and -0.0 differ though they are one value."""
    marks = [
        Fn(CASE, (equal(Fn(CAST, (key,), STRING), text("-0.0")), text("-"), text("")), STRING)
        for key in keys
        if key.type == DOUBLE
    ]
    return concat(key_id(keys), *marks)


def ids_of_changed_rows(node: Aggregate | Distinct, want_ids: bool, d: Differentiation) -> Plan:
    """The id of a group or a distinct row with a double key is made from the text of a changed row's key."""
    right = (
        delta_distinct(node, want_ids, d)
        if isinstance(node, Distinct)
        else delta_aggregate(node, want_ids, d)
    )
    if not want_ids:
        return right
    keys = keys_of(node)
    names = [f"$CAME{i}" for i in range(len(keys))]
    changed_keys = (*zip(names, keys, strict=True), (OTHER.name, signed(keys)))
    came = Distinct(Project(d.delta(node.child, False), changed_keys))
    same = [
        same_value(output, Col(name, output.type))
        for output, name in zip(columns(right)[: len(keys)], names, strict=True)
    ]
    return recomputed(Join(JoinKind.INNER, right, came, all_of(same)), {ID.name: OTHER}, columns(right))


def zeros_made_one(changes: Plan) -> Plan:
    """Changes are netted by the values of floats as SQL compares them, so that 0.0 stands for -0.0."""
    floats = {
        column.name: Fn("+", (column, Lit(0.0, column.type)), column.type)
        for column in columns(changes)
        if column.type.kind in FLOATING
    }
    return consolidate(recomputed(changes, floats, columns(changes)))


LACKING = (dt.date(1582, 10, 5), dt.date(1582, 10, 14))
"""The first and the last day that the old calendar does not have."""


def old_calendar(changes: Plan) -> Plan:
    """Changes pass through dates of the old calendar, in which ten days of October 1582 are one."""
    first, last, after = (Lit(day, DATE) for day in (*LACKING, dt.date(1582, 10, 15)))

    def moved(day: Col) -> Expr:
        lacks = all_of([boolean(">=", day, first), boolean("<=", day, last)])
        return Fn(CASE, (lacks, after, day), DATE)

    dates = {column.name: moved(column) for column in columns(changes) if column.type == DATE}
    return consolidate(recomputed(changes, dates, columns(changes)))


_fault = partial(rule_fault, area="values", operators=("grouped aggregation",), core=False)

FAULTS = (
    _fault("sum-drifts", at_t1(drifting), Check.EQUALITY, Check.INVARIANT_2),
    _fault("decimal-through-double", at_t1(through_double), Check.EQUALITY),
    _fault(
        "negative-zero-two-ids",
        ids_of_changed_rows,
        Check.ROW_IDS,
        Check.INVARIANT_2,
        operators=("distinct", "grouped aggregation"),
    ),
    *(
        part_fault(name, "consolidate", faulty, Check.EQUALITY, area="values", replacing=in_rules, core=False)
        for name, faulty in (("zeros-made-one", zeros_made_one), ("old-calendar", old_calendar))
    ),
)
