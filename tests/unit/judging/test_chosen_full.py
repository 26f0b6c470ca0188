"""FULL by choice is right for AUTO tables alone; FULL for any other reason is held against the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.refresh.action import Readable, decide
from dynamic_tables.refresh.execute import PROTOCOL
from dynamic_tables.store.port import Action
from dynamic_tables.versions import Frontier
from engines.variant import Variant
from tests.in_memory import in_memory
from tests.ir import columns, named, select, table
from workload.dml import Insert
from workload.outcomes.results import Check
from workload.scenario import Commit, Create, DynamicTable, Refresh, RefreshMode, Scenario
from workload.types import INT

R = table("r", k=INT)

Decide = Callable[[Frontier | None, Frontier, bool, Readable], tuple[Action, str]]


def full_because(reason: str) -> Decide:
    def decided(
        before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
    ) -> tuple[Action, str]:
        action, why = decide(before, after, incremental, readable)
        return (Action.FULL, reason) if action is Action.INCREMENTAL else (action, why)

    return decided


@pytest.mark.parametrize(
    ("mode", "reason", "found"),
    [
        (RefreshMode.AUTO, "changed: r; chosen FULL: expected 3.4 s against 12.1 s", set()),
        (RefreshMode.AUTO, "changed: r", {Check.REFRESH_MODE}),
        (RefreshMode.INCREMENTAL, "chosen FULL: expected 3.4 s against 12.1 s", {Check.REFRESH_MODE}),
    ],
)
def test_a_choice_is_no_silent_fallback(mode: RefreshMode, reason: str, found: set[Check]) -> None:
    story = Scenario(
        "chosen",
        (R,),
        (DynamicTable("d", select({"k": columns(R)["k"]}, named("r")), mode=mode),),
        (
            Commit(1, (Insert("r", ((1,),)),)),
            Create(2, "d"),
            Commit(3, (Insert("r", ((2,),)),)),
            Refresh(4, "d", 4),
        ),
    )
    engine = in_memory(Variant(protocol=replace(PROTOCOL, decide=full_because(reason))))
    outcome = Lane(engine=engine).judge(story)
    assert {finding.check for finding in outcome.findings} == found
    assert ("state: FULL by choice" in outcome.states) is not bool(found)
