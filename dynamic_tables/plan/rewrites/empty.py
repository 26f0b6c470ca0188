"""Leaves out the parts of a plan that give no rows because a leaf is known to be empty.

A source that did not change has an empty change set, so every term that joins it goes: of
dL x R@t1 + L@t0 x dR with dR empty only the first term is left, and L@t0 is not read at all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import assert_never

from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import FALSE, Expr


def without_empty(plan: nodes.Plan, leaves: Collection[str]) -> nodes.Plan | None:
    """Returns a plan with the same rows if the named leaves have no rows; None if it has none itself.

    A filter whose condition is the constant FALSE has none either.

    Shared nodes stay shared. An empty input that an operator cannot do without, such as the right side of a
    LEFT JOIN, stays in the plan.
    """
    pruning = _Pruning(frozenset(leaves))
    # Bottom up, so that `_node` finds its children done, and a long chain of operators needs no deep
    # recursion.
    for node in nodes.children_first(plan):
        pruning.pruned(node)
    return pruning.pruned(plan)


@dataclass(slots=True)
class _Pruning:
    """The pruning of one plan.

    `empty`: the leaves without rows. `known`: by `id` of a node what is left of it; None: it gives no rows.
    """

    empty: frozenset[str]
    known: dict[int, nodes.Plan | None] = field(default_factory=dict)

    def pruned(self, plan: nodes.Plan) -> nodes.Plan | None:
        """Returns what is left of a node, which is computed once; None: it gives no rows."""
        if id(plan) not in self.known:
            never = isinstance(plan, nodes.Filter) and plan.predicate == FALSE
            self.known[id(plan)] = None if never else self._node(plan)
        return self.known[id(plan)]

    def _node(self, plan: nodes.Plan) -> nodes.Plan | None:
        """Returns what is left of a node; None if it gives no rows. Its children are pruned already."""
        match plan:
            case nodes.Scan() | nodes.Values():
                return plan
            case nodes.Leaf(name, _):
                return None if name in self.empty else plan
            case (
                nodes.Project()
                | nodes.Filter()
                | nodes.Distinct()
                | nodes.Numbered()
                | nodes.Window()
                | nodes.Limit()
                | nodes.Explode()
            ):
                child = self.pruned(plan.child)
                return None if child is None else replace(plan, child=child)
            case nodes.Aggregate(_, keys, _):
                child = self.pruned(plan.child)
                if child is None:
                    # Without keys an aggregation of nothing is one row.
                    return None if keys else plan
                return replace(plan, child=child)
            case nodes.Join():
                return self._join(plan)
            case nodes.SemiJoin():
                return self._semi_join(plan)
            case nodes.Mark():
                left = self.pruned(plan.left)
                return None if left is None else replace(plan, left=left)
            case nodes.UnionAll():
                return self._union_all(plan)
            case nodes.ExceptAll(branches):
                return None if self.pruned(branches[0]) is None else plan
            case nodes.IntersectAll(branches):
                return plan if all(self.pruned(branch) for branch in branches) else None
            case _:
                assert_never(plan)

    def _semi_join(self, plan: nodes.SemiJoin) -> nodes.Plan | None:
        """Returns what is left of a semi or anti join; an anti join with nothing keeps all left rows."""
        left, right = self.pruned(plan.left), self.pruned(plan.right)
        if left is None or (right is None and not plan.anti):
            return None
        return left if right is None else replace(plan, left=left, right=right)

    def _join(self, plan: nodes.Join) -> nodes.Plan | None:
        """Returns what is left of a join: an INNER JOIN is empty if a side is, a LEFT JOIN if the left is."""
        left, right = self.pruned(plan.left), self.pruned(plan.right)
        without_rows = {
            nodes.JoinKind.INNER: left is None or right is None,
            nodes.JoinKind.CROSS: left is None or right is None,
            nodes.JoinKind.LEFT: left is None,
            nodes.JoinKind.RIGHT: right is None,
            nodes.JoinKind.FULL: left is None and right is None,
        }
        if without_rows[plan.kind]:
            return None
        return replace(
            plan, left=plan.left if left is None else left, right=plan.right if right is None else right
        )

    def _union_all(self, plan: nodes.UnionAll) -> nodes.Plan | None:
        """Returns the union of the branches that may have rows; None: no branch may."""
        branches = [branch for branch in map(self.pruned, plan.branches) if branch is not None]
        if not branches:
            return None
        if len(branches) > 1:
            return nodes.UnionAll(tuple(branches))
        # A branch may have the columns of the union in another order.
        items: tuple[tuple[str, Expr], ...] = tuple((column.name, column) for column in nodes.columns(plan))
        return nodes.Project(branches[0], items)
