"""What one tier cannot tell alone, asked on another one: whose fault it is that plan and oracle differ.

On `rules` the full recomputation is the engine's own plan, run by the oracle's own DuckDB. Where it agrees
with the table and not with the oracle, the engine may have misread the query (its binder or renderer), or the
texts for the two dialects may mean different things. Spark, asked the query's own text, knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from campaign.errors import CampaignError
from campaign.fingerprint import fingerprint
from campaign.grouping import Cause, Likeness
from campaign.lanes import LaneSpec, Lifting
from campaign.triage import Reduced
from dynamic_tables.errors import SessionError
from workload.results import SPARK_VOTE, Finding, Outcome, OutcomeClass
from workload.scenario import Scenario

Judge = Callable[[Scenario], Outcome]
"""Runs a scenario where the votes are independent. Raises CampaignError or SessionError where none can."""

MISREAD = "the engine misreads the query"
OPEN = "not settled"


def settled(outcome: Outcome, scenario: Scenario, judge: Judge) -> Outcome:
    """A divergence as it is on the other tier: the product's failure where it is one there too.

    Else it stays a divergence, and its votes say why.
    """
    try:
        elsewhere = judge(scenario)
    except (CampaignError, SessionError) as error:
        return _told(outcome, f"could not be asked: {error}", OPEN)
    match elsewhere.outcome:
        case OutcomeClass.PRODUCT_FAILURE:
            product = replace(outcome, outcome=OutcomeClass.PRODUCT_FAILURE, reason=elsewhere.reason)
            return _told(product, "agrees with the oracle, not with the engine's plan", MISREAD)
        case OutcomeClass.DIVERGENCE:
            return _told(outcome, "agrees with the engine's plan, not with the oracle")
        case OutcomeClass.PASSED:
            return _told(outcome, "agrees with the oracle, and so does the engine's plan there")
        case other:
            return _told(outcome, f"could not tell: {other.value}: {elsewhere.reason}", OPEN)


def settle(
    reduced: Mapping[int, Reduced], unshrunk: Sequence[Likeness], judge: Judge | None
) -> tuple[dict[int, Reduced], list[Likeness], list[int]]:
    """The failures of a run with their divergences settled; `unshrunk` ones go by what explains them.

    Last, the indices of those among the unshrunk that are the product's. An interrupt (KeyboardInterrupt)
    leaves the rest as it is.
    """
    results, causes = dict(reduced), []
    if judge is None:
        return results, list(unshrunk), []
    try:
        for index, found in reduced.items():
            if found.outcome.outcome is OutcomeClass.DIVERGENCE:
                results[index] = replace(found, outcome=settled(found.outcome, found.scenario, judge))
                if results[index].outcome.outcome is not OutcomeClass.DIVERGENCE:
                    causes.append(Cause.of(fingerprint(found.scenario, found.outcome)))
    except KeyboardInterrupt:
        pass
    misread = [own.index for own in unshrunk if own.explained_by(causes) is not None]
    return results, [_as_product(own) if own.index in misread else own for own in unshrunk], misread


def _as_product(likeness: Likeness) -> Likeness:
    causes = tuple(replace(cause, outcome=OutcomeClass.PRODUCT_FAILURE) for cause in likeness.causes)
    return replace(likeness, causes=causes)


def judge_of(spec: LaneSpec, deadline: float = float("inf")) -> Judge | None:
    """Where a lane's divergences are settled; None: they are settled where they are found.

    `deadline`: seconds since the epoch after which nothing is asked any more.
    """
    tier = spec.kind.settled_on
    if tier is None:
        return None

    def judge(scenario: Scenario) -> Outcome:
        if time.time() >= deadline:
            raise CampaignError("the time was up")
        return replace(spec, tier=tier, lifting=Lifting.NONE, worlds=1).build().judge(scenario)

    return judge


def _told(outcome: Outcome, answer: str, verdict: str | None = None) -> Outcome:
    return replace(outcome, findings=tuple(_voted(finding, answer, verdict) for finding in outcome.findings))


def _voted(finding: Finding, answer: str, verdict: str | None) -> Finding:
    votes = dict(finding.votes)
    before = votes.pop("verdict", "")
    return replace(finding, votes={**votes, SPARK_VOTE: answer, "verdict": verdict or before})
