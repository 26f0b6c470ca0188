"""Attributes a divergence of engine and oracle by replaying the scenario on Spark.

On the tier `rules` the third vote is the engine's own plan, run by DuckDB. Where that vote agrees with the
table and not with the oracle, either the engine misread the query (in its binder or renderer), or the query
means different things in the two dialects. On Spark the third vote is the text of the query, which decides.
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

from campaign.failures.fingerprint import fingerprint
from campaign.failures.grouping import Cause, Signature
from campaign.failures.triage import Reduced
from campaign.lanes.spec import LaneSpec
from workload.codec import scenario_to_json
from workload.outcomes.results import INCREMENTAL_BUG, SPARK_VOTE, Check, Outcome, OutcomeClass
from workload.query import Verbatim
from workload.scenario import Scenario

MISREAD = "the engine misreads the query"
DUCKDB_ONLY = "the engine is right on Spark: its text for DuckDB, or the oracle's, is wrong"
DIVERGES = "divergence of the engines"
"""The verdicts where Spark voted."""

OPEN = "not settled"
"""The verdict where Spark's replay gave no vote: a failure, as nothing else speaks for the engine."""

NOT_ASKED = "not settled, for Spark was not asked"
"""The verdict where the time was up, or the run was ended: still a divergence, as a clock decides nothing."""

PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from campaign.cli import main; main()"
"""A program that runs `dvs`; its first argument is the folder that holds this program's packages."""

HOME = str(Path(__file__).resolve().parents[2])

REPLAY_LIMIT_S = 600.0
"""Seconds for one replay unless the caller sets another limit; the start of a JVM is included."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whose fault a divergence is: the vote of the replay in words, the verdict, and its reason."""

    vote: str
    verdict: str
    reason: str = ""

    @property
    def product(self) -> bool:
        """Whether the divergence is a failure of the product: unless Spark disagrees or was not asked."""
        return self.verdict in (MISREAD, OPEN)


Replay = Callable[[Scenario, Outcome], Attribution]
"""Replays a diverged scenario on another tier. Returns an attribution in every case, also after an error."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """The failures of a run after attribution. `misread`: the unshrunk ones that are the product's."""

    reduced: Mapping[int, Reduced]
    unshrunk: Sequence[Signature]
    misread: Sequence[int] = ()


def attribution_of(outcome: Outcome, replay: Mapping[str, Any]) -> Attribution:
    """Returns the attribution of a divergence, from the JSON object of `dvs replay --json` on Spark.

    The engine misreads the query where a table that differed differs in the replay too, and Spark on the
    query's own text agrees with the oracle. Other failures of the replay say nothing about the divergence.
    """
    tables = {finding.table for finding in outcome.findings}
    wrong = [
        finding
        for finding in replay["findings"]
        if finding["check"] == Check.EQUALITY.value
        and finding["table"] in tables
        and finding["votes"].get("verdict") == INCREMENTAL_BUG
    ]
    match replay["outcome"], bool(wrong):
        case OutcomeClass.PRODUCT_FAILURE.value, True:
            vote = "agrees with the oracle, not with the engine's plan"
            return Attribution(vote, MISREAD, replay["reason"])
        case OutcomeClass.DIVERGENCE.value, _:
            return Attribution("agrees with the engine's plan, not with the oracle", DIVERGES)
        case OutcomeClass.PASSED.value, _:
            return Attribution("agrees with the oracle, and so does the engine's plan there", DUCKDB_ONLY)
        case outcome_of_replay, _:
            return Attribution(f"could not tell: {outcome_of_replay}: {replay['reason']}", OPEN)


def with_attribution(outcome: Outcome, attribution: Attribution) -> Outcome:
    """Returns the divergence with the vote of the replay: a product failure unless Spark says otherwise.

    It stays a divergence where Spark was not asked, too.
    """
    votes = {SPARK_VOTE: attribution.vote, "verdict": attribution.verdict}
    findings = tuple(
        # Without its old verdict first, so that the new one comes last, after the vote of the replay.
        replace(finding, votes={k: v for k, v in finding.votes.items() if k != "verdict"} | votes)
        for finding in outcome.findings
    )
    if not attribution.product:
        return replace(outcome, findings=findings)
    reason = attribution.reason or f"{outcome.reason}; Spark {attribution.vote}"
    return replace(outcome, findings=findings, outcome=OutcomeClass.PRODUCT_FAILURE, reason=reason)


