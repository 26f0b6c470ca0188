"""Faults in values: right rows, wrong in the last digits or in the ids that values give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.faults.fault import Fault, Plant, in_operator
from campaign.faults.group_pieces import computed, keys_of, replaced, rows_at_t1, with_groups_at_t1
from campaign.faults.pieces import OTHER, all_of, equal
from dynamic_tables.differentiate.differentiation import ID, Differentiation
from dynamic_tables.differentiate.grouping import delta_aggregate, delta_distinct
from dynamic_tables.differentiate.row_id import concat, key_id
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text
from dynamic_tables.plan.functions import CASE, CAST
from dynamic_tables.plan.nodes import Aggregate, Distinct, Join, JoinKind, Plan, Project, columns
from dynamic_tables.plan.types import BOOLEAN, DOUBLE, STRING, Kind
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


def signed(keys: Sequence[Expr]) -> Expr:
    """The id of a group from the text of its key: 0.0 and -0.0 have two."""
    marks = [
        Fn(CASE, (equal(Fn(CAST, (key,), STRING), text("-0.0")), text("-"), text("")), STRING)
        for key in keys
        if key.type == DOUBLE
    ]
    return concat(key_id(keys), *marks)


def ids_of_changed_rows(plan: Plan, keys: list[Expr], changed: Plan) -> Plan:
    """Changed groups, each with the id that the changed rows' own keys give."""
    names = tuple(f"$CAME{i}" for i in range(len(keys)))
    came = Distinct(Project(changed, (*zip(names, keys, strict=True), (OTHER.name, signed(keys)))))
    outputs = columns(plan)[: len(keys)]
    same = [
        Fn("is not distinct from", (output, Col(name, output.type)), BOOLEAN)
        for output, name in zip(outputs, names, strict=True)
    ]
    joined = Join(JoinKind.INNER, plan, came, all_of(list(same)))
    return Project(joined, tuple((c.name, OTHER if c == ID else c) for c in columns(plan)))


def zeros_of_groups(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
    """Groups: a change's id is made from its key as it came."""
    right = delta_aggregate(node, want_ids, d)
    if not want_ids:
        return right
    return ids_of_changed_rows(right, keys_of(node), d.delta(node.child, False))


def zeros_of_distinct(node: Distinct, want_ids: bool, d: Differentiation) -> Plan:
    """Distinct rows: a change's id is made from its values as they came."""
    right = delta_distinct(node, want_ids, d)
    if not want_ids:
        return right
    return ids_of_changed_rows(right, list(columns(node)), d.delta(node.child, False))


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
        _fault(
            "negative-zero-two-ids",
            "the id of a group with a double key is made from the text of the changed row's key",
            lambda engine: in_operator("distinct", delta=zeros_of_distinct)(
                in_operator("grouped aggregation", delta=zeros_of_groups)(engine)
            ),
            Check.ROW_IDS,
            Check.INVARIANT_2,
        ),
    )
}
