"""Faults in explode: ids without positions, forgotten pads, equal elements, arrays that get shorter."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from campaign.faults.fault import Fault, in_row_ids, rule_fault
from campaign.faults.pieces import among, deletes, ids, inserts, without_id
from dynamic_tables.differentiate.differentiation import ACT, ID, Differentiation
from dynamic_tables.differentiate.linear import delta_explode, exploded, id_item, same
from dynamic_tables.plan.expressions import Agg
from dynamic_tables.plan.nodes import ACTION, Aggregate, Explode, Plan, Project, UnionAll, columns
from workload.outcomes.results import Check


def pads_are_forgotten(node: Explode, want_ids: bool, d: Differentiation) -> Plan:
    """With OUTER, a row whose array becomes empty has no pad, and one whose array fills keeps its pad."""
    return delta_explode(replace(node, outer=False), want_ids, d)


def equal_elements_are_one(node: Explode, want_ids: bool, d: Differentiation) -> Plan:
    """Of the equal elements of a row, only the first comes and goes."""
    rows = replace(node, child=d.delta(node.child, True))
    keys = tuple((column.name, column) for column in columns(rows) if column != node.position)
    first = Agg("MIN", node.position, False, node.position.type)
    once = Aggregate(rows, keys, ((node.position.name, first),))
    row_id = d.row_ids.element(ID, node.position)
    return Project(once, (*same(node), (ACTION, ACT), *id_item(want_ids, row_id)))


def shortened_array_keeps_elements(node: Explode, want_ids: bool, d: Differentiation) -> Plan:
    """Of an updated row, only elements are deleted at whose positions the new array has elements too."""
    rows = d.delta(node.child, True)
    changes = delta_explode(node, True, d)
    gone = among(deletes(rows), ids(inserts(rows)), anti=True)
    replaced = among(deletes(changes), ids(inserts(changes)))
    deleted = exploded(node, gone, ((ACTION, ACT),), True, d)
    return without_id(UnionAll((inserts(changes), replaced, deleted)), want_ids)


_fault = partial(rule_fault, area="explode", operators=("explode",))

FAULTS = (
    Fault(
        name="explode-position-not-in-id",
        area="explode",
        wrong="The row id of an element does not name its position.",
        plant=in_row_ids(element=lambda child, position: child),
        caught_by=(Check.ROW_IDS, Check.INVARIANT_1, Check.EQUALITY),
    ),
    _fault("explode-forgets-pads", pads_are_forgotten, Check.EQUALITY, Check.INVARIANT_2),
    _fault("explode-equal-elements-are-one", equal_elements_are_one, Check.EQUALITY),
    _fault("explode-shortened-keeps-elements", shortened_array_keeps_elements, Check.EQUALITY),
)
