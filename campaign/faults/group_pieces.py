"""What the faults in grouping and DISTINCT are built from: the right rule, of which one part is replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, wraps

from campaign.faults.fault import rule_fault
from campaign.faults.pieces import recomputed
from dynamic_tables.differentiate.differentiation import At, DeltaRule, Differentiation
from dynamic_tables.differentiate.grouping import distinct, grouped
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.expressions import Agg, Expr
from dynamic_tables.plan.nodes import Aggregate, Distinct, Plan, columns


def keys_of(node: Aggregate | Distinct) -> list[Expr]:
    """The group keys; of DISTINCT all columns."""
    return list(columns(node)) if isinstance(node, Distinct) else [key for _, key in node.keys]


def groups_from(node: Aggregate | Distinct, rows: Plan, want_ids: bool, d: Differentiation) -> Plan:
    """The groups, or the distinct rows, that some input rows give."""
    if isinstance(node, Distinct):
        return distinct(node, rows, want_ids, d)
    return grouped(node, rows, want_ids, d)


@dataclass(frozen=True)
class Grouping:
    """A grouped aggregation under differentiation."""

    node: Aggregate
    want_ids: bool
    d: Differentiation

    @cached_property
    def affected(self) -> Plan:
        """The keys that an old or new version of a changed row has."""
        return affected_keys(self.d.delta(self.node.child, False), keys_of(self.node))

    def of_affected(self, rows: Plan) -> Plan:
        """Those of some input rows that belong to affected groups."""
        return only_groups(rows, keys_of(self.node), self.affected)

    def rows(self, at: At) -> Plan:
        """The input rows of affected groups at one end."""
        return self.of_affected(self.d.state(self.node.child, at, False))

    def groups(self, at: At) -> Plan:
        """The affected groups at one end, as the right rule has them."""
        return self.from_rows(self.rows(at))

    def from_rows(self, rows: Plan, node: Aggregate | None = None) -> Plan:
        """The groups that some input rows give; `node`: by another aggregation."""
        return grouped(node or self.node, rows, self.want_ids, self.d)

    def with_aggregates(self, change: Callable[[Agg], Agg]) -> Aggregate:
        """The aggregation with other aggregate functions."""
        aggregates = tuple((name, change(agg)) for name, agg in self.node.aggregates)
        return Aggregate(self.node.child, self.node.keys, aggregates)

    def computed(self, change: Callable[[str, Agg], Expr], node: Aggregate | None = None) -> Plan:
        """The affected groups at t1 with their aggregate columns replaced by expressions over them."""
        aggregates = (node or self.node).aggregates
        result = self.from_rows(self.rows(At.T1), node)
        return recomputed(result, {name: change(name, agg) for name, agg in aggregates})


def at_t1(faulty: Callable[[Grouping], Plan]) -> DeltaRule:
    """The rule of grouped aggregation with the groups at t1 computed by `faulty`."""

    @wraps(faulty)
    def rule(node: Aggregate, want_ids: bool, d: Differentiation) -> Plan:
        grouping = Grouping(node, want_ids, d)
        return both_ends(lambda at: faulty(grouping) if at is At.T1 else grouping.groups(at))

    return rule


group_fault = partial(rule_fault, area="aggregates", operators=("grouped aggregation",))
"""(name, rule, checks): a fault in the rule of grouped aggregation."""
