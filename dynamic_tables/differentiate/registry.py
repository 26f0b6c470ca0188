"""The registry: every operator with its rule, its row id, and where the rule comes from.

A rule has two functions: the rows of an operator at one end of a refresh interval (state), and its changes
between both ends (delta). A table whose query has an operator without a rule is FULL. `Rules` carries this
registry and the other parts of the algebra as one argument, so that a test can plant a fault in one of them.
The functions at the end make the plans that a refresh runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dynamic_tables.differentiate import (
    apply,
    changes,
    copies,
    grouping,
    inner_join,
    keys,
    limit,
    linear,
    outer_join,
    passing_time,
    semi_join,
    stored_parts,
    window,
    window_first,
)
from dynamic_tables.differentiate.changes import Columns
from dynamic_tables.differentiate.differentiation import (
    ACT,
    ID,
    At,
    Differentiation,
    OperatorRule,
    operator_of,
)
from dynamic_tables.differentiate.row_id import ROW_IDS, RowIds
from dynamic_tables.differentiate.stored_groups import StoredGroups, stored_groups_of
from dynamic_tables.errors import NO_RULE, UnsupportedError
from dynamic_tables.plan.branches import Met, unrecorded
from dynamic_tables.plan.nodes import ACTION, ROW_ID, BoundQuery, Plan, Project, walk
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.relations import Relations
from dynamic_tables.reading.values.passed import TypeOf

LINEAR = "DVS paper, section 5.5"
ONE_SIDE = "ours: a derivative of one side at a time (paper: section 5.5.1, direct derivative)"
PARTITIONS = "DVS paper, section 5.5.1"
WINDOWS = "DVS paper, section 5.5.1 (as for window partitions)"

WHOLE = "ours: both ends from all rows"
TIME = "ours: a filter whose condition is another one at t0 than at t1 (Materialize: temporal filter)"

STORED_ID = "base table: row-tracking id; dynamic table: stored id, or content and occurrence"
MEMBERS = "dL semi R@t1 + L@t0 that dR matches: t1 - t0; also EXISTS and IN in WHERE"
PAIR = "dL x R@t1 + L@t0 x dR"
COPY = "all values, and the number among equal rows"
PADDED = "pair of ids, a padded side as its own tag"

# One operator per row: name, state, changes, row id, change set, source. The last three are text for readers,
# which `dvs operators` and docs/operators.md show. d is "the changes of", pi a projection, sigma a filter,
# gamma a grouping, omega a window function; t0 and t1 are the ends of the refresh interval.
# fmt: off
_RULES = (
    ("scan", linear.state_scan, linear.delta_scan,
     STORED_ID, "old and new images between two versions", LINEAR),
    ("constant row", linear.state_values, linear.delta_values,
     "one constant", "none; SELECT without FROM, and VALUES with UNION ALL", LINEAR),
    ("projection", linear.state_project, linear.delta_project,
     "the child's", "pi(dQ)", LINEAR),
    ("filter", linear.state_filter, linear.delta_filter,
     "the child's", "sigma(dQ); also HAVING", LINEAR),
    ("passing time", passing_time.state_time, passing_time.delta_time,
     "the child's", "m@t1(dQ) + rows of Q@t0 in the range that t0 and t1 bound: m@t1 - m@t0", TIME),
    ("union all", linear.state_union_all, linear.delta_union_all,
     "branch and id", "dQ1 + dQ2", LINEAR),
    ("except all", copies.state_copies, copies.delta_copies,
     COPY, "affected values: what R lacks @t1 - @t0; EXCEPT over DISTINCT", WINDOWS),
    ("intersect all", copies.state_copies, copies.delta_copies,
     COPY, "affected values: what R has @t1 - @t0; INTERSECT over DISTINCT", WINDOWS),
    ("inner join", inner_join.state_join, inner_join.delta_inner_join,
     "pair of ids", PAIR, LINEAR),
    ("cross join", inner_join.state_join, inner_join.delta_inner_join,
     "pair of ids", PAIR, LINEAR),
    ("left join", inner_join.state_join, outer_join.delta_left_join,
     PADDED, "dL left join R@t1 + L@t0 x dR + pads of matched L@t0: t1 - t0", ONE_SIDE),
    ("right join", inner_join.state_join, outer_join.delta_right_join,
     PADDED, "as the left join, the sides exchanged", ONE_SIDE),
    ("full join", inner_join.state_join, outer_join.delta_full_join,
     PADDED, "as the left join + pads of dR and of matched R@t0: t1 - t0", ONE_SIDE),
    ("semi join", semi_join.state_semi_join, semi_join.delta_semi_join,
     "the left row's", MEMBERS, ONE_SIDE),
    ("anti join", semi_join.state_semi_join, semi_join.delta_semi_join,
     "the left row's", "as the semi join: rows without a match", ONE_SIDE),
    ("mark join", semi_join.state_mark, semi_join.delta_mark,
     "the left row's", "as the semi join: EXISTS and IN under OR, CASE or in the select list", ONE_SIDE),
    ("window", window.state_window, window.delta_window,
     "the child's", "affected partitions: omega@t1 - omega@t0; ties in the order of ids", PARTITIONS),
    ("limit", limit.state_limit, limit.delta_limit,
     "the child's", "first rows@t1 - @t0; equal rows in the order of the other columns, then of ids", WHOLE),
    ("explode", linear.state_explode, linear.delta_explode,
     "the row's id and the position; a pad has its own tag", "explode(dQ); also LATERAL VIEW", LINEAR),
    ("distinct", grouping.state_distinct, grouping.delta_distinct,
     "all values", "affected values: distinct@t1 - distinct@t0", WINDOWS),
    ("grouped aggregation", grouping.state_aggregate, grouping.delta_aggregate,
     "the group's key", "affected groups: gamma@t1 - gamma@t0", WINDOWS),
    ("scalar aggregation", grouping.state_aggregate, grouping.delta_scalar_aggregate,
     "one constant", "gamma@t1 - gamma@t0", "ours: the paper's engine refuses it (section 3.3.2)"),
)
# fmt: on

OPERATORS: Mapping[str, OperatorRule] = {row[0]: OperatorRule(*row) for row in _RULES}
"""The rule of each operator, by its name in `differentiation.operator_of`."""

PAGES: Mapping[str, str] = {
    **dict.fromkeys(("scan", "projection", "filter"), "rows.md"),
    "passing time": "time.md",
    "constant row": "constant-rows.md",
    **dict.fromkeys(("union all", "except all", "intersect all", "distinct"), "set-operations.md"),
    **dict.fromkeys(("inner join", "cross join", "left join", "right join", "full join"), "joins.md"),
    **dict.fromkeys(("semi join", "anti join", "mark join"), "subqueries.md"),
    "window": "windows.md",
    "limit": "limit.md",
    "explode": "explode.md",
    **dict.fromkeys(("grouped aggregation", "scalar aggregation"), "aggregates.md"),
}
"""The page of each operator in docs/operators: its algebra, an example, its cost, and what is FULL."""

NOT_YET: Mapping[str, str] = {
    **dict.fromkeys(
        ("recursive CTE",),
        NO_RULE,
    ),
    "current time": "outside of conditions, and in ON of outer joins where it reads both sides",
    "explode beside groups or windows": "put one of them into a sub-select",
    "an aggregate without GROUP BY inside LATERAL, IN or EXISTS": (
        "in EXISTS without HAVING, in LATERAL with it: there is a row of nothing, too"
    ),
    "scalar subquery": "in GROUP BY; where it reads a key of grouping sets",
    "EXISTS, IN (subquery)": "in ON of outer joins, where it reads both sides; in HAVING, over an aggregate",
    "float aggregate as a key or in a condition": "its last bits depend on the order of summation",
}
"""Constructs for which AUTO resolves to FULL, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All parts of the algebra in one argument, so that a test can replace one part.

    `bind`: reads the text of a query, as `bind_query` does. `met`: is told the branches that plans take.
    """

    bind: Callable[[str, Relations, TypeOf | None], BoundQuery] = bind_query
    operators: Mapping[str, OperatorRule] = field(default_factory=lambda: OPERATORS)
    row_ids: RowIds = ROW_IDS
    stored_groups: Callable[[BoundQuery], StoredGroups | None] = stored_groups_of
    firsts: Callable[[BoundQuery, window_first.Firsts, Differentiation], Plan] = window_first.delta_of_firsts
    parts: Callable[[BoundQuery, stored_parts.OnTop, Differentiation], Plan] = stored_parts.delta_of_contents
    capture: Callable[[str, Columns], Plan] = changes.capture
    keyed: keys.Keyed = keys.keyed
    shared_key: Callable[..., Plan] = keys.shared_key
    consolidate: Callable[[Plan], Plan] = changes.consolidate
    validate: Callable[[Columns], Plan] = apply.validate
    validate_changes: Callable[[Columns], Plan] = apply.validate_changes
    fold: Callable[[Columns], Plan] = apply.fold
    apply: Callable[[Columns], Plan] = apply.apply
    met: Met = unrecorded

    def differentiation(self, *, identified: bool = True) -> Differentiation:
        """Returns a new differentiation by these rules."""
        return Differentiation(self.operators, self.row_ids, identified, met=self.met)

    def record(self, query: BoundQuery) -> None:
        """Tells the branches that the binding of a query took, when its changes are planned."""
        for branch in sorted(query.branches):
            self.met(branch)


RULES = Rules()


def ensure_supported(query: BoundQuery, rules: Rules) -> None:
    """Raises UnsupportedError for the first operator of a query that has no rule."""
    differentiation = rules.differentiation()
    for node in walk(query.plan):
        differentiation.rule(node)


def time_outside(query: BoundQuery) -> UnsupportedError | None:
    """Returns why a query that reads the current time cannot be incremental; None where it can."""
    return UnsupportedError("current time", query.time_outside) if query.time_outside else None


def stored_groups(query: BoundQuery, rules: Rules) -> StoredGroups | None:
    """Returns how a query is maintained from its own contents; None where that is not possible.

    It replaces the registered rule of grouping or DISTINCT, and is not used where `rules` have another one: a
    fault that a test plants in that rule must be reached, not passed by.
    """
    known = rules.stored_groups(query)
    if known is None:
        return None
    return known if rules.operators.get(known.operator) is OPERATORS[known.operator] else None


def state_plan(query: BoundQuery, rules: Rules) -> Plan:
    """Returns the plan of a query's rows at t1, with the hidden columns, if it has any, and `$ROW_ID`."""
    known = stored_groups(query, rules)
    if known is None:
        return initial_plan(query, rules, ids=True)
    return known.initial(rules.differentiation())


