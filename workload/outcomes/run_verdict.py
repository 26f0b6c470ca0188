"""The one rule for whether a run is a pass: command line, JUnit, pages, past runs and the gate read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from workload.outcomes.decision import Decision
from workload.outcomes.results import OutcomeClass, RunSummary


class RunVerdict(Enum):
    """Why a run is a pass or is not one; a run has the first verdict that applies."""

    PRODUCT_FAILURE = "product failures"
    DIVERGENCE = "divergence between engines"
    FLAKY = "flaky failures"
    GENERATOR_INVALID = "invalid scenarios"
    INFRASTRUCTURE_FAILURE = "infrastructure failures"
    NOTHING_PASSED = "nothing passed"
    TOO_FEW_SCENARIOS = "too few scenarios"
    TOO_FEW_JUDGED = "too few scenarios judged"
    INTERRUPTED = "interrupted"
    AMPLIFIED = "too many changes without effect"
    FLOORS_UNMET = "coverage floors not met"
    PASSED = "passed"

    @property
    def decision(self) -> Decision:
        """The decision: a product failure fails a run; any other verdict but PASSED leaves it undecided."""
        match self:
            case RunVerdict.PASSED:
                return Decision.PASSED
            case RunVerdict.PRODUCT_FAILURE:
                return Decision.FAILED
            case _:
                return Decision.UNDECIDED


LEAST_JUDGED = 80
"""The percentage of the scenarios that must be judged: with fewer, a run says too little to be a pass."""

MOST_AMPLIFIED = 20
"""The percentage of changed rows that may be deleted and inserted again as they were.

An engine that does more recomputes, whatever it calls its refreshes: one that deletes and inserts all rows of
these small tables has 28 % to 58 %. The built-in engine has 1 % to 11 %
(`dvs fuzz` in memory, profiles quick and smoke): a row that comes again after it was deleted has a new id.
"""

LEAST_CHANGES = 1000
"""With fewer changed rows in a run, their percentage says nothing.

One refresh alone can rightly delete and insert 150 rows of a join as they were: rows of a table that were
deleted and came again have other ids.
"""

SPOILERS: Mapping[OutcomeClass, RunVerdict] = {
    OutcomeClass.PRODUCT_FAILURE: RunVerdict.PRODUCT_FAILURE,
    OutcomeClass.DIVERGENCE: RunVerdict.DIVERGENCE,
    OutcomeClass.FLAKY: RunVerdict.FLAKY,
    OutcomeClass.GENERATOR_INVALID: RunVerdict.GENERATOR_INVALID,
    OutcomeClass.INFRASTRUCTURE_FAILURE: RunVerdict.INFRASTRUCTURE_FAILURE,
}
"""The outcomes of which a single one keeps a run from being a pass, gravest first.

Declared gaps (UNSUPPORTED) and known failures (IGNORED) are no passes, but do not spoil a run; of declared
gaps there may not be too many, see LEAST_JUDGED.
"""


def judged_percent(outcomes: Mapping[str, int]) -> float:
    """Returns the percentage of scenarios, given by outcome, that met no declared gap; 100 of none."""
    total = sum(outcomes.values())
    return 100 - 100 * outcomes.get(OutcomeClass.UNSUPPORTED.value, 0) / total if total else 100.0


def amplified_percent(summary: RunSummary) -> float:
    """Returns the percentage of changed rows that were deleted and inserted again as they were; 0 of none."""
    return 200 * summary.amplification / summary.changes if summary.changes else 0.0


def is_amplified(summary: RunSummary) -> bool:
    """Tells whether too many of the changed rows were deleted and inserted again as they were."""
    return summary.changes >= LEAST_CHANGES and amplified_percent(summary) > MOST_AMPLIFIED


def verdicts(summary: RunSummary) -> tuple[RunVerdict, ...]:
    """Returns every verdict that applies to a run, gravest first; PASSED alone where no other one does."""
    spoiled = {SPOILERS[outcome] for outcome in SPOILERS if summary.outcomes.get(outcome.value)}
    conditions = {
        RunVerdict.NOTHING_PASSED: not summary.outcomes.get(OutcomeClass.PASSED.value),
        RunVerdict.TOO_FEW_SCENARIOS: summary.scenarios < summary.wanted,
        RunVerdict.TOO_FEW_JUDGED: judged_percent(summary.outcomes) < LEAST_JUDGED,
        RunVerdict.INTERRUPTED: summary.interrupted,
        RunVerdict.AMPLIFIED: is_amplified(summary),
        RunVerdict.FLOORS_UNMET: not summary.coverage.floors_met,
    }
    applying = tuple(v for v in RunVerdict if v in spoiled or conditions.get(v, False))
    return applying or (RunVerdict.PASSED,)


def run_verdict(summary: RunSummary) -> RunVerdict:
    """Returns the gravest verdict of a run."""
    return verdicts(summary)[0]


def spoiled(outcomes: Mapping[str, int]) -> int:
    """Returns the number of scenarios, given by outcome, that keep a run from being a pass."""
    return sum(outcomes.get(outcome.value, 0) for outcome in SPOILERS)


def worst(decisions: Iterable[Decision]) -> Decision:
    """Returns the decision over several runs or stages: a failure outweighs a doubt, and a doubt a pass.

    Without any run nothing is decided.
    """
    order = (Decision.FAILED, Decision.UNDECIDED, Decision.PASSED)
    return min(decisions, key=order.index, default=Decision.UNDECIDED)
