"""The test class that every adapter must pass. Subclass it and name the adapter:

class TestMyEngine(AdapterConformance):
    adapter = MyAdapter
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import islice
from typing import ClassVar

import pytest

from campaign.judging.lane import Lane
from campaign.pytest_plugin.assertion import NOT_JUDGED, story
from campaign.runs.tally import covered
from engines.adapter import Adapter, Capabilities, Transaction
from engines.asking import limits_of
from engines.engine import Engine, opened
from engines.registry import ADAPTER
from generators import domains
from generators.choices import SeededChoices
from generators.concurrency import with_restarts, with_rollbacks
from generators.dml import DmlGenerator
from generators.fitting import fit, fitted, refused
from generators.generate import scenario_at
from generators.profiles import QUICK, SMOKE, Profile
from generators.reshaping import reshaped
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from reports.difference import diff_block, difference_text
from reports.findings import first_finding, fuzz_command, summary_text
from workload.dml import Insert
from workload.limits import NO_LIMITS, Limits, Timestamps, no_gap
from workload.operators import OPERATORS
from workload.outcomes.results import Outcome, OutcomeClass
from workload.outcomes.trace import Action, Refreshed, Shown
from workload.scenario import Commit, Drop, Scenario
from workload.schema import Column, Table
from workload.sql import create_table_text
from workload.types import DRAWN, Kind, Row, SqlType, Value

SEED = 7
MOST_TRIED = 12
"""Scenarios with an operator that are tried; the engine may refuse some for another reason."""

MAX_SEARCHED = 1000
"""Random scenarios among which one with an operator must be."""

FEW, MAX_DRAWN = 5, 100
"""How many scenarios with a drop are judged, and how many random ones are searched for them."""

VALUES: Mapping[SqlType, Sequence[Value]] = {
    **{
        domains.MADE_OF_PARTS.get(kind, SqlType(kind)): tuple(
            dict.fromkeys(value for _, domain in domains.DOMAINS[kind] for value in domain.values)
        )
        for kind in DRAWN
    },
    domains.WIDE_DECIMAL: domains.WIDE_DECIMALS.values,
}
"""The values of each type that random scenarios use."""


def _statements(kind: str, number: int, limits: Limits) -> Scenario:
    """Returns a scenario of one table with rows, and then two statements of a kind, cut to the limits."""
    choices = SeededChoices(SEED, kind, number)
    sketch = domains.table(choices, "r0", 5, limits=limits)
    dml = DmlGenerator(choices, weights={kind: 1})
    commits = [Commit(10, (Insert("r0", dml.rows(sketch, 3, 8)),))]
    commits += [Commit(at, (dml.statement(sketch, [10]),)) for at in (20, 30)]
    scenario = Scenario(f"{kind} {number}", (Table("r0", sketch.columns),), (), tuple(commits))
    return scenario if limits == NO_LIMITS else fit(scenario, limits)


def _within(limits: Limits, profile: Profile) -> Profile:
    return profile if limits == NO_LIMITS else fitted(profile, limits)


@lru_cache(MAX_SEARCHED)
def _searched(adapter: type[Adapter], index: int) -> tuple[frozenset[str], Callable[[], Outcome]]:
    """Returns what a random scenario covers, and its outcome when asked for; all operators share them."""
    scenario = scenario_at(SEED, _within(limits_of(adapter, adapter.capabilities), SMOKE), index)
    lane = Lane(engine=Engine.of(adapter), limits=adapter.capabilities.limits)
    return frozenset(+covered(scenario)), cache(partial(lane.judge, scenario))


def _shown(refreshed: Refreshed) -> set[Shown]:
    """Returns the parts of a refresh that the engine shows, by what the trace of the refresh has."""
    evidence = {
        Shown.COLUMNS: bool(refreshed.columns),
        Shown.ROW_IDS: any(stored.row_id is not None for stored in refreshed.contents),
        Shown.FRESH_IDS: refreshed.fresh is not None,
        Shown.CHANGE_SETS: bool(refreshed.change_set),
        Shown.FRONTIER: bool(refreshed.versions),
        Shown.ACTIONS: refreshed.action is not Action.FULL,
    }
    return {part for part, is_shown in evidence.items() if is_shown}


class AdapterConformance:
    """The tests. Each uses new databases; nothing is tested that the adapter does not claim.

    `scenarios`: how many random scenarios are judged, and how many for each kind of statement.
    `of_each_operator`: how many scenarios with each operator.
    """

    adapter: ClassVar[type[Adapter]]
    scenarios: ClassVar[int] = 10
    of_each_operator: ClassVar[int] = 2

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Makes one test of each kind of statement, operator and type that the engine claims."""
        limits = self.capabilities.limits
        for name, claimed in (("kind", limits.statements), ("operator", limits.reachable)):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, sorted(claimed))
        if "type_" in metafunc.fixturenames:
            types = [type_ for type_ in VALUES if type_.kind in limits.types]
            metafunc.parametrize("type_", types, ids=str)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that the adapter claims."""
        return self.adapter.capabilities

    @property
    def lane(self) -> Lane:
        """The lane that judges scenarios on the adapter."""
        return Lane(engine=Engine.of(self.adapter), limits=self.capabilities.limits)

    def within(self, profile: Profile) -> Profile:
        """Returns the profile cut to the limits of the adapter."""
        return _within(limits_of(self.adapter, self.capabilities), profile)

    def judge(self, scenario: Scenario, *allowed: OutcomeClass) -> Outcome:
        """Asserts that a scenario passes, or has another outcome that is allowed; returns the outcome."""
        outcome = self.lane.judge(scenario)
        if outcome.outcome not in (OutcomeClass.PASSED, *allowed):
            raise AssertionError(self.explained(scenario, outcome))
        return outcome

    def explained(self, scenario: Scenario, outcome: Outcome) -> str:
        """Returns what failed, and the command that judges the scenario alone; without one its statements."""
        name, _, index = scenario.name.rpartition("-")
        for profile in (SMOKE, QUICK):
            drawn = name == f"{profile.name}-{SEED}"
            if drawn and scenario == scenario_at(SEED, self.within(profile), int(index)):
                tier = f"{ADAPTER}{self.adapter.__module__}:{self.adapter.__qualname__}"
                how = f"  {fuzz_command(tier, profile.name, SEED, int(index))}"
                break
        else:
            first, broken = first_finding(outcome), outcome.breakage
            last = first.step if first is not None else broken.step if broken is not None else None
            how = story(scenario, -1 if last is None else last, self.capabilities)
        return f"{scenario.name}: {summary_text(outcome)}\n{how}"

    def test_values_of_every_type_come_back_as_they_were_written(self, type_: SqlType) -> None:
        """Writes and reads NULL, edge cases, and duplicates, as far as the limits have them."""
        table = Table("r0", (Column("k", SqlType(Kind.INT)), Column("a", type_)))
        stored = [value for value in VALUES[type_] if self.capabilities.limits.stores(value, type_)]
        rows: tuple[Row, ...] = ((1, None), (1, None), *((2, value) for value in stored))
        self.written(table, rows)
        if not stored:
            pytest.skip(f"its limits store no value of type {type_}; only NULL was written")

    def test_names_are_given_again(self) -> None:
        """Judges scenarios in which definitions are dropped.

        An engine that cannot drop them, by its limits, is not asked to.
        """
        if not self.capabilities.limits.drops:
            pytest.skip("its limits have no drops")
        if self.capabilities.limits.timestamps is Timestamps.COMMIT:
            pytest.skip("no scenario drops a definition where every commit maintains the tables")
        profile = replace(self.within(QUICK), recreated_percent=100)
        drawn = (scenario_at(SEED, profile, index) for index in range(MAX_DRAWN))
        dropping = (each for each in drawn if any(isinstance(step, Drop) for step in each.steps))
        scenarios = tuple(islice(dropping, FEW))
        if not scenarios:
            pytest.skip(f"none of {MAX_DRAWN} scenarios within its limits drops a definition")
        self.judge_some(scenarios, OutcomeClass.UNSUPPORTED)

    def test_restarts_and_rollbacks_leave_no_trace(self) -> None:
        """Judges scenarios with a restart before each refresh, and each transaction first rolled back.

        An engine that can do neither, by its limits, is not asked to.
        """
        limits, choices = self.capabilities.limits, SeededChoices(SEED, "disturbed")
        if not (limits.restarts or limits.rollbacks):
            pytest.skip("its limits have neither restarts nor rollbacks")
        scenarios = []
        for index in range(FEW):
            scenario = scenario_at(SEED, self.within(QUICK), index)
            if limits.restarts:
                scenario = with_restarts(choices, scenario, 100)
            if limits.rollbacks:
                scenario = with_rollbacks(choices, scenario, 100)
            scenarios.append(scenario)
        self.judge_some(scenarios, OutcomeClass.UNSUPPORTED)

    def test_a_table_is_empty_at_first(self) -> None:
        """Reads a table before the first transaction: it has no rows."""
        self.written(Table("r0", (Column("k", SqlType(Kind.INT)),)), ())

    def test_databases_are_separate(self) -> None:
        """Opens two databases at once, and one after the other: neither sees the rows of the other."""
        limits, dialect = self.capabilities.limits, self.capabilities.dialect
        given = Table("r0", (Column("k", SqlType(Kind.INT)),))
        (table,) = reshaped(Scenario("separate", (given,), (), ()), limits).tables
        with opened(self.adapter) as other:
            other.create_table(table, create_table_text(table, dialect, keyed=limits.keys))
            other.advance(1)
            self.written(given, ((1,),))
            assert list(other.rows("r0", table.columns)) == []

    def test_every_statement_it_claims_does_what_the_oracle_computes(self, kind: str) -> None:
        """Judges random statements on rows with NULLs and duplicates."""
        scenarios = [_statements(kind, number, self.capabilities.limits) for number in range(self.scenarios)]
        commits = (step for scenario in scenarios for step in scenario.steps if isinstance(step, Commit))
        written = {type(statement).__name__.lower() for commit in commits for statement in commit.statements}
        if kind not in written:
            pytest.skip(f"none of {self.scenarios} scenarios within its limits has {kind.upper()}")
        for scenario in scenarios:
            self.judge(scenario)

    def test_every_operator_it_claims_is_maintained(self, operator: str) -> None:
        """Judges the first random scenarios with the operator; fails where none could be judged."""
        tried, judged, refusal = 0, 0, ""
        for index in range(MAX_SEARCHED):
            has, outcome_of = _searched(self.adapter, index)
            if f"operator: {operator}" not in has:
                continue
            tried += 1
            outcome = outcome_of()
            if outcome.outcome in NOT_JUDGED:
                refusal = outcome.reason
            elif outcome.outcome is OutcomeClass.PASSED:
                judged += 1
            else:
                scenario = scenario_at(SEED, self.within(SMOKE), index)
                raise AssertionError(self.explained(scenario, outcome))
            if judged == self.of_each_operator or tried == MOST_TRIED:
                break
        if refusal and not judged:
            pytest.fail(f"none of {tried} scenarios with a {operator} was judged, such as: {refusal}")
        if not judged:
            pytest.fail(
                f"none of {MAX_SEARCHED} scenarios within its limits has a {operator}; "
                "does its `gap` refuse too much?"
            )

    def test_random_scenarios_pass(self) -> None:
        """Judges small random scenarios; some may be refused, but not all."""
        scenarios = [scenario_at(SEED, self.within(QUICK), index) for index in range(self.scenarios)]
        self.judge_some(scenarios, *NOT_JUDGED)

    def test_it_answers_queries_with_the_rows_in_their_text(self) -> None:
        """Asks `evaluate` for the third vote: queries of random scenarios that read no tables."""
        with opened(self.adapter) as adapter:
            for index in range(self.scenarios):
                scenario = scenario_at(SEED, self.within(SMOKE), index)
                at = max(step.at for step in scenario.steps)
                with DelayedView(scenario) as truth:
                    for each in scenario.definitions:
                        text = truth.sql(each.name, at, self.capabilities.dialect)
                        if self._answer(adapter, text, truth.columns(each.name)) is None:
                            pytest.skip("it has no `evaluate`: the third vote is a refresh of a new database")

    def _answer(self, adapter: Adapter, text: str, columns: Sequence[Column]) -> Sequence[Row] | None:
        try:
            rows = adapter.evaluate(text, columns)
            return None if rows is None else list(rows)
        except Exception as error:
            # What evaluates a query in an engine may raise anything.
            raise AssertionError(f"`evaluate` raises {type(error).__name__}: {error}; for: {text}") from error

    def test_what_is_beyond_its_limits_is_refused_and_not_wrong(self) -> None:
        """Definitions beyond its limits are refused as unsupported, or maintained correctly.

        An engine without limits, or with some that random scenarios do not meet, has nothing to refuse.
        """
        limits = self.capabilities.limits
        anything = replace(limits, operators=OPERATORS, gap=no_gap, views=True, layered=True)
        scenarios = (fit(scenario_at(SEED, QUICK, index), anything) for index in range(MAX_SEARCHED))
        beyond = tuple(islice((scenario for scenario in scenarios if refused(scenario, limits)), 3))
        if not beyond:
            pytest.skip(f"none of {MAX_SEARCHED} scenarios is beyond its limits")
        for scenario in beyond:
            self.judge(scenario, OutcomeClass.UNSUPPORTED)

    def test_what_it_claims_to_show_is_there(self) -> None:
        """Asserts that some refresh of a few scenarios shows each part that the adapter claims to show."""
        missing = set(self.capabilities.shown)
        if not missing:
            pytest.skip("it claims to show nothing of its refreshes")
        for index in range(FEW):
            scenario = scenario_at(SEED, self.within(QUICK), index)
            for refreshed in self.lane.engine.run(scenario, lambda step, table: True).refreshes:
                missing -= _shown(refreshed)
        assert not missing, f"no refresh shows {', '.join(sorted(part.value for part in missing))}"

    def judge_some(self, scenarios: Sequence[Scenario], *allowed: OutcomeClass) -> None:
        """Asserts that each scenario passes or has an allowed outcome; skips the test where none passed."""
        outcomes = [self.judge(scenario, *allowed) for scenario in scenarios]
        if OutcomeClass.PASSED not in {outcome.outcome for outcome in outcomes}:
            pytest.skip(f"none of {len(scenarios)} scenarios was judged, such as: {outcomes[0].reason}")

    def written(self, table: Table, rows: tuple[Row, ...]) -> None:
        """Asserts that the rows of a new table are read as they were written, in the shapes of the limits."""
        limits, dialect = self.capabilities.limits, self.capabilities.dialect
        commits = (Commit(10, (Insert(table.name, rows),)),) if rows else ()
        scenario = reshaped(Scenario("written", (table,), (), commits), limits)
        (table,) = scenario.tables
        expected: list[Row] = []
        with opened(self.adapter) as adapter:
            adapter.create_table(table, create_table_text(table, dialect, keyed=limits.keys))
            adapter.advance(5)
            for commit in scenario.steps:
                assert isinstance(commit, Commit)
                adapter.advance(commit.at)
                adapter.commit(Transaction(commit.at, commit.statements, {table.name: table}, dialect))
                expected += (row for dml in commit.statements if isinstance(dml, Insert) for row in dml.rows)
            found = [tuple(row) for row in adapter.rows(table.name, table.columns)]
        difference = compare(table.columns, expected, table.columns, found)
        if difference is not None:
            raise AssertionError(f"{difference_text(difference)}\n{diff_block(difference)}")
