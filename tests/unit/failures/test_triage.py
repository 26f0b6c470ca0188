"""From failures to causes: replayed, shrunk, put in folders."""

from __future__ import annotations

import ast
import datetime as dt
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from campaign.campaigns import run_campaign
from campaign.cli.options import exit_code
from campaign.engine import Engine
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget
from campaign.fingerprint import FAMILIES, fingerprint
from campaign.ignore import IgnoreRule, IgnoreRules
from campaign.lanes import LaneSpec, RulesTier
from campaign.runner import Plan
from campaign.shrink import Size, size
from campaign.shrinkers import Task, reduce, result_of, shrinkers
from campaign.tiers.recording import FreshWanted
from campaign.triage import Progress, Reduced, replayed, smallest
from generators.profiles import SMOKE
from oracle.delayed_view import DelayedView
from tests.failing import first_failing
from workload.dml import Delete, Insert
from workload.query import Call, ColumnRef, Item, Literal, Named, Select, UnionAll
from workload.results import Check, OutcomeClass, RunSummary
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column, Table
from workload.trace import Refreshed, Trace
from workload.types import BOOLEAN, INT, STRING, Row

FAULT = "distinct-value-lingers"


@dataclass(slots=True)
class FailsOnce:
    """A tier whose engine is wrong in its first run and right ever after."""

    right: RulesTier = field(default_factory=RulesTier)
    runs: int = 0

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        self.runs += 1
        if self.runs > 1:
            return self.right.run(scenario, Engine(), fresh_wanted)
        return self.right.run(scenario, engine, fresh_wanted)

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        return self.right.recompute(scenario, truth, refreshed, engine)


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


def campaign(faults: tuple[str, ...], out: Path, *, rules: IgnoreRules = IgnoreRules()) -> RunSummary:
    """A run of two scenarios, the second of which the fault breaks."""
    first = first_failing(FAULT, 1, SMOKE) - 1
    plan = Plan(seed=1, profile=replace(SMOKE, floors={}), first=first, scenarios=2, workers=1)
    spec = LaneSpec(tier="rules", faults=faults)
    return run_campaign(plan, spec, out, shrinking=ShrinkBudget(seconds=300), ignored=rules)


def test_a_failure_that_does_not_happen_again_is_flaky_and_no_pass() -> None:
    wrong = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    lane = replace(wrong, tier=FailsOnce())
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


@dataclass(slots=True)
class AgreesWithItself:
    """A tier whose full recomputation gives what was stored: as if two engines read a query differently."""

    right: RulesTier = field(default_factory=RulesTier)
    runs: int = 0

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        self.runs += 1
        return self.right.run(scenario, engine, fresh_wanted)

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        return [stored.row for stored in refreshed.contents]


def test_a_divergence_is_shrunk_to_its_smallest_query_and_stays_one() -> None:
    wrong = LaneSpec(tier="rules", faults=(FAULT,)).build()
    lane = replace(wrong, tier=AgreesWithItself())
    outcome = lane.judge(LINGERS)
    assert outcome.outcome is OutcomeClass.DIVERGENCE
    found = smallest(lane, LINGERS, outcome, 400)
    assert found.minimal
    assert found.outcome.outcome is OutcomeClass.DIVERGENCE
    assert size(found.scenario) == Size(operators=1, rows=1, dml=2)
    assert fingerprint(found.scenario, found.outcome).text == "divergence: oracle equality: distinct: extra"


def test_a_failure_of_a_dear_tier_is_shrunk_on_a_cheap_one_that_shows_it_too() -> None:
    cheap = LaneSpec(tier="rules", faults=(FAULT,)).build()
    dear = replace(cheap, tier=AgreesWithItself(RulesTier()))
    outcome = dear.judge(LINGERS)
    # There it is a divergence, on the cheap tier a product failure: not the same, so not shrunk there.
    task = Task(0, LINGERS, outcome, 400, math.inf)
    assert reduce(dear, task, cheap=cheap).outcome.outcome is OutcomeClass.DIVERGENCE
    counted = AgreesWithItself()
    same = replace(cheap, tier=counted)
    same_class = replace(cheap, tier=AgreesWithItself())
    found = reduce(same, Task(0, LINGERS, outcome, 400, math.inf), cheap=same_class)
    assert size(found.scenario) == Size(operators=1, rows=1, dml=2)
    alone = replace(cheap, tier=(uncounted := AgreesWithItself()))
    assert reduce(alone, Task(0, LINGERS, outcome, 400, math.inf)).minimal
    assert counted.runs < uncounted.runs


