"""From failures to causes: replayed, shrunk, put in folders."""

from __future__ import annotations

import ast
import datetime as dt
import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest

from campaign.failures.fingerprint import FAMILIES, fingerprint
from campaign.failures.ignore import IgnoreRule, IgnoreRules
from campaign.failures.report import ShrinkBudget
from campaign.failures.shrinkers import ShrinkTask, _result, reduced_in, shrunk_on_workers
from campaign.failures.triage import Progress, Reduced, replayed, same_class, smallest
from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker
from campaign.runs import campaign as campaigns, runner
from campaign.runs.campaign import run_plan
from campaign.runs.plan import CampaignPlan
from engines import Notes
from engines.drive import FreshWanted, SoFar, never_fresh
from engines.engine import Engine
from engines.in_memory import InMemoryPlatform
from engines.registry import TIERS
from generators.profiles import SMOKE
from oracle.delayed_view import DelayedView
from shrink import Size, size
from tests.in_memory import in_memory
from tests.unit.engines.sample import Recomputing
from tests.unit.runs.deadly import DeadlySpec
from workload.dml import Delete, Insert
from workload.outcomes.decision import Decision
from workload.outcomes.results import Check, Finding, Outcome, OutcomeClass, RunSummary
from workload.outcomes.run_verdict import run_verdict
from workload.outcomes.trace import Refreshed, Trace
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Item,
    Literal,
    Named,
    Select,
    UnionAll,
)
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column, Table
from workload.types import BOOLEAN, DOUBLE, INT, STRING, Row

FAULT = "distinct-value-lingers"


class FailsOnce(Engine):
    """An engine that is wrong in its first run and right ever after."""

    runs = 0

    def run(
        self, scenario: Scenario, fresh_wanted: FreshWanted = never_fresh, so_far: SoFar | None = None
    ) -> Trace:
        self.runs += 1
        return super().run(scenario, fresh_wanted, so_far) if self.runs == 1 else in_memory().run(scenario)


class Counting(Engine):
    """An engine that counts its runs."""

    runs = 0

    def run(
        self, scenario: Scenario, fresh_wanted: FreshWanted = never_fresh, so_far: SoFar | None = None
    ) -> Trace:
        self.runs += 1
        return super().run(scenario, fresh_wanted, so_far)


class AgreesWithItself(Lane):
    """A lane whose third vote is what was stored: as if two engines read a query differently."""

    def _vote(self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed) -> Sequence[Row]:
        return [stored.row for stored in refreshed.contents]


R = Table("r", (Column("a", INT), Column("b", STRING)))
A, B = ColumnRef("r", "a", INT), ColumnRef("r", "b", STRING)
LINGERS = Scenario(
    name="a value lingers",
    tables=(R,),
    definitions=(
        DynamicTable("values_of_r", Select((Item(A, "a"), Item(B, "b")), Named("r", "r"), distinct=True)),
    ),
    steps=(
        Commit(10, (Insert("r", ((1, "x"), (2, "y"), (2, "y"))),)),
        Create(20, "values_of_r"),
        Commit(30, (Insert("r", ((3, "z"),)), Delete("r", Call("eq", (A, Literal(2, INT)), BOOLEAN)))),
        Refresh(40, "values_of_r", 40),
    ),
)
"""Both copies of a row go, and a DISTINCT that is wrong keeps its value."""


EngineClass = TypeVar("EngineClass", bound=Engine)


def engine_with(kind: type[EngineClass]) -> EngineClass:
    """The engine in memory with the fault."""
    variant = plant(FAULT, Subject()).variant
    return kind(lambda: InMemoryPlatform(variant), InMemoryPlatform(variant))