def fresh_state_plan(known: StoredGroups, rules: Rules) -> Plan:
    """Returns the plan of a query's rows at t1 with all hidden columns: see `StoredGroups.fresh`."""
    return known.fresh(Differentiation(rules.operators, rules.row_ids))


def net_plan(known: StoredGroups, rules: Rules) -> Plan:
    """Returns the plan of the net of what changed in each group between t0 and t1; see `StoredGroups.net`."""
    rules.record(known.query)
    known.record(rules.met)
    return known.net(rules.differentiation())


def group_plan(known: StoredGroups, rules: Rules) -> Plan:
    """Returns the plan of the groups that changed, old and new, from the result of `net_plan`."""
    return known.groups(rules.differentiation())


def group_again_plan(known: StoredGroups, rules: Rules) -> Plan:
    """Returns the plan of the groups that must be computed anew, from the result of `group_plan`."""
    return known.again(rules.differentiation())


def group_parts_plan(known: StoredGroups, rules: Rules) -> Plan:
    """Returns the plan of the rows at t1 of the groups that must be computed anew; see `parts_again`."""
    return known.parts_again(rules.differentiation())


def group_change_plan(known: StoredGroups, rules: Rules, *, again: bool) -> Plan:
    """Returns the plan of the changes, from the result of `group_plan`; `again`: some are computed anew."""
    changes = known.changes(rules.differentiation(), again=again)
    # Without groups that are computed anew, only rows that differ are in the changes. With them, a group may
    # come out as it was before, and its DELETE and INSERT must cancel.
    return rules.consolidate(changes) if again else changes


