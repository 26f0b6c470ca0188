"""What tables of one account share in memory: the changes of a source between two versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from dynamic_tables.differentiate.differentiation import At, leaf_name
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.store.port import Relation
from engines.memory.duck_store import DuckRelation, DuckStore
from tests.in_memory import in_memory
from tests.ir import columns, count_star, named, select, table
from workload.dml import Insert
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT

R = table("r", k=INT)
K = columns(R)["k"]
TWO_READERS = Scenario(
    "two readers of one source",
    (R,),
    (
        DynamicTable("a", select({"k": K}, named("r"))),
        DynamicTable("b", select({"k": K, "n": count_star()}, named("r"), group_by=[K])),
    ),
    (
        Commit(1, (Insert("r", ((1,),)),)),
        Create(2, "a"),
        Create(3, "b"),
        Commit(4, (Insert("r", ((2,),)),)),
        Refresh(5, "a", 5),
        Refresh(6, "b", 5),
        Commit(7, (Insert("r", ((3,),)),)),
        Refresh(8, "a", 8),
        Refresh(9, "b", 8),
    ),
)


def test_a_sources_changes_are_computed_once_for_each_interval_and_its_readers_share_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    captured: Counter[tuple[str, ...]] = Counter()
    right = DuckStore.materialized

    def counting(self: DuckStore, plan: Plan, leaves: Mapping[str, Relation]) -> DuckRelation:
        if set(leaves) == {leaf_name("r", At.T0), leaf_name("r", At.T1)}:
            captured[tuple(getattr(relation, "name", "") for relation in leaves.values())] += 1
        return right(self, plan, leaves)

    monkeypatch.setattr(DuckStore, "materialized", counting)
    trace = in_memory().run(TWO_READERS)
    assert [refreshed.action.name for refreshed in trace.refreshes[-4:]] == ["INCREMENTAL"] * 4
    assert [(len(versions), times) for versions, times in captured.items()] == [(2, 1), (2, 1)]
