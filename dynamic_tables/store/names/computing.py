"""Runs plans on Spark so that each result is computed once.

A plan is cut into stages (`plan.rewrites.stages`), each of which is run and kept as a relation; a stage
without rows takes the terms that read it out of the later ones. The result of the same plan over the same
relations is kept, because the changes of a source are asked for by each table that reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.expressions import Scalar
from dynamic_tables.plan.nodes import Leaf, Plan, walk
from dynamic_tables.plan.rewrites.empty import without_empty
from dynamic_tables.plan.rewrites.looked_up import with_keys
from dynamic_tables.plan.rewrites.stages import Stages, stages
from dynamic_tables.plan.written.render import render
from dynamic_tables.store.names.relations import SparkRelation, Workspace, view_names
from dynamic_tables.store.port import Relation

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True, kw_only=True)
class Computing:
    """Computes plans in one Spark session.

    `results`: small results by plan and leaves, for the next table that asks the same. Each holds its leaves,
    because the key has their `id`, which must not be given to another relation.
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
            if self.workspace.is_large(result):
                # Of results with many rows only the newest is kept, as a bound of memory.
                large = self.workspace.is_large
                self._drop([each for each, (kept, _) in self.results.items() if large(kept)])
            self.results[key] = (result, tuple(leaves.values()))
            self._drop(list(self.results)[: -self.workspace.sizes.kept_results])
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
        """Returns the rows of a plan, whose stages are run one after the other and released at the end."""
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
        plan = with_keys(plan, [name for name, leaf in bound.items() if leaf.local], _Keys(bound).of)
        plan = without_empty(plan, ()) or plan
        text = render(plan, SPARK, view_names(bound)).text()
        return self.workspace.materialized(text, tuple(bound.values()), few=few)


@lru_cache(maxsize=256)
def _staged(plan: Plan, few: frozenset[str]) -> Stages:
    """Returns the stages of a plan; they depend on it and on which leaves have few rows alone."""
    return stages(plan, few)


@lru_cache(maxsize=256)
def _without(plan: Plan, empty: frozenset[str]) -> Plan:
    """Returns a plan without the terms of empty stages; the whole plan if nothing is left of it."""
    return (without_empty(plan, empty) or plan) if empty else plan


@dataclass(frozen=True, slots=True)
class _Keys:
    """The values of columns of relations, each read once."""

    leaves: Mapping[str, Relation]
    known: dict[tuple[str, str], Collection[Scalar] | None] = field(default_factory=dict)

    def of(self, leaf: str, column: str) -> Collection[Scalar] | None:
        """Returns the values of a column, each once; None where Python may not have them."""
        if (leaf, column) not in self.known:
            relation = self.leaves[leaf]
            assert isinstance(relation, SparkRelation)
            self.known[leaf, column] = _values(relation.table()[column])
        return self.known[leaf, column]


def _values(column: pa.ChunkedArray) -> Collection[Scalar] | None:
    """Returns the values of a column, each once; instants in UTC. None where Python may not have them."""
    import pyarrow as pa

    kind = column.type
    types = pa.types
    known = (types.is_integer, types.is_string, types.is_date, types.is_timestamp, types.is_boolean)
    if not any(is_kind(kind) for is_kind in known):
        return None
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    try:
        values: list[Scalar] = column.unique().to_pylist()
    except (OverflowError, ValueError):
        # A date that Python does not have.
        return None
    return values