def initial_plan(query: BoundQuery, rules: Rules, *, ids: bool) -> Plan:
    """Returns the plan of a query's rows at t1, with `$ROW_ID` if `ids`."""
    plan = rules.differentiation(identified=ids).state(query.plan, At.T1, ids)
    return Project(plan, query.outputs + linear.id_item(ids))


def of_contents(query: BoundQuery, rules: Rules) -> Callable[[Differentiation], Plan] | None:
    """Returns what makes the changes of a query from its stored rows; None where that is not possible.

    None also for a grouping that is continued from hidden columns, see `stored_groups`. As there, such a rule
    takes the place of the registered one only if nobody replaced that.
    """
    first, parts = limit.on_top(query.plan), stored_parts.on_top(query)
    if first is not None and rules.operators.get("limit") is OPERATORS["limit"]:
        return lambda d: limit.delta_of_contents(query, first, d)
    if parts is None or stored_groups(query, rules) is not None:
        return None
    operator = operator_of(parts.node)
    if rules.operators.get(operator) is not OPERATORS[operator]:
        return None
    firsts = window_first.firsts_of(parts)
    if firsts is not None:
        return lambda d: rules.firsts(query, firsts, d)
    return lambda d: rules.parts(query, parts, d)


def change_plan(query: BoundQuery, rules: Rules, *, contents: bool = True) -> Plan:
    """Returns the plan of a query's consolidated changes between t0 and t1, with `$ACTION`, `$ROW_ID`.

    `contents`: whether the stored rows are the query's rows at t0, and may be read in their place.
    """
    rules.record(query)
    d = rules.differentiation()
    top = of_contents(query, rules) if contents else None
    if top is not None:
        return rules.consolidate(top(d))
    plan = d.delta(query.plan, True)
    return rules.consolidate(Project(plan, (*query.outputs, (ACTION, ACT), (ROW_ID, ID))))
