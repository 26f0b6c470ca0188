"""Tables with a primary key that are written again and again: judged as every scenario, faults included."""

from __future__ import annotations

from functools import cache

import pytest

from campaign.faults.fault import Fault
from campaign.faults.keys import FAULTS
from campaign.lanes.spec import LaneSpec
from generators.builder import ScenarioBuilder
from generators.choices import SeededChoices
from generators.fitting import fit
from generators.generate import initial_rows
from generators.intents.keyed import frozen_by_key, written_again_by_key
from generators.profiles import SMOKE
from oracle.delayed_view import DelayedView
from tests.depth import examples
from tests.ir import agg, columns, named, select, table
from workload.dml import Insert, Overwrite, Replace
from workload.limits import Limits, within_dialect
from workload.outcomes.results import OutcomeClass
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Promises, Table
from workload.sql import Dialect
from workload.types import INT

STORIES = examples(10)


@cache
def story(seed: int) -> Scenario:
    """One intent alone: its tables, its dynamic tables, and a refresh after each of its acts."""
    builder = ScenarioBuilder(SeededChoices("keys", seed), SMOKE)
    builder.add_table()
    initial_rows(builder)
    script = (frozen_by_key if seed % 3 == 2 else written_again_by_key)(builder)
    for act in script.acts:
        for transaction in act:
            builder.commit(transaction)
        builder.refresh(script.target)
    return builder.finish(f"keys-{seed}")


def test_no_story_is_wrong_and_they_refresh_by_changes() -> None:
    lane = LaneSpec(tier="rules").build()
    outcomes = [lane.judge(story(seed)) for seed in range(STORIES)]
    assert [
        (each.scenario, each.findings) for each in outcomes if each.outcome is not OutcomeClass.PASSED
    ] == []


@pytest.mark.parametrize("seed", [252, 262])
def test_a_story_keeps_its_key_where_an_engine_lacks_some_of_its_statements(seed: int) -> None:
    """Without MERGE and REPLACE, a row that has moved to another key stays: no other row may move there."""
    scenario = fit(story(seed), within_dialect(Limits(), Dialect.SQLITE))
    with DelayedView(scenario) as truth:
        broken = [
            truth.broken_promise(statement.table, step.at)
            for step in scenario.steps
            if isinstance(step, Commit)
            for statement in step.statements
        ]
    assert set(broken) == {""}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_found(fault: Fault) -> None:
    lane = LaneSpec(tier="rules", faults=(fault.name,), validations=False).build()
    found = (finding.check for seed in range(60) for finding in lane.judge(story(seed)).findings)
    assert any(check in fault.caught_by for check in found)


R = table("r", k=INT, v=INT)
KEYED = Table(R.name, R.columns, Promises(keys=(("k",),), declared=("k",)))
SUMS = select(
    {"k": columns(R)["k"], "n": agg("SUM", columns(R)["v"])}, named("r"), group_by=[columns(R)["k"]]
)


@pytest.mark.parametrize("how", [Overwrite, Replace])
@pytest.mark.parametrize(("base", "changed"), [(R, 2), (KEYED, 1)], ids=["without a key", "with a key"])
def test_a_table_that_is_written_again_costs_what_differs(
    base: Table, changed: int, how: type[Overwrite | Replace]
) -> None:
    scenario = Scenario(
        "written again",
        (base,),
        (DynamicTable("d", select(columns(R), named("r"))), DynamicTable("sums", SUMS)),
        (
            Commit(1, (Insert("r", ((1, 1), (2, 2))),)),
            Create(2, "d"),
            Create(3, "sums"),
            Commit(4, (how("r", ((1, 1), (2, 3))),)),
            Refresh(5, "d", 5),
            Refresh(6, "sums", 6),
        ),
    )
    lane = LaneSpec(tier="rules").build()
    assert lane.judge(scenario).outcome is OutcomeClass.PASSED
    last = lane.engine.run(scenario).refreshes[-2]
    counted = None if last.counted is None else last.counted.inserted
    assert counted == (None if base is R and how is Replace else changed)
