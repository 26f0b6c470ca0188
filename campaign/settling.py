"""What one tier cannot tell alone, asked on another one: whose fault it is that plan and oracle differ.

On `rules` the full recomputation is the engine's own plan, run by the oracle's own DuckDB. Where it agrees
with the table and not with the oracle, the engine may have misread the query (its binder or renderer), or the
texts for the two dialects may mean different things. Spark, asked the query's own text, knows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign.fingerprint import fingerprint
from campaign.grouping import Cause, Likeness
from campaign.judge import INCREMENTAL_BUG
from campaign.lanes import LaneSpec
from campaign.triage import Reduced
from workload.codec import scenario_to_json
from workload.results import SPARK_VOTE, Check, Finding, Outcome, OutcomeClass
from workload.scenario import Scenario

MISREAD = "the engine misreads the query"
DUCKDB_ONLY = "the engine is right on Spark: its text for DuckDB, or the oracle's, is wrong"
DIVERGES = "divergence of the engines"
OPEN = "not settled"

PROGRAM = "import sys; from campaign.cli import main; main(sys.argv[1:])"
ENOUGH_S = 120.0
"""Seconds for one answer, where nobody gives another limit: start of a JVM included."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the other tier made of a scenario: a vote in words, the verdict that follows, and its reason."""

    vote: str
    verdict: str
    reason: str = ""

    @property
    def product(self) -> bool:
        """Whether the failure is the product's."""
        return self.verdict == MISREAD


Ask = Callable[[Scenario, Outcome], Answer]
"""Runs a scenario where the votes are independent; whatever happens there is an answer."""


def answer_of(outcome: Outcome, elsewhere: Mapping[str, Any]) -> Answer:
    """What `dvs replay --json` on the other tier says about a divergence.

    The engine misreads the query where a table that differed here differs there too, and Spark on the query's
    own text agrees with the oracle. Anything else that failed there says nothing about this failure.
    """
    tables = {finding.table for finding in outcome.findings}
    wrong = [
        finding
        for finding in elsewhere["findings"]
        if finding["check"] == Check.EQUALITY.value
        and finding["table"] in tables
        and finding["votes"].get("verdict") == INCREMENTAL_BUG
    ]
    match elsewhere["outcome"], bool(wrong):
        case OutcomeClass.PRODUCT_FAILURE.value, True:
            return Answer("agrees with the oracle, not with the engine's plan", MISREAD, elsewhere["reason"])
        case OutcomeClass.DIVERGENCE.value, _:
            return Answer("agrees with the engine's plan, not with the oracle", DIVERGES)
        case OutcomeClass.PASSED.value, _:
            return Answer("agrees with the oracle, and so does the engine's plan there", DUCKDB_ONLY)
        case other, _:
            return Answer(f"could not tell: {other}: {elsewhere['reason']}", OPEN)


def settled(outcome: Outcome, answer: Answer) -> Outcome:
    """A divergence as the other tier has it: the product's failure, or a divergence whose votes say why."""
    findings = tuple(_voted(finding, answer) for finding in outcome.findings)
    if not answer.product:
        return replace(outcome, findings=findings)
    return replace(outcome, findings=findings, outcome=OutcomeClass.PRODUCT_FAILURE, reason=answer.reason)


def settle(
    reduced: Mapping[int, Reduced], unshrunk: Sequence[Likeness], ask: Ask | None
) -> tuple[dict[int, Reduced], list[Likeness], list[int]]:
    """The failures of a run with their divergences settled, one question for each cause.

    `unshrunk` ones go by the cause that explains them. Last, the indices of those among them that are the
    product's. An interrupt (KeyboardInterrupt) leaves the rest as it is; so does nobody to ask.
    """
    results, answers = dict(reduced), dict[Cause, Answer]()
    if ask is None:
        return results, list(unshrunk), []
    diverged = [item for item in reduced.items() if item[1].outcome.outcome is OutcomeClass.DIVERGENCE]
    try:
        for index, found in sorted(diverged, key=lambda item: not item[1].minimal):
            cause = Cause.of(fingerprint(found.scenario, found.outcome))
            if not found.minimal:
                likeness = Likeness.of(index, found.scenario, found.outcome)
                cause = likeness.explained_by(list(answers)) or cause
            if cause not in answers:
                answers[cause] = ask(found.scenario, found.outcome)
            results[index] = replace(found, outcome=settled(found.outcome, answers[cause]))
    except KeyboardInterrupt:
        pass
    explained = {own.index: own.explained_by(list(answers)) for own in unshrunk}
    misread = [index for index, cause in explained.items() if cause is not None and answers[cause].product]
    return results, [_as_product(own) if own.index in misread else own for own in unshrunk], misread


def asked_elsewhere(spec: LaneSpec, seconds: float = ENOUGH_S) -> Ask | None:
    """Who settles a lane's divergences, within so many seconds in all; None: it settles them itself.

    Each question is a process of its own. A JVM in this one would keep its settings for whatever comes next,
    and could not be cut.
    """
    tier = spec.kind.settled_on
    if tier is None:
        return None
    deadline = time.monotonic() + seconds

    def ask(scenario: Scenario, outcome: Outcome) -> Answer:
        left = deadline - time.monotonic()
        try:
            return answer_of(outcome, replayed(scenario, replace(spec, tier=tier), max(0.0, left)))
        except subprocess.TimeoutExpired:
            return Answer("could not be asked: the time was up", OPEN)
        except (OSError, ValueError, KeyError) as error:
            return Answer(f"could not be asked: {error}", OPEN)

    return ask


def replayed(scenario: Scenario, spec: LaneSpec, seconds: float) -> dict[str, Any]:
    """What `dvs replay --json` says of a scenario.

    Raises subprocess.TimeoutExpired, OSError, and ValueError with its last words where it says no JSON.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.json")
        path.write_text(scenario_to_json(scenario), encoding="utf-8")
        command = [sys.executable, "-c", PROGRAM, "replay", str(path), *spec.options, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if not done.stdout.startswith("{"):
        raise ValueError((done.stderr.strip().splitlines() or ["no answer"])[-1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _voted(finding: Finding, answer: Answer) -> Finding:
    votes = {name: vote for name, vote in finding.votes.items() if name != "verdict"}
    return replace(finding, votes={**votes, SPARK_VOTE: answer.vote, "verdict": answer.verdict})


def _as_product(likeness: Likeness) -> Likeness:
    causes = tuple(replace(cause, outcome=OutcomeClass.PRODUCT_FAILURE) for cause in likeness.causes)
    return replace(likeness, causes=causes)
