"""The recursion that all rules share, over the nodes of a defining query's plan.

A refresh covers an interval from t0 to t1, each of them a frontier: one version of each source. A rule asks
this recursion for the rows of its inputs at t0 or t1 (state) and for their changes between them (delta), and
builds the same for its own node. Example, for an inner join (DVS paper, section 5.5):

    delta(L join R) = delta(L) join state(R, t1)  +  state(L, t0) join delta(R)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dynamic_tables.differentiate.row_id import RowIds
from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan import nodes
from dynamic_tables.plan.branches import Met, unrecorded
from dynamic_tables.plan.expressions import Col
from dynamic_tables.plan.time import holds_time
from dynamic_tables.plan.types import STRING


class At(Enum):
    """The ends of a refresh interval: t0 is the frontier before the refresh, t1 the frontier after it."""

    T0 = "t0"
    T1 = "t1"


StateRule = Callable[[Any, At, bool, "Differentiation"], nodes.Plan]
"""(node, end, whether to add `$ROW_ID`, recursion) -> the node's rows at that end."""

DeltaRule = Callable[[Any, bool, "Differentiation"], nodes.Plan]
"""(node, whether to add `$ROW_ID`, recursion) -> the node's changes: its columns, `$ACTION` [, `$ROW_ID`].

The changes may hold a DELETE and an INSERT of equal rows; `changes.consolidate` removes them at the root.
"""


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """How one operator is read at a point in time and differentiated.

    `row_id`, `algebra` and `source` (section of the paper) document the rule; `dvs operators` prints them.
    """

    operator: str
    state: StateRule
    delta: DeltaRule
    row_id: str
    algebra: str
    source: str


OPERATOR_NAMES: Mapping[type[nodes.Plan], str] = {
    nodes.Scan: "scan",
    nodes.Values: "constant row",
    nodes.Project: "projection",
    nodes.Filter: "filter",
    nodes.Distinct: "distinct",
    nodes.Mark: "mark join",
    nodes.Window: "window",
    nodes.Limit: "limit",
    nodes.Explode: "explode",
}
"""The operators whose nodes have one name each."""


def operator_of(plan: nodes.Plan) -> str:
    """Returns the name of a node's operator in the registry and in messages."""
    match plan:
        case nodes.Join(kind, _, _, _):
            return kind.value
        case nodes.SetOperation():
            return plan.operator
        case nodes.Project(_, items) if any(holds_time(expr) for _, expr in items):
            return "passing time"
        case nodes.Aggregate(_, keys, _):
            return "grouped aggregation" if keys else "scalar aggregation"
        case nodes.SemiJoin(_, _, _, anti):
            return "anti join" if anti else "semi join"
        case _:
            return OPERATOR_NAMES.get(type(plan), type(plan).__name__)


@dataclass(slots=True)
class Differentiation:
    """One differentiation of one plan.

    The same question always gets the same node object. So the plan is a DAG: a node that several rules ask
    for is rendered once, and a chain of n outer joins has a plan of size O(n). Two nodes that are equal, but
    not the same object, would be rendered and computed twice.
    """

    operators: Mapping[str, OperatorRule]
    row_ids: RowIds
    identified: bool = True
    """Whether the sources have row ids. They have none where, say, a FULL table is computed; then rules do
    not break ties by row id."""
    met: Met = unrecorded
    """Receives each branch that a rule for changes takes."""
    # Keyed by `id` of a node: nodes compare by identity, and the query that is differentiated keeps them.
    states: dict[tuple[int, At, bool], nodes.Plan] = field(default_factory=dict)
    deltas: dict[tuple[int, bool], nodes.Plan] = field(default_factory=dict)

    def rule(self, plan: nodes.Plan) -> OperatorRule:
        """Returns the rule of a node. Raises UnsupportedError if its operator has none."""
        rule = self.operators.get(operator_of(plan))
        if rule is None:
            raise UnsupportedError(operator_of(plan), "no differentiation rule")
        return rule

    def state(self, plan: nodes.Plan, at: At, ids: bool) -> nodes.Plan:
        """Returns the rows of a node at one end of the interval; with `ids`, `$ROW_ID` is added."""
        key = (id(plan), at, ids)
        if key not in self.states:
            self.states[key] = self.rule(plan).state(plan, at, ids, self)
        return self.states[key]

    def delta(self, plan: nodes.Plan, ids: bool) -> nodes.Plan:
        """Returns the changes of a node between t0 and t1; with `ids`, `$ROW_ID` is added."""
        key = (id(plan), ids)
        if key not in self.deltas:
            self.deltas[key] = self.rule(plan).delta(plan, ids, self)
        return self.deltas[key]


ID = Col(nodes.ROW_ID, STRING)
ACT = Col(nodes.ACTION, STRING)


CONTENTS = "contents@t0"
"""The leaf with the contents of the refreshed table before the refresh, hidden columns included."""


def leaf_name(source: str, end: At | None) -> str:
    """Returns the name of a leaf: `source@t0`, `source@t1`, or `source@delta` for end None."""
    return f"{source}@{'delta' if end is None else end.value}"
