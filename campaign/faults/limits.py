"""Faults in ORDER BY with LIMIT: which rows come in, which are pushed out, and where the first row is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from campaign.faults.fault import rule_fault
from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.limit import delta_limit
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import marked
from dynamic_tables.plan.expressions import Col, boolean
from dynamic_tables.plan.nodes import DELETE, INSERT, Limit, Plan, Project, SemiJoin, UnionAll
from dynamic_tables.plan.types import STRING
from workload.outcomes.results import Check

OTHER = Col("$OTHER_ID", STRING)


def with_ids_of(rows: Plan, others: Plan, *, anti: bool = False) -> Plan:
    """The rows whose id is one of those of other rows, or is none of them; both sides have ids."""
    ids = Project(others, ((OTHER.name, ID),))
    return SemiJoin(rows, ids, boolean("=", ID, OTHER), anti=anti)


def as_wanted(node: Limit, rows: Plan, want_ids: bool) -> Plan:
    """The rows with their ids, or without them."""
    return rows if want_ids else Project(rows, same(node))


def only_changed_rows(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """LIMIT is maintained as a filter: no row comes in or goes out because of another one."""
    ends = ((At.T0, DELETE), (At.T1, INSERT))
    changes = d.delta(node.child, True)
    parts = ((with_ids_of(d.state(node, at, True), changes), mark) for at, mark in ends)
    return UnionAll(tuple(marked(as_wanted(node, rows, want_ids), mark) for rows, mark in parts))


def pushed_out_rows_stay(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """A row that a new one pushes out is not deleted."""
    before, now = d.state(node, At.T0, True), d.state(node, At.T1, True)
    gone = with_ids_of(before, d.state(node.child, At.T1, True), anti=True)
    new = with_ids_of(now, before, anti=True)
    parts = ((gone, DELETE), (new, INSERT))
    return UnionAll(tuple(marked(as_wanted(node, rows, want_ids), mark) for rows, mark in parts))


def without_offset(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """The changes are those of the query without its OFFSET."""
    return delta_limit(replace(node, offset=0), want_ids, d)


def nulls_at_the_other_end(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """The changes are those of an order with NULL as the greatest value."""
    order = tuple(replace(key, nulls_first=not key.nulls_first) for key in node.order)
    return delta_limit(replace(node, order=order), want_ids, d)


def widened_by_offset(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """OFFSET is added to the number of rows that LIMIT keeps."""
    count = None if node.count is None else node.count + node.offset
    return delta_limit(replace(node, count=count), want_ids, d)


def first_key_alone(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """The changes are those of an order by its first key: of rows that are equal in it any may be first."""
    return delta_limit(replace(node, order=node.order[:1]), want_ids, d)


def nothing_is_all(node: Limit, want_ids: bool, d: Differentiation) -> Plan:
    """LIMIT 0 is taken for no LIMIT."""
    return delta_limit(node if node.count else replace(node, count=None), want_ids, d)


_fault = partial(rule_fault, area="limit", operators=("limit",))

FAULTS = (
    _fault("limit-sees-changed-rows-only", only_changed_rows, Check.EQUALITY),
    _fault("topn-evicted-row-kept", pushed_out_rows_stay, Check.EQUALITY),
    _fault("limit-without-offset", without_offset, Check.EQUALITY),
    _fault("limit-nulls-at-other-end", nulls_at_the_other_end, Check.EQUALITY),
    _fault("limit-widened-by-offset", widened_by_offset, Check.EQUALITY),
    _fault("limit-first-key-alone", first_key_alone, Check.EQUALITY, core=False),
    _fault("limit-zero-is-all", nothing_is_all, Check.EQUALITY, core=False),
)