def diverging(engine: Engine) -> Lane:
    """A lane on which each wrong row is a divergence."""
    return AgreesWithItself(engine=engine)


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunSummary]:
    """Runs a campaign of two scenarios, the second of which the fault breaks, in this process.

    Both are written by hand: a random one takes many times as long to shrink, and worker processes are tested
    in tests/e2e/test_failures_by_cause.py.
    """
    passes = replace(LINGERS, name="nothing lingers", steps=LINGERS.steps[:2])
    for module in (runner, campaigns):
        monkeypatch.setattr(
            module, "scenario_at", lambda seed, profile, index, cut=None: (passes, LINGERS)[index]
        )
    monkeypatch.setitem(TIERS, "rules", replace(TIERS["rules"], processes=False))

    def run(out: Path, rules: IgnoreRules = IgnoreRules()) -> RunSummary:
        plan = CampaignPlan(seed=1, profile=replace(SMOKE, floors={}), scenarios=2, workers=1)
        spec = LaneSpec(tier="rules", faults=(FAULT,))
        return run_plan(plan, spec, out, shrinking=ShrinkBudget(seconds=300), ignored=rules)

    return run


def test_a_failure_that_does_not_happen_again_is_flaky_and_no_pass() -> None:
    wrong = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    lane = replace(wrong, engine=engine_with(FailsOnce))
    outcome = lane.judge(scenario)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    again = replayed(lane, scenario, outcome)
    assert again.outcome is OutcomeClass.FLAKY
    assert again.findings == outcome.findings
    assert again.reason.startswith("failed once, then passed; first: oracle equality")
    assert smallest(lane, scenario, again, 10).scenario == scenario


def test_a_failure_that_happens_again_is_itself() -> None:
    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    outcome = lane.judge(scenario)
    assert replayed(lane, scenario, outcome) is outcome


@dataclass
class Breaks:
    """A lane whose first runs break before they have judged anything, as where a server is not ready."""

    lane: Lane
    broken: int

    def judge(self, scenario: Scenario) -> Outcome:
        self.broken -= 1
        if self.broken < 0:
            return self.lane.judge(scenario)
        broke = OutcomeClass.INFRASTRUCTURE_FAILURE
        return Outcome(scenario=scenario.name, outcome=broke, reason="no server within 120 s")


def test_a_run_that_broke_does_not_make_a_failure_flaky() -> None:
    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    outcome = lane.judge(LINGERS)
    assert replayed(Breaks(lane, 1), LINGERS, outcome) is outcome  # type: ignore[arg-type]
    twice = replayed(Breaks(lane, 2), LINGERS, outcome)  # type: ignore[arg-type]
    assert twice.outcome is OutcomeClass.FLAKY
    assert twice.reason.startswith("failed once, then infrastructure_failure, no server within 120 s; first:")


def test_a_divergence_is_shrunk_to_its_smallest_query_and_stays_one() -> None:
    lane = diverging(engine_with(Counting))
    outcome = lane.judge(LINGERS)
    assert outcome.outcome is OutcomeClass.DIVERGENCE
    reduced = smallest(lane, LINGERS, outcome, 400)
    assert reduced.minimal
    assert reduced.outcome.outcome is OutcomeClass.DIVERGENCE
    assert size(reduced.scenario) == Size(operators=1, rows=1, dml=2)
    assert (
        fingerprint(reduced.scenario, reduced.outcome).text == "divergence: oracle equality: distinct: extra"
    )


def worker_with(lanes: Mapping[LaneSpec, Lane]) -> Worker:
    """A worker that has built these lanes already."""
    return Worker(lanes={(spec, False): lane for spec, lane in lanes.items()})


def test_a_failure_of_a_dear_tier_is_shrunk_on_a_cheap_one_that_shows_it_too() -> None:
    cheap, dear = LaneSpec(tier="rules", faults=(FAULT,)), LaneSpec(tier="delta", faults=(FAULT,))
    product_failure, divergence = cheap.build(), diverging(engine_with(Counting))
    outcome = divergence.judge(LINGERS)
    task = ShrinkTask(0, LINGERS, outcome, 400, math.inf)
    # On the dear tier it is a divergence, on the cheap one a product failure: so it is not shrunk there.
    worker = worker_with({dear: divergence, cheap: product_failure})
    assert reduced_in(worker, dear, task).outcome.outcome is OutcomeClass.DIVERGENCE
    helped, alone = engine_with(Counting), engine_with(Counting)
    reduced = reduced_in(
        worker_with({dear: diverging(helped), cheap: diverging(engine_with(Counting))}), dear, task
    )
    assert size(reduced.scenario) == Size(operators=1, rows=1, dml=2)
    assert reduced_in(worker_with({cheap: diverging(alone)}), cheap, task).minimal
    assert helped.runs < alone.runs


