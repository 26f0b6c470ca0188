"""What is declared as pg_ivm's gaps is what it refuses, no less and not much more."""

from __future__ import annotations

from dataclasses import replace

from engines.adapter import Unsupported
from engines.engine import opened
from engines.others.pg_ivm import PgIvm
from engines.others.pg_ivm_gaps import LIMITS, amended, gap
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.unit.engines.pglite import needs_pglite
from workload.limits import Limits, no_gap
from workload.sql import Dialect, create_table_text, render_query

pytestmark = needs_pglite


def refusals(limits: Limits, scenarios: int) -> list[tuple[str | None, str | None]]:
    """For each definition: the gap that is declared, and what pg_ivm says."""
    profile = fitted(SMOKE, limits)
    gaps: list[tuple[str | None, str | None]] = []
    for index in range(scenarios):
        scenario = scenario_at(13, profile, index)
        with opened(PgIvm) as adapter:
            for table in scenario.tables:
                adapter.create_table(table, create_table_text(table, Dialect.POSTGRES))
            for definition in scenario.dynamic_tables:
                try:
                    adapter.create_dynamic_table(definition, render_query(definition.query, Dialect.POSTGRES))
                except Unsupported as error:
                    gaps.append((gap(definition.query), str(error)))
                else:
                    gaps.append((gap(definition.query), None))
    return gaps


def test_nothing_within_the_limits_is_refused() -> None:
    gaps = refusals(LIMITS, 60)
    assert len(gaps) > 50
    assert [reason for _, reason in gaps if reason is not None] == []


def test_what_is_declared_a_gap_is_refused_but_for_a_few() -> None:
    gaps = refusals(replace(LIMITS, gap=no_gap), 40)
    assert [reason for declared, reason in gaps if declared is None and reason is not None] == []
    declared = [reason for why, reason in gaps if why is not None]
    assert len(declared) > 10
    assert sum(reason is None for reason in declared) < len(declared) / 4


def test_amending_twice_is_amending_once() -> None:
    for index in range(60):
        for definition in scenario_at(13, SMOKE, index).dynamic_tables:
            once = amended(definition.query)
            assert amended(once) == once
