"""`assert_delayed_view_semantics`: one scenario on one engine, and a message that a person can act on."""

from __future__ import annotations

from hypothesis import assume, currently_in_test_context

from campaign.adapters.contract import Capabilities
from campaign.adapters.tier import AdapterTier, Open, opened
from campaign.engine import Engine
from campaign.lanes import Lane
from campaign.triage import smallest
from generators.fitting import fit
from generators.limits import Limits
from reports.describe import definition_head, query_sql, table_sql, timeline
from reports.difference import diff_block
from reports.figures import plural
from reports.findings import first_finding
from workload.query import names_read
from workload.results import Outcome, OutcomeClass
from workload.scenario import Scenario
from workload.sql import Dialect

SHRINK = 120
"""Runs that making a failure smaller may take."""


class DelayedViewViolated(AssertionError):
    """A table does not hold its defining query at its data timestamp. `scenario` is the smallest found."""

    def __init__(self, message: str, scenario: Scenario, outcome: Outcome) -> None:
        super().__init__(message)
        self.scenario, self.outcome = scenario, outcome


def assert_delayed_view_semantics(engine: Open, scenario: Scenario, *, shrink: int | None = None) -> Outcome:
    """Runs a scenario on an engine and judges every refresh; returns the outcome, which is a pass.

    `engine`: an Adapter class, or a function that makes one: each run needs an empty database. The scenario
    is cut down to the engine's limits first. `shrink`: runs that a failure may take to get smaller, 120
    unless given; none under Hypothesis, which shrinks by itself. Raises DelayedViewViolated; TypeError for
    an engine that is neither; whatever the engine raises that its contract does not name.
    """
    __tracebackhide__ = True
    if not callable(engine):
        raise TypeError(f"engine is {engine!r}; give the Adapter class: each run needs an empty database")
    lane = Lane(tier=AdapterTier(engine))
    within = fit(scenario, _limits(engine))
    in_hypothesis = currently_in_test_context()
    if not within.dynamic_tables:
        if in_hypothesis:
            assume(False)
        raise ValueError(f"{scenario.name}: nothing of it is within the limits of {_name(engine)}")
    outcome = lane.judge(within)
    attempts = (0 if in_hypothesis else SHRINK) if shrink is None else shrink
    match outcome.outcome:
        case OutcomeClass.PASSED:
            return outcome
        case OutcomeClass.INFRASTRUCTURE_FAILURE:
            # Once more, so that the engine's own exception and its traceback are seen.
            lane.tier.run(within, Engine(), lambda step, table: False)
        case OutcomeClass.PRODUCT_FAILURE | OutcomeClass.DIVERGENCE if attempts:
            found = smallest(lane, within, outcome, attempts)
            told = message(found.scenario, found.outcome, engine, scenario.name)
            raise DelayedViewViolated(told, found.scenario, found.outcome)
        case _:
            pass
    raise DelayedViewViolated(message(within, outcome, engine, scenario.name), within, outcome)


def message(scenario: Scenario, outcome: Outcome, engine: Open, origin: str) -> str:
    """Table, data timestamp, query, what happened before, and the rows that differ."""
    finding = first_finding(outcome)
    if finding is None:
        return f"{_name(engine)}, {origin}: {outcome.outcome.value}: {outcome.reason}"
    table, at = finding.table, finding.timestamp
    known = {definition.name for definition in scenario.definitions}
    parts = [f"{table} at data timestamp {at}: {finding.check.value}: {finding.message}"]
    for definition in scenario.definitions:
        if definition.name == table or definition.name in _upstream(scenario, table, known):
            sql = query_sql(definition.query, Dialect.SPARK).replace("\n", "\n  ")
            parts.append(f"{definition_head(definition)} AS\n  {sql}")
    steps = [entry for entry in timeline(scenario) if entry.number <= finding.step]
    listed = [f"  {entry.at:>4}: {'; '.join(entry.statements) or entry.title}" for entry in steps]
    parts.append("\n".join(["what happened:", *(f"  {table_sql(t)}" for t in scenario.tables), *listed]))
    if finding.difference is not None:
        parts.append(f"expected (-) and found (+):\n{diff_block(finding.difference)}")
    if finding.votes:
        full = finding.votes["full recomputation"]
        parts.append(f"{finding.votes['verdict']}: the engine's full recomputation {full}")
    others = len(outcome.findings) - 1
    more = f", {plural(others, 'more finding')}" if others else ""
    parts.append(f"engine {_name(engine)}, scenario {origin}{more}")
    return "\n".join(parts)


def _upstream(scenario: Scenario, name: str, known: set[str]) -> set[str]:
    """The definitions that a definition reads, at any depth."""
    if name not in known:
        return set()
    direct = {source for source in names_read(scenario.definition(name).query) if source in known}
    return direct.union(*(_upstream(scenario, source, known) for source in direct))


def _limits(engine: Open) -> Limits:
    declared = getattr(engine, "capabilities", None)
    if isinstance(declared, Capabilities):
        return declared.limits
    with opened(engine) as adapter:
        return adapter.capabilities.limits


def _name(engine: Open) -> str:
    return getattr(engine, "__qualname__", repr(engine))
