"""Faults in conditions on the current time: at the limit, and of the time that is taken."""

from __future__ import annotations

import time
from functools import partial

from campaign.faults.fault import in_protocol, part_fault, rule_fault
from campaign.faults.pieces import deletes
from dynamic_tables.differentiate.differentiation import ACT, At, Differentiation
from dynamic_tables.differentiate.linear import id_item
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.passing_time import at_one_end, delta_time, rows_that_cross
from dynamic_tables.plan.expressions import Expr, Fn, boolean
from dynamic_tables.plan.nodes import ACTION, Filter, Plan, Project, UnionAll
from dynamic_tables.versions import Frontier
from workload.outcomes.results import Check


def rows_stay(node: Project, want_ids: bool, d: Differentiation) -> Plan:
    """Only changed rows are looked at: a row that passes the limit as time passes stays, or does not come."""
    return at_one_end(node, d.delta(node.child, want_ids), At.T1, ((ACTION, ACT), *id_item(want_ids)))


def deleted_twice(node: Project, want_ids: bool, d: Differentiation) -> Plan:
    """A row that passes the limit as time passes is deleted twice."""
    crossing = rows_that_cross(node, d.state(node.child, At.T0, want_ids))
    again = both_ends(lambda at: at_one_end(node, crossing, at, id_item(want_ids)))
    once = delta_time(node, want_ids, d)
    return UnionAll((once, deletes(again)))


def limit_left_out(node: Project, want_ids: bool, d: Differentiation) -> Plan:
    """The range of the rows that time passes lacks its ends: a row exactly on the limit is not seen."""

    def open_range(expr: Expr) -> Expr:
        match expr:
            case Fn("and", (Fn(">=", low, _), Fn("<=", high, _)), _):
                return boolean("and", boolean(">", *low), boolean("<", *high))
            case Fn(name, args, type_):
                return Fn(name, tuple(map(open_range, args)), type_)
            case _:
                return expr

    rows = d.state(node.child, At.T0, want_ids)
    closed = rows_that_cross(node, rows)
    assert isinstance(closed, Filter), "a range and a condition"
    crossing = Filter(rows, open_range(closed.predicate))
    return UnionAll(
        (
            rows_stay(node, want_ids, d),
            both_ends(lambda at: at_one_end(node, crossing, at, id_item(want_ids))),
        )
    )


def time_of_the_old_contents(node: Project, want_ids: bool, d: Differentiation) -> Plan:
    """Changed rows are compared with the time of the last refresh, not with that of this one."""
    changed = at_one_end(node, d.delta(node.child, want_ids), At.T0, ((ACTION, ACT), *id_item(want_ids)))
    crossing = rows_that_cross(node, d.state(node.child, At.T0, want_ids))
    return UnionAll((changed, both_ends(lambda at: at_one_end(node, crossing, at, id_item(want_ids)))))


def wall_clock(frontier: Frontier) -> int:
    """The current time is that of the clock when the refresh runs, not its data timestamp."""
    return time.time_ns() // 1000


def of_the_sources(frontier: Frontier) -> int:
    """The current time is that of the newest version that is read, not the data timestamp."""
    return max((source.timestamp for source in frontier.sources.values()), default=frontier.timestamp)


_rule = partial(rule_fault, area="passing time", operators=("passing time",))
_time = partial(part_fault, area="passing time", replacing=in_protocol)

FAULTS = (
    _rule("boundary-row-kept", rows_stay, Check.EQUALITY, Check.ROW_IDS),
    _rule("boundary-row-deleted-twice", deleted_twice, Check.INVARIANT_1, Check.VALIDATION, Check.EQUALITY),
    _rule("boundary-left-out", limit_left_out, Check.EQUALITY, Check.ROW_IDS),
    _rule("time-of-the-old-contents", time_of_the_old_contents, Check.EQUALITY, Check.ROW_IDS),
    _time("time-of-the-wall-clock", "time", wall_clock, Check.EQUALITY, Check.ROW_IDS),
    _time("time-of-the-sources", "time", of_the_sources, Check.EQUALITY, Check.ROW_IDS),
)
