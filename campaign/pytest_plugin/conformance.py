"""What every adapter must do, as a test class: subclass it and name the adapter.

class TestMyEngine(AdapterConformance):
    adapter = MyAdapter
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import ClassVar

import pytest

from campaign.adapters.contract import Adapter, Capabilities, Transaction
from campaign.adapters.tier import AdapterTier, opened
from campaign.engine import Engine
from campaign.lanes import Lane
from campaign.tally import covered
from generators import domains
from generators.choices import SeededChoices
from generators.dml import DmlGenerator
from generators.fitting import fit, fitted, refused
from generators.generate import scenario_at
from generators.limits import NO_LIMITS, OPERATORS, no_gap
from generators.profiles import QUICK, SMOKE, Profile
from oracle.compare import compare
from workload.dml import Insert
from workload.results import OutcomeClass
from workload.scenario import Commit, Scenario
from workload.schema import Column, Table
from workload.sql import create_table_text
from workload.trace import Action, Refreshed, Shown
from workload.types import Kind, Row, SqlType, Value

SEED = 7
SEARCHED = 400
"""Scenarios looked through for one that has an operator."""

VALUES: Mapping[SqlType, Sequence[Value]] = {
    **{
        domains.DECIMAL if kind is Kind.DECIMAL else SqlType(kind): tuple(
            dict.fromkeys(value for _, domain in domains.DOMAINS[kind] for value in domain.values)
        )
        for kind in Kind
    },
    domains.WIDE_DECIMAL: domains.WIDE_DECIMALS.values,
}
"""The values of each type that campaigns use."""


def _statements(kind: str, number: int) -> Scenario:
    """One table with rows, then two statements of a kind."""
    choices = SeededChoices(SEED, kind, number)
    sketch = domains.table(choices, "r0", 5)
    dml = DmlGenerator(choices, weights={kind: 1})
    commits = [Commit(10, (Insert("r0", dml.rows(sketch, 3, 8)),))]
    commits += [Commit(at, (dml.statement(sketch, [10]),)) for at in (20, 30)]
    return Scenario(f"{kind} {number}", (Table("r0", sketch.columns),), (), tuple(commits))


def _shown(refreshed: Refreshed) -> set[Shown]:
    """What a refresh shows."""
    evidence = {
        Shown.COLUMNS: bool(refreshed.columns),
        Shown.ROW_IDS: any(stored.row_id is not None for stored in refreshed.contents),
        Shown.FRESH_IDS: refreshed.fresh is not None,
        Shown.CHANGE_SETS: bool(refreshed.change_set),
        Shown.FRONTIER: bool(refreshed.versions),
        Shown.ACTIONS: refreshed.action is not Action.FULL,
    }
    return {part for part, there in evidence.items() if there}


class AdapterConformance:
    """The tests. Each runs on databases of its own; what the engine does not claim is skipped by name."""

    adapter: ClassVar[type[Adapter]]

    @property
    def capabilities(self) -> Capabilities:
        """The adapter's."""
        return self.adapter.capabilities

    @property
    def lane(self) -> Lane:
        """Where its scenarios are judged."""
        return Lane(tier=AdapterTier(self.adapter))

    def within(self, profile: Profile) -> Profile:
        """The profile that the engine can be asked."""
        limits = self.capabilities.limits
        return profile if limits == NO_LIMITS else fitted(profile, limits)

    def judge(self, scenario: Scenario, *allowed: OutcomeClass) -> None:
        """Asserts that a scenario passes, or comes to another outcome that is allowed."""
        outcome = self.lane.judge(scenario)
        assert outcome.outcome in (OutcomeClass.PASSED, *allowed), f"{scenario.name}: {outcome.reason}"

    @pytest.mark.parametrize("type_", VALUES, ids=str)
    def test_values_of_every_type_come_back_as_they_were_written(self, type_: SqlType) -> None:
        """NULL, the awkward values, and duplicates."""
        table = Table("r0", (Column("k", SqlType(Kind.INT)), Column("a", type_)))
        rows: tuple[Row, ...] = ((1, None), (1, None), *((2, value) for value in VALUES[type_]))
        found = self.written(table, rows)
        difference = compare(table.columns, rows, table.columns, found)
        assert difference is None, difference

    def test_a_table_is_empty_at_first(self) -> None:
        """Also for a reader that comes before the first transaction."""
        assert list(self.written(Table("r0", (Column("k", SqlType(Kind.INT)),)), ())) == []

    def test_databases_are_separate(self) -> None:
        """Two that are open at once, and one after the other."""
        table = Table("r0", (Column("k", SqlType(Kind.INT)),))
        with opened(self.adapter) as other:
            other.create_table(table, create_table_text(table, self.capabilities.dialect))
            other.advance(1)
            assert list(self.written(table, ((1,),))) == [(1,)]
            assert list(other.rows("r0", table.columns)) == []

    @pytest.mark.parametrize("kind", sorted(NO_LIMITS.statements))
    def test_every_statement_it_claims_does_what_the_oracle_computes(self, kind: str) -> None:
        """Ten random ones, on rows with NULLs and duplicates."""
        if kind not in self.capabilities.limits.statements:
            pytest.skip(f"{kind} is not among the statements it claims")
        for number in range(10):
            self.judge(_statements(kind, number))

    @pytest.mark.parametrize("operator", sorted(OPERATORS))
    def test_every_operator_it_claims_is_maintained(self, operator: str) -> None:
        """Over the first two random scenarios that have it."""
        if operator not in self.capabilities.limits.operators:
            pytest.skip(f"{operator} is not among the operators it claims")
        profile = self.within(SMOKE)
        found = 0
        for index in range(SEARCHED):
            scenario = scenario_at(SEED, profile, index)
            if covered(scenario)[f"operator: {operator}"]:
                self.judge(scenario)
                found += 1
            if found == 2:
                return
        if not found:
            pytest.fail(
                f"none of {SEARCHED} scenarios within its limits has a {operator}: is `gap` too wide?"
            )

    def test_random_scenarios_pass(self) -> None:
        """A few small ones, before a campaign runs many."""
        for index in range(10):
            self.judge(scenario_at(SEED, self.within(QUICK), index))

    def test_what_is_beyond_its_limits_is_refused_and_not_wrong(self) -> None:
        """The first definitions outside its limits: refused as unsupported, or right all the same."""
        limits = self.capabilities.limits
        anything = replace(limits, operators=OPERATORS, gap=no_gap, views=True, layered=True)
        scenarios = (fit(scenario_at(SEED, QUICK, index), anything) for index in range(SEARCHED))
        found = list(islice((scenario for scenario in scenarios if refused(scenario, limits)), 3))
        if not found:
            pytest.skip("no definition is beyond its limits")
        for scenario in found:
            self.judge(scenario, OutcomeClass.UNSUPPORTED)

    @pytest.mark.parametrize("part", Shown)
    def test_what_it_claims_to_show_is_there(self, part: Shown) -> None:
        """Over some scenarios, at least once."""
        if part not in self.capabilities.shown:
            pytest.skip(f"it does not claim to show {part.value}")
        seen: Counter[Shown] = Counter()
        for index in range(5):
            scenario = scenario_at(SEED, self.within(QUICK), index)
            trace = self.lane.tier.run(scenario, Engine(), lambda step, table: True)
            for refreshed in trace.refreshes:
                seen.update(_shown(refreshed))
        assert seen[part], f"no refresh shows {part.value}"

    def written(self, table: Table, rows: tuple[Row, ...]) -> Sequence[Row]:
        """The rows of a table after one INSERT (none where there is nothing to insert)."""
        with opened(self.adapter) as adapter:
            dialect = self.capabilities.dialect
            adapter.create_table(table, create_table_text(table, dialect))
            adapter.advance(10)
            if rows:
                adapter.commit(Transaction(10, (Insert(table.name, rows),), {table.name: table}, dialect))
            return [tuple(found) for found in adapter.rows(table.name, table.columns)]
