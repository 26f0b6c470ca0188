"""`assert_delayed_view_semantics`, for tests of users: judges a scenario on an engine and explains a failure.

Users import it from `dvs`; the pytest plugin and `AdapterConformance` use parts of this module.
"""

from __future__ import annotations

from contextvars import ContextVar

import pytest
from hypothesis import assume, currently_in_test_context

from campaign.failures.triage import smallest
from campaign.judging.lane import Lane
from engines.adapter import Capabilities
from engines.asking import limits_of
from engines.engine import Engine, Open, opened
from generators.fitting import fit
from reports.describe import definition_head, definition_sql, table_sql, timeline
from reports.difference import diff_block
from reports.figures import plural
from reports.findings import first_finding, votes_shown
from workload.outcomes.results import Outcome, OutcomeClass
from workload.query import names_read
from workload.scenario import Scenario

NOT_JUDGED = (OutcomeClass.UNSUPPORTED, OutcomeClass.DIVERGENCE)
"""The outcomes that say nothing against an engine and are no pass; `dvs fuzz` counts them in the same way."""

REASONS_NOT_JUDGED: ContextVar[list[str] | None] = ContextVar("REASONS_NOT_JUDGED", default=None)
"""In a test with the fixture `dvs_scenarios`: why scenarios were not judged. None in any other test."""

SHRINK_ATTEMPTS = 120
"""Smaller scenarios that may run to shrink a failure."""


class DelayedViewViolated(AssertionError):
    """A dynamic table does not hold its defining query as of its data timestamp.

    `scenario`: the smallest scenario found that shows it; `outcome`: its outcome.
    """

    def __init__(self, message: str, scenario: Scenario, outcome: Outcome) -> None:
        super().__init__(message)
        self.scenario, self.outcome = scenario, outcome


def assert_delayed_view_semantics(engine: Open, scenario: Scenario, *, shrink: int | None = None) -> Outcome:
    """Runs a scenario on an engine and judges every refresh; returns the outcome, a pass if it was judged.

    `engine`: an Adapter class, or a function that returns an Adapter: each run needs an empty database. The
    scenario is first cut to the limits of the engine. `shrink`: how many smaller scenarios may run after a
    failure, by default 120, and none under Hypothesis, which shrinks itself.

    A scenario is not judged if the engine refuses it, or if the engine's SQL differs from DuckDB's on it.
    Then the test is skipped with the reason. A test with the fixture `dvs_scenarios` goes on with the next
    scenario, and is skipped in the end if none was judged. Under Hypothesis the next example is taken.

    Raises DelayedViewViolated: a check failed. TypeError: `engine` is neither class nor function.
    ValueError: nothing of the scenario is within the limits. Besides, any error of the engine that the
    contract of Adapter does not allow.
    """
    __tracebackhide__ = True
    if not callable(engine):
        raise TypeError(f"engine is {engine!r}; give the Adapter class: each run needs an empty database")
    capabilities = _capabilities(engine)
    limits = limits_of(engine, capabilities)
    lane = Lane(engine=Engine.of(engine), limits=limits)
    within = fit(scenario, limits)
    in_hypothesis = currently_in_test_context()
    if not within.dynamic_tables:
        if in_hypothesis:
            assume(False)
        raise ValueError(
            f"{scenario.name}: nothing of it is within the limits of {_name(engine)}; take another one"
        )
    outcome = lane.judge(within)
    attempts = (0 if in_hypothesis else SHRINK_ATTEMPTS) if shrink is None else shrink
    match outcome.outcome:
        case OutcomeClass.PASSED:
            return outcome
        case not_judged if not_judged in NOT_JUDGED:
            return _not_judged(outcome, in_hypothesis)
        case OutcomeClass.INFRASTRUCTURE_FAILURE:
            within = smallest(lane, within, outcome, attempts).scenario if attempts else within
            # Runs again, so that the test fails with the exception and the traceback of the engine.
            lane.engine.run(within)
        case OutcomeClass.PRODUCT_FAILURE if attempts:
            reduced = smallest(lane, within, outcome, attempts)
            within, outcome = reduced.scenario, reduced.outcome
        case _:
            pass
    text = message(within, outcome, engine, scenario.name, capabilities)
    raise DelayedViewViolated(text, within, outcome)


def _not_judged(outcome: Outcome, in_hypothesis: bool) -> Outcome:
    """Skips the test, or the example of Hypothesis; with the fixture `dvs_scenarios` it notes the reason."""
    reason = f"{outcome.outcome.value}: {outcome.reason}"
    reasons = REASONS_NOT_JUDGED.get()
    if in_hypothesis:
        assume(False)
    if reasons is None:
        pytest.skip(reason)
    reasons.append(reason)
    return outcome


def message(scenario: Scenario, outcome: Outcome, engine: Open, origin: str, of: Capabilities) -> str:
    """Returns the text of a failure: table, data timestamp, query, the steps before, the rows that differ.

    `origin`: the name of the scenario before it was shrunk. `of`: the capabilities of the engine.
    """
    finding = first_finding(outcome)
    if finding is None:
        return f"{_name(engine)}, {origin}: {outcome.outcome.value}: {outcome.reason}"
    table, at = finding.table, finding.timestamp
    names = {definition.name for definition in scenario.definitions}
    parts = [f"{table} at data timestamp {at}: {finding.check.value}: {finding.message}"]
    for definition in scenario.definitions:
        if definition.name == table or definition.name in _upstream(scenario, table, names):
            sql = definition_sql(scenario, definition, of.dialect).replace("\n", "\n  ")
            parts.append(f"{definition_head(definition, of_adapter=True)} AS\n  {sql}")
    parts.append(f"what happened:\n{story(scenario, finding.step, of)}")
    if finding.difference is not None:
        parts.append(f"expected (-) and found (+):\n{diff_block(finding.difference)}")
    if finding.votes:
        votes = votes_shown(scenario, outcome, finding)
        full = votes["full recomputation"]
        parts.append(f"{votes['verdict']}: the engine's full recomputation {full}")
    others = len(outcome.findings) - 1
    more = f", {plural(others, 'more finding')}" if others else ""
    parts.append(f"engine {_name(engine)}, scenario {origin}{more}")
    return "\n".join(parts)


def story(scenario: Scenario, last: int, of: Capabilities) -> str:
    """Returns the statements of a scenario up to a step, each with its time, as an engine is given them."""
    steps = [entry for entry in timeline(scenario, of.dialect, of_adapter=True) if entry.number <= last]
    lines = [f"  {entry.at:>4}: {'; '.join(entry.statements) or entry.title}" for entry in steps]
    tables = (table_sql(table, of.dialect, keyed=of.limits.keys) for table in scenario.tables)
    return "\n".join([*(f"  {table}" for table in tables), *lines])


def _upstream(scenario: Scenario, name: str, names: set[str]) -> set[str]:
    """Returns the names of the definitions that a definition reads, directly or through others."""
    if name not in names:
        return set()
    direct = {source for source in names_read(scenario.definition(name).query) if source in names}
    return direct.union(*(_upstream(scenario, source, names) for source in direct))


def _capabilities(engine: Open) -> Capabilities:
    """Returns what an engine claims: by its class, or by an adapter that a function opens for this."""
    declared = getattr(engine, "capabilities", None)
    if isinstance(declared, Capabilities):
        return declared
    with opened(engine) as adapter:
        return adapter.capabilities


def _name(engine: Open) -> str:
    return getattr(engine, "__qualname__", repr(engine))