class TwoBugs(Recomputing):
    """An AVG is too large by 1; and a COUNT without GROUP BY has no row where there is none to count."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        query = self.queries[table].replace("AVG(", "1 + AVG(")
        if "COUNT(*)" in query and "GROUP BY" not in query:
            query = f"SELECT * FROM ({query}) WHERE columns(*) <> 0"
        self.db.execute(f"DELETE FROM {table}")
        self.db.execute(f"INSERT INTO {table} {query}")
        return None


def test_a_smaller_scenario_does_not_fail_by_an_operator_that_the_first_one_had_not() -> None:
    average = Aggregate(AggregateFunction.AVG, A, False, DOUBLE)
    averages = Select((Item(B, "b"), Item(average, "m")), Named("r", "r"), group_by=(B,))
    insert = Insert("r", ((1, "x"), (2, "x"), (2, "y")))
    scenario = Scenario(
        "averages",
        (R,),
        (DynamicTable("means", averages),),
        (Commit(10, (insert,)), Create(20, "means"), Refresh(40, "means", 40)),
    )
    lane = Lane(engine=Engine.of(TwoBugs))
    reduced = smallest(lane, scenario, lane.judge(scenario), 400)
    assert reduced.minimal
    assert set(fingerprint(reduced.scenario, reduced.outcome).operators) == {"grouped aggregation", "AVG"}


def test_an_interrupted_search_goes_on_where_it_was() -> None:
    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    outcome = lane.judge(scenario)
    whole = smallest(lane, scenario, outcome, 400)
    progress = Progress(scenario)
    first = smallest(lane, scenario, outcome, 4, progress=progress)
    assert not first.minimal
    assert progress.scenario == first.scenario
    before = set(progress.tried_for_check)
    assert len(before) == 4
    second = smallest(lane, first.scenario, first.outcome, 400, progress=progress)
    assert second.minimal
    assert size(second.scenario) == size(whole.scenario)
    assert before < progress.tried_for_check


def test_a_search_that_is_stopped_is_not_minimal() -> None:
    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    reduced = smallest(lane, scenario, lane.judge(scenario), 400, stop=lambda: True)
    assert (reduced.scenario, reduced.minimal) == (scenario, False)


def test_a_known_failure_is_ignored_and_no_pass_and_counts_again_once_the_rule_expires(
    tmp_path: Path, campaign: Callable[..., RunSummary]
) -> None:
    rule = IgnoreRule(issue="bugs/7", expires=dt.date(2026, 12, 31), operator="distinct")
    known = campaign(tmp_path / "known", rules=IgnoreRules.on([rule], rule.expires))
    count = known.outcomes["ignored"]
    assert count > 0
    assert known.outcomes["product_failure"] == 0
    assert known.outcomes["passed"] == 2 - count
    assert run_verdict(known).decision is Decision.PASSED
    assert [group.ignored for group in known.groups] == ["bugs/7"]
    late = IgnoreRules.on([rule], rule.expires + dt.timedelta(days=1))
    counted = campaign(tmp_path / "late", rules=late)
    assert counted.outcomes["product_failure"] == count
    assert run_verdict(counted).decision is Decision.FAILED
    assert counted.rule_notes[0].startswith("expired on 2026-12-31")


def test_a_bug_in_shrinking_does_not_cost_the_failure() -> None:
    outcome = LaneSpec(tier="rules", faults=(FAULT,)).build().judge(LINGERS)
    broken: Future[Reduced] = Future()
    broken.set_exception(TypeError("no such reduction"))
    reduced = _result(broken, ShrinkTask(7, LINGERS, outcome, 400, math.inf))
    assert (reduced.scenario, reduced.minimal) == (LINGERS, False)
    assert reduced.outcome.findings == outcome.findings
    assert reduced.outcome.reason.endswith("(shrinking broke: TypeError: no such reduction)")


def test_ids_alone_differ_in_a_kind_of_their_own() -> None:
    lane = LaneSpec(tier="rules", faults=("union-branch-not-in-id",), fresh_percent=100).build()
    both = UnionAll((Select((Item(A, "a"),), Named("r", "r")), Select((Item(A, "a"),), Named("r", "r"))))
    scenario = replace(LINGERS, definitions=(DynamicTable("values_of_r", both),))
    computed = fingerprint(scenario, lane.judge(scenario))
    assert (computed.check, computed.operators) == (Check.VALIDATION, ("union all",))
    created = replace(scenario, steps=scenario.steps[:2])
    assert fingerprint(created, lane.judge(created)).check is Check.ROW_IDS


def test_every_check_belongs_to_a_family() -> None:
    assert set(FAMILIES) == set(Check)


def interrupted(spec: LaneSpec, task: ShrinkTask) -> None:
    """An interrupt that comes while a worker is busy."""
    with closing(shrunk_on_workers(spec, 1, iter([replace(task, attempts=1), task]))) as shrunk:
        next(shrunk)
        raise KeyboardInterrupt


def test_an_interrupt_stops_the_workers_and_keeps_what_there_is() -> None:
    spec = LaneSpec(tier="rules", faults=(FAULT,))
    task = ShrinkTask(7, LINGERS, spec.build().judge(LINGERS), 400, math.inf)
    with pytest.raises(KeyboardInterrupt):
        interrupted(spec, task)
    stopped = reduced_in(Worker(stopped=lambda: True), spec, task)
    assert (stopped.scenario, stopped.minimal) == (LINGERS, False)
    late = reduced_in(Worker(), spec, replace(task, deadline=0.0))
    assert (late.scenario, late.minimal) == (LINGERS, False)


def test_a_candidate_on_which_a_worker_dies_costs_its_failure_alone(tmp_path: Path) -> None:
    wrong = LaneSpec(tier="rules", faults=(FAULT,))
    outcome = wrong.build().judge(LINGERS)
    deadly = DeadlySpec(tier="rules", faults=(FAULT,), always=("deadly",), met=tmp_path)
    tasks = [
        ShrinkTask(number, replace(LINGERS, name=name), outcome, 4, math.inf)
        for number, name in enumerate(["lingers", "deadly", "lingers", "lingers"])
    ]
    assert [each.number for each in shrunk_on_workers(deadly, 1, iter(tasks))] == [0, 2, 3]


def test_the_kept_regression_test_fails_while_the_engine_is_wrong(tmp_path: Path) -> None:
    from campaign.failures import regression

    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    outcome = lane.judge(scenario)
    with pytest.raises(AssertionError, match="product_failure: The check 'oracle equality' failed"):
        regression.assert_passed(outcome)


def test_a_run_leaves_groups_and_folders_with_two_programs(
    tmp_path: Path, campaign: Callable[..., RunSummary]
) -> None:
    summary = campaign(tmp_path)
    (group,) = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["groups"]
    assert group["fingerprint"]["operators"] == ["distinct"]
    assert group["representative"] in group["scenarios"]
    folder = Path(summary.failures[0].folder)
    script = (folder / "reproduce.py").read_text(encoding="utf-8")
    assert {"pyspark", "duckdb", "delta"} <= imports_of(script)
    ours = {"workload", "campaign", "oracle", "reports", "generators", "dynamic_tables", "dvs_model"}
    assert not imports_of(script) & ours
    (test,) = folder.glob("test_*.py")
    # The right engine passes it; the last test is of one that does not.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def imports_of(script: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(script)):
        match node:
            case ast.Import(aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module):
                names.add(module or "")
    return {name.split(".")[0] for name in names}


def refused(reason: str) -> Outcome:
    message = f"d1 was refused: {reason}"
    finding = Finding(check=Check.REFRESH_MODE, table="d1", step=0, timestamp=20, message=message)
    return Outcome(scenario="refused", outcome=OutcomeClass.PRODUCT_FAILURE, findings=(finding,))


def test_a_definition_refused_for_another_reason_is_another_failure() -> None:
    first = refused("unsupported: scalar subquery of x2")
    assert same_class(first, refused("unsupported: scalar subquery of x4"))
    assert not same_class(first, refused("array is not defined for ()"))
