"""Shrinks a scenario that failed to the smallest one that fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from campaign.failures.grouping import operators_behind
from campaign.judging.lane import Lane
from generators.fitting import is_within
from given.texts import smaller_texts
from oracle.delayed_view import DelayedView
from oracle.errors import OracleError
from shrink import Shrunk, shrink
from shrink.registry import all_reductions
from shrink.search import key_of
from workload.operators import Operator
from workload.outcomes.results import Check, Outcome, OutcomeClass
from workload.scenario import Scenario
from workload.types import Row

CANONICAL_SHARE = 0.5
"""The share of the attempts that the second search has at least, whatever the first one used."""


def source_rows(scenario: Scenario, at: int) -> Mapping[str, tuple[Row, ...]] | None:
    """Returns the rows of every base table at a logical time, by the oracle; None if a statement fails."""
    try:
        with DelayedView(scenario) as truth:
            return {table.name: truth.source_rows(table.name, at) for table in scenario.tables}
    except OracleError:
        return None


REDUCTIONS = all_reductions(source_rows, smaller_texts)
"""Every way to make a scenario smaller."""

_INNER = (Operator.INNER_JOIN, Operator.CROSS_JOIN)

PARTS: Mapping[str, frozenset[str]] = {
    name: frozenset(parts)
    for name, parts in {
        Operator.INNER_JOIN: _INNER,
        Operator.CROSS_JOIN: _INNER,
        Operator.LEFT_JOIN: _INNER,
        Operator.RIGHT_JOIN: (Operator.LEFT_JOIN, *_INNER),
        Operator.FULL_JOIN: (Operator.LEFT_JOIN, Operator.RIGHT_JOIN, *_INNER),
        Operator.SEMI_JOIN: _INNER,
        Operator.ANTI_JOIN: (Operator.SEMI_JOIN, *_INNER),
        Operator.GROUPED_AGGREGATION: (Operator.DISTINCT,),
        Operator.GROUPING_SETS: (Operator.GROUPED_AGGREGATION, Operator.DISTINCT),
    }.items()
}
"""The operators that may stand for another one in a smaller scenario, for it does their work, too."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest scenario found, and its outcome. `minimal`: nothing is left to take away."""

    scenario: Scenario
    outcome: Outcome
    minimal: bool


@dataclass(slots=True)
class Progress:
    """The state of a search for a smaller scenario, from which a later search can go on.

    `scenario`: the smallest one so far. `tried_for_check`, `tried_for_class`: the keys of the candidates that
    were tried by the first search, which keeps the failed check, and by the second, which keeps the class.
    """

    scenario: Scenario
    tried_for_check: set[bytes] = field(default_factory=set)
    tried_for_class: set[bytes] = field(default_factory=set)


def same_class(first: Outcome, second: Outcome) -> bool:
    """Tells whether two outcomes have one class and one first failed check; of errors, also one reason."""
    return (first.outcome, first.killer, _error(first)) == (second.outcome, second.killer, _error(second))


def _error(outcome: Outcome) -> tuple[str, str]:
    """Returns why an engine refused a definition, or where it broke and why, without names and numbers.

    A smaller definition may be refused for a reason of its own, such as an array without elements.
    """
    where, reason = "", ""
    if outcome.killer is Check.REFRESH_MODE:
        reason = next(finding.message for finding in outcome.findings if finding.check is Check.REFRESH_MODE)
    elif outcome.killer is None and outcome.breakage is not None:
        where, reason = outcome.breakage.method, outcome.reason
    return where, re.sub(r"\w*\d\w*", "_", reason)


def shown(scenario: Scenario, outcome: Outcome) -> set[str]:
    """Returns the operators and aggregate functions behind the tables that failed.

    A projection does not count: any output of a smaller query may be computed.
    """
    tables = {finding.table for finding in outcome.findings}
    return set(operators_behind(scenario, tables)) - {Operator.PROJECTION}


def allowed(names: set[str]) -> set[str]:
    """Returns what a smaller scenario may show: nothing but these names and what may stand for them.

    An engine with several bugs fails in many ways. Without GROUP BY, a wrong AVG becomes a COUNT(*) over no
    rows, which may be wrong for another reason: ten failures of three bugs were shrunk to that one.
    """
    parts = {part for name in names for part in PARTS.get(name, ())}
    return names | parts | {name.removesuffix(" DISTINCT") for name in names}


def smallest(
    lane: Lane,
    scenario: Scenario,
    outcome: Outcome,
    attempts: int,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Reduced:
    """Returns the smallest scenario found whose failure has the class of `outcome`.

    A first search keeps the failed check too. One cause may fail several checks, by the data, so a second
    search goes on from its result and accepts any product failure: the results of one cause then look more
    alike, and little is left in them that another cause could hide in. A candidate that fails by an operator
    that did not fail before is another failure (`allowed`). No candidate is run once `stop()` is true.
    `progress` is kept up to date, so that an interrupted search loses nothing.
    """
    if not outcome.shrinkable:
        return Reduced(scenario, outcome, False)

    progress, names = progress or Progress(scenario), allowed(shown(scenario, outcome))

    def search(tried: set[bytes], same_failure: Callable[[Outcome], bool], most: int) -> Shrunk:
        def fails(candidate: Scenario) -> bool:
            if stop() or not is_within(candidate, lane.limits):
                return False
            found = lane.judge(candidate)
            failed = same_failure(found) and shown(candidate, found) <= names
            tried.add(key_of(candidate))
            if failed:
                progress.scenario = candidate
            return failed

        return shrink(progress.scenario, fails, attempts=most, reductions=REDUCTIONS, tried=frozenset(tried))

    small = search(progress.tried_for_check, lambda candidate: same_class(outcome, candidate), attempts)
    if outcome.outcome is OutcomeClass.PRODUCT_FAILURE and small.complete and not any(_error(outcome)):
        most = max(attempts - small.attempts, int(attempts * CANONICAL_SHARE))
        small = search(progress.tried_for_class, lambda candidate: candidate.outcome is outcome.outcome, most)
    minimal = small.complete and not stop()
    return Reduced(small.scenario, lane.judge(small.scenario), minimal)


def replayed(lane: Lane, scenario: Scenario, outcome: Outcome) -> Outcome:
    """Runs a failed scenario once more; returns its outcome, as FLAKY with both reasons if it differs.

    A run that broke says nothing about what was found before: it is repeated once.
    """
    again = lane.judge(scenario)
    if again.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE is not outcome.outcome:
        # A server that a new worker starts on a busy machine may not be ready in time.
        again = lane.judge(scenario)
    if again.outcome is outcome.outcome:
        return outcome
    then = f"{again.outcome.value}, {again.reason}" if again.reason else again.outcome.value
    reason = f"failed once, then {then}; first: {outcome.reason}"
    return replace(outcome, outcome=OutcomeClass.FLAKY, reason=reason)
