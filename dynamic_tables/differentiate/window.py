"""Window functions: affected partitions are computed anew at both ends of the interval (DVS paper, 5.5.1).

A window function of a row depends on the other rows of its partition. So a partition with a changed row is
computed as a whole, or, for functions that only look back, from the first changed row on (`window_tail`). At
the top of a query the stored rows of a partition can take the place of its rows at t0 (`stored_parts`).
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.window_tail import delta_of_tails, looks_back
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import SortKey, Win
from dynamic_tables.plan.nodes import Plan, Project, Window
from dynamic_tables.plan.window_functions import depends_on_places, ordered_also_by, ties_can_be_broken


def state_window(node: Window, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows at one end with their window functions; their ids pass through."""
    if not d.identified:
        return Window(d.state(node.child, at, False), node.calls)
    return windowed(node, d.state(node.child, at, True), ids)


def windowed(node: Window, rows: Plan, ids: bool) -> Plan:
    """Returns the window functions over rows with ids, which the result has only if `ids`.

    Rows that are equal in the order (ties) are taken in the order of their ids, so that a later refresh
    computes for t0 the values that are stored.
    """
    result = Window(rows, tuple((name, _with_ties_by_id(call)) for name, call in node.calls))
    return result if ids else Project(result, same(node))


def _with_ties_by_id(call: Win) -> Win:
    broken = depends_on_places(call) and ties_can_be_broken(call)
    return ordered_also_by(call, SortKey(ID)) if broken else call


def delta_window(node: Window, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows of affected partitions at t0 as DELETE, and at t1 as INSERT; equal rows cancel.

    A partition is affected if a changed row, old or new image, has its key. Example: a row is inserted before
    two others; their ROW_NUMBER changes, so both are in the changes beside the new row.
    """
    if looks_back(node):
        return delta_of_tails(node, ids, d, windowed)
    d.met(Branch.WINDOW_WHOLE if node.partition else Branch.WINDOW_ALL_ROWS)
    if not node.partition:
        return both_ends(lambda at: state_window(node, at, ids, d))
    keys = list(node.partition)
    affected = affected_keys(d.delta(node.child, False), keys)
    return both_ends(
        lambda at: windowed(node, only_groups(d.state(node.child, at, True), keys, affected), ids)
    )
