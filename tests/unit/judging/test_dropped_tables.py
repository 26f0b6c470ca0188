"""An engine to which something of a dropped table sticks is found by the random campaign."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from campaign.lanes.spec import LaneSpec
from dynamic_tables.account import Account
from dynamic_tables.definition import Definition, DynamicTable
from dynamic_tables.errors import DefinitionError
from engines.memory.store import MemoryStore, StoredTable
from generators.generate import scenario_at
from generators.profiles import QUICK
from workload.outcomes.results import OutcomeClass
from workload.scenario import Drop, Scenario


def with_drops() -> Iterator[Scenario]:
    scenarios = (scenario_at(23, QUICK, index) for index in range(10_000))
    return (each for each in scenarios if any(isinstance(step, Drop) for step in each.steps))


def outcomes(count: int) -> list[OutcomeClass]:
    return list(judged(count))


def judged(count: int) -> Iterator[OutcomeClass]:
    """Yields the outcome of one scenario after the other, so that a search can end at the first failure."""
    lane = LaneSpec(tier="rules").build()
    return (lane.judge(scenario).outcome for scenario in islice(with_drops(), count))


def test_the_engine_passes() -> None:
    assert set(outcomes(12)) == {OutcomeClass.PASSED}


def test_versions_that_outlive_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[tuple[int, str], StoredTable[Any]] = {}
    drop, create = MemoryStore.drop, MemoryStore.create_dynamic_table

    def careless(store: MemoryStore[Any], definition: Definition) -> None:
        if isinstance(definition, DynamicTable):
            kept[id(store), definition.name] = store.tables[definition.name]
        drop(store, definition)

    def found_again(store: MemoryStore[Any], table: DynamicTable) -> None:
        create(store, table)
        if (id(store), table.name) in kept:
            store.tables[table.name] = kept.pop((id(store), table.name))

    monkeypatch.setattr(MemoryStore, "drop", careless)
    monkeypatch.setattr(MemoryStore, "create_dynamic_table", found_again)
    assert OutcomeClass.PRODUCT_FAILURE in judged(300)


def test_a_plan_that_outlives_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is created under the name of a dropped one is refreshed by the plan of that one."""
    create = Account.create_dynamic_table

    def found_again(account: Account, name: str, query: str, **options: Any) -> DynamicTable:
        before = account.bound.get(name)
        table = create(account, name, query, **options)
        if before is not None and not options.get("or_replace"):
            below, _, _ = account.bound[name]
            account.bound[name] = (below, *before[1:])
        return table

    monkeypatch.setattr(Account, "create_dynamic_table", found_again)
    monkeypatch.setattr(Account, "forget", lambda account, name: None)
    assert OutcomeClass.PRODUCT_FAILURE in judged(60)


def test_a_drop_that_fails_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(account: Account, name: str) -> None:
        raise DefinitionError(f"{name} cannot be dropped")

    monkeypatch.setattr(Account, "drop", refused)
    assert set(outcomes(3)) == {OutcomeClass.PRODUCT_FAILURE}