def test_an_interrupted_search_goes_on_where_it_was() -> None:
    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    outcome = lane.judge(scenario)
    whole = smallest(lane, scenario, outcome, 400)
    asked = Progress(scenario)
    first = smallest(lane, scenario, outcome, 4, progress=asked)
    assert not first.minimal
    assert asked.scenario == first.scenario
    before = set(asked.alike)
    assert len(before) == 4
    second = smallest(lane, first.scenario, first.outcome, 400, progress=asked)
    assert second.minimal
    assert size(second.scenario) == size(whole.scenario)
    assert before < asked.alike


def test_a_search_that_is_stopped_is_not_minimal() -> None:
    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    found = smallest(lane, scenario, lane.judge(scenario), 400, stop=lambda: True)
    assert (found.scenario, found.minimal) == (scenario, False)


def test_a_known_failure_is_ignored_and_no_pass_and_counts_again_once_the_rule_expires(
    tmp_path: Path,
) -> None:
    rule = IgnoreRule(issue="bugs/7", expires=dt.date(2026, 12, 31), operator="distinct")
    known = campaign((FAULT,), tmp_path / "known", rules=IgnoreRules.on([rule], rule.expires))
    count = known.outcomes["ignored"]
    assert count > 0
    assert known.outcomes["product_failure"] == 0
    assert known.outcomes["passed"] == 2 - count
    assert exit_code(known) is ExitCode.OK
    assert [group.ignored for group in known.groups] == ["bugs/7"]
    late = IgnoreRules.on([rule], rule.expires + dt.timedelta(days=1))
    counted = campaign((FAULT,), tmp_path / "late", rules=late)
    assert counted.outcomes["product_failure"] == count
    assert exit_code(counted) is ExitCode.FAILED
    assert counted.rule_notes[0].startswith("expired on 2026-12-31")


def test_a_bug_in_shrinking_does_not_cost_the_failure() -> None:
    outcome = LaneSpec(tier="rules", faults=(FAULT,)).build().judge(LINGERS)
    broken: Future[Reduced] = Future()
    broken.set_exception(TypeError("no such reduction"))
    found = result_of(broken, Task(7, LINGERS, outcome, 400, math.inf))
    assert (found.scenario, found.minimal) == (LINGERS, False)
    assert found.outcome.findings == outcome.findings
    assert found.outcome.reason.endswith("(shrinking broke: TypeError: no such reduction)")


def test_ids_alone_differ_in_a_kind_of_their_own() -> None:
    lane = LaneSpec(tier="rules", faults=("union-branch-not-in-id",), fresh_percent=100).build()
    both = UnionAll((Select((Item(A, "a"),), Named("r", "r")), Select((Item(A, "a"),), Named("r", "r"))))
    scenario = replace(LINGERS, definitions=(DynamicTable("values_of_r", both),))
    found = fingerprint(scenario, lane.judge(scenario))
    assert (found.check, found.operators) == (Check.VALIDATION, ("union all",))
    created = replace(scenario, steps=scenario.steps[:2])
    assert fingerprint(created, lane.judge(created)).check is Check.ROW_IDS


def test_every_check_belongs_to_a_family() -> None:
    assert set(FAMILIES) == set(Check)


def interrupted(spec: LaneSpec, task: Task) -> None:
    """An interrupt that comes while a worker is busy."""
    with shrinkers(spec, 1) as shrunk:
        next(shrunk(iter([replace(task, attempts=1), task])))
        raise KeyboardInterrupt


def test_an_interrupt_stops_the_workers_and_keeps_what_there_is() -> None:
    spec = LaneSpec(tier="rules", faults=(FAULT,))
    task = Task(7, LINGERS, spec.build().judge(LINGERS), 400, math.inf)
    with pytest.raises(KeyboardInterrupt):
        interrupted(spec, task)
    stopped = reduce(spec.build(), task, lambda: True)
    assert (stopped.scenario, stopped.minimal) == (LINGERS, False)
    late = reduce(spec.build(), replace(task, deadline=0.0))
    assert (late.scenario, late.minimal) == (LINGERS, False)


def test_the_kept_regression_test_fails_while_the_engine_is_wrong(tmp_path: Path) -> None:
    from campaign import regression

    lane = LaneSpec(tier="rules", faults=(FAULT,)).build()
    scenario = LINGERS
    outcome = lane.judge(scenario)
    with pytest.raises(AssertionError, match="product_failure: The check 'oracle equality' failed"):
        regression.assert_passed(outcome)


def test_a_run_leaves_groups_and_folders_with_two_programs(tmp_path: Path) -> None:
    summary = campaign((FAULT,), tmp_path)
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
