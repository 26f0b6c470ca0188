"""Runs plans on Spark so that each result is computed once: stage by stage, and once for equal questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.empty import without_empty
from dynamic_tables.plan.nodes import Leaf, Plan, walk
from dynamic_tables.plan.render import render
from dynamic_tables.plan.stages import Stages, stages
from dynamic_tables.store.port import Relation
from dynamic_tables.store.relations import SparkRelation, Workspace, view_names

KEPT_RESULTS = 16
"""How many small results of plans are kept for the next table."""


@dataclass(slots=True, kw_only=True)
class Computing:
    """Computes plans in one Spark session.

    `results`: small results by plan and leaves, each with the leaves, for the next table that asks the same.
    """

    workspace: Workspace
    results: dict[tuple[object, ...], tuple[SparkRelation, tuple[Relation, ...]]] = field(
        default_factory=dict
    )

    def once(self, plan: Plan, leaves: Mapping[str, Relation], *, few: bool) -> SparkRelation:
        """Returns the rows of a plan, computed exactly once. Raises StoreError.

        `few`: the rows are known to be few.
        """
        key = (plan, *sorted((name, id(relation)) for name, relation in leaves.items()))
        known = self.results.get(key)
        if known is not None:
            return known[0]
        result = self._in_stages(plan, leaves, few=few)
        if result.local:
            # Tables that read the same interval of a source have the same plan over the same rows.
            if result.large:
                # Of those with many rows only the newest is kept.
                self._drop([each for each, (kept, _) in self.results.items() if kept.large])
            self.results[key] = (result, tuple(leaves.values()))
            self._drop(list(self.results)[:-KEPT_RESULTS])
        return result

    def kept(self) -> Sequence[SparkRelation]:
        """Returns the results that are kept."""
        return [result for result, _ in self.results.values()]

    def forget(self) -> None:
        """Drops the results that are kept."""
        self._drop(list(self.results))

    def _drop(self, keys: Sequence[tuple[object, ...]]) -> None:
        self.workspace.release([self.results.pop(key)[0] for key in keys], ())

    def _in_stages(self, plan: Plan, leaves: Mapping[str, Relation], *, few: bool) -> SparkRelation:
        literals = frozenset(name for name, relation in leaves.items() if relation.local)
        staged = _staged(plan, literals)
        bound, empty, made = dict(leaves), set[str](), list[Relation]()
        try:
            for name, step in staged.steps:
                relation = self._run(_without(step, frozenset(empty)), bound, few=False)
                made.append(relation)
                bound[name] = relation
                if relation.local and not relation.table().num_rows:
                    empty.add(name)
            return self._run(_without(staged.last, frozenset(empty)), bound, few=few)
        finally:
            self.workspace.release(made, ())

    def _run(self, plan: Plan, leaves: Mapping[str, Relation], *, few: bool) -> SparkRelation:
        read = {node.name for node in walk(plan) if isinstance(node, Leaf)}
        bound = {name: relation for name, relation in leaves.items() if name in read}
        text = render(plan, SPARK, view_names(bound)).text()
        return self.workspace.materialized(text, tuple(bound.values()), few=few)


@lru_cache(maxsize=256)
def _staged(plan: Plan, few: frozenset[str]) -> Stages:
    """Returns the stages of a plan; they depend on it and on which leaves have few rows alone."""
    return stages(plan, few) if few else Stages((), plan)


@lru_cache(maxsize=256)
def _without(plan: Plan, empty: frozenset[str]) -> Plan:
    """Returns a plan without the terms of empty stages; the whole plan if nothing is left of it."""
    return (without_empty(plan, empty) or plan) if empty else plan