def attributed_outcome(scenario: Scenario, outcome: Outcome, spec: LaneSpec) -> Outcome:
    """Returns the outcome, after a replay on Spark if it is a divergence that its tier cannot attribute."""
    replay = replay_elsewhere(spec) if outcome.outcome is OutcomeClass.DIVERGENCE else None
    return outcome if replay is None else with_attribution(outcome, replay(scenario, outcome))


def attribute(
    reduced: Mapping[int, Reduced], unshrunk: Sequence[Signature], replay: Replay | None
) -> Attributed:
    """Returns the failures of a run with their divergences attributed, by one replay for each cause.

    An unshrunk failure gets the attribution of the cause that explains it. Without one, and after an
    interrupt (KeyboardInterrupt), a divergence is not settled. `replay` None: the votes of the run decide.
    """
    if replay is None:
        return Attributed(reduced, unshrunk)
    results, by_cause = dict(reduced), dict[Cause, Attribution]()
    diverged = [item for item in reduced.items() if item[1].outcome.outcome is OutcomeClass.DIVERGENCE]
    for index, failure in sorted(diverged, key=lambda item: not item[1].minimal):
        cause = Cause.of(fingerprint(failure.scenario, failure.outcome))
        if not failure.minimal:
            signature = Signature.of(index, failure.scenario, failure.outcome)
            cause = signature.explained_by(list(by_cause)) or cause
        if cause not in by_cause:
            try:
                by_cause[cause] = replay(failure.scenario, failure.outcome)
            except KeyboardInterrupt:
                replay = unasked
                by_cause[cause] = unasked(failure.scenario, failure.outcome)
        results[index] = replace(failure, outcome=with_attribution(failure.outcome, by_cause[cause]))
    misread = [each.index for each in unshrunk if _is_the_products(each, by_cause)]
    return Attributed(
        results,
        [_as_product(signature) if signature.index in misread else signature for signature in unshrunk],
        misread,
    )


def unasked(scenario: Scenario, outcome: Outcome) -> Attribution:
    """Returns that Spark was not asked: the `Replay` after the user has ended the run."""
    return Attribution("could not be asked: the run was ended", NOT_ASKED)


def _is_the_products(signature: Signature, by_cause: Mapping[Cause, Attribution]) -> bool:
    """Tells whether an unshrunk divergence is a failure of the product; False for other failures."""
    if all(cause.outcome is not OutcomeClass.DIVERGENCE for cause in signature.causes):
        return False
    explained = signature.explained_by(list(by_cause))
    return explained is not None and by_cause[explained].product


def replay_elsewhere(spec: LaneSpec, seconds: float = REPLAY_LIMIT_S) -> Replay | None:
    """Returns the replay for the divergences of a lane, for `seconds` in all; None where its votes decide.

    Each replay is a process of its own: a JVM in this process would keep its settings for whatever comes
    next, and could not be cut.
    """
    tier = spec.engine_tier.attributed_on
    if tier is None:
        return None
    deadline = time.monotonic() + seconds

    def replay(scenario: Scenario, outcome: Outcome) -> Attribution:
        remaining = max(0.0, deadline - time.monotonic())
        try:
            found = attribution_of(outcome, replayed(scenario, replace(spec, tier=tier), remaining))
            if found.verdict == DUCKDB_ONLY and any(
                isinstance(d.query, Verbatim) for d in scenario.definitions
            ):
                # There Spark's own answer to the text is the truth, not the oracle's.
                return replace(found, vote="agrees with the engine; DuckDB's answer is to a translation")
            return found
        except subprocess.TimeoutExpired:
            return Attribution("could not be asked: the time was up", NOT_ASKED)
        except (OSError, ValueError, KeyError) as error:
            return Attribution(f"could not be asked: {error}", OPEN)

    return replay


def replayed(scenario: Scenario, spec: LaneSpec, seconds: float) -> dict[str, Any]:
    """Replays a scenario in a process of its own and returns the JSON object of `dvs replay --json`.

    Raises subprocess.TimeoutExpired, OSError, and ValueError with the last line of stderr where the process
    prints no JSON.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.json")
        path.write_text(scenario_to_json(scenario), encoding="utf-8")
        # -P keeps the current folder off the import path: the user may have a folder named `reports` there.
        command = [sys.executable, "-P", "-c", PROGRAM, HOME, "replay", str(path), *spec.options, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if not done.stdout.startswith("{"):
        raise ValueError((done.stderr.strip().splitlines() or ["no answer"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _as_product(signature: Signature) -> Signature:
    """Returns the signature with its causes as product failures."""
    causes = tuple(replace(cause, outcome=OutcomeClass.PRODUCT_FAILURE) for cause in signature.causes)
    return replace(signature, causes=causes)
