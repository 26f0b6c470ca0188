"""A fault in row ids: 0.0 and -0.0 are one key with two texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from campaign.faults.fault import Fault, in_operator
from campaign.faults.group_pieces import keys_of
from campaign.faults.pieces import OTHER, all_of, equal
from dynamic_tables.differentiate.differentiation import ID, Differentiation
from dynamic_tables.differentiate.grouping import delta_aggregate, delta_distinct
from dynamic_tables.differentiate.row_id import concat, key_id
from dynamic_tables.plan.expressions import Col, Expr, Fn, text
from dynamic_tables.plan.functions import CASE, CAST
from dynamic_tables.plan.nodes import Aggregate, Distinct, Join, JoinKind, Plan, Project, columns
from dynamic_tables.plan.types import BOOLEAN, DOUBLE, STRING
from workload.results import Check


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


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            name="negative-zero-two-ids",
            area="values",
            wrong="the id of a group with a double key is made from the text of the changed row's key",
            plant=lambda engine: in_operator("distinct", delta=zeros_of_distinct)(
                in_operator("grouped aggregation", delta=zeros_of_groups)(engine)
            ),
            caught_by=(Check.ROW_IDS, Check.INVARIANT_2),
            core=False,
        ),
    )
}
