"""Groups what an engine refused by its message, and suggests the limit that excludes such definitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from campaign.failures.fingerprint import masked, names_in
from generators.coverage import features
from workload.outcomes.results import Outcome, OutcomeClass, Refusal
from workload.query import Query
from workload.scenario import Scenario

Refused = Mapping[int, tuple[Scenario, Outcome]]
"""By index, the scenarios in which something was refused."""


def refusals(refused: Refused, reached: Mapping[str, int]) -> tuple[Refusal, ...]:
    """Returns the messages of an engine that refused definitions, those of most scenarios first.

    `reached`: how often scenarios that passed had each operator, type and function, by `kind: name`.
    """
    by_message: dict[str, list[tuple[int, Query]]] = defaultdict(list)
    first: dict[str, str] = {}
    for index, (scenario, outcome) in sorted(refused.items()):
        if outcome.outcome is not OutcomeClass.UNSUPPORTED:
            continue
        name, _, message = outcome.reason.partition(": ")
        key = masked(message, names_in(scenario))
        first.setdefault(key, message)
        by_message[key] += [(index, each.query) for each in scenario.definitions if each.name == name]
    found = [
        Refusal(
            message=first[key],
            indices=tuple(index for index, _ in of_key),
            limit=limit_for([query for _, query in of_key], reached),
        )
        for key, of_key in by_message.items()
    ]
    return tuple(sorted(found, key=lambda refusal: -len(refusal.indices)))


def limit_for(queries: Sequence[Query], reached: Mapping[str, int]) -> str:
    """Returns in words the limit that excludes all these queries and nothing that passed; "" for no query.

    Everything that the queries have in common may be the cause; what never passed is the likelier one.
    """
    if not queries:
        return ""
    common = set(features(queries[0])).intersection(*map(features, queries[1:]))
    never = sorted(feature for feature in common - EVERYWHERE if not reached.get(feature, 0))
    if len(never) > MOST_SUGGESTED or not never:
        return "a `gap` for these queries"
    return ", or ".join(WRITTEN[f.partition(": ")[0]].format(f.partition(": ")[2]) for f in never)


EVERYWHERE = frozenset({"operator: scan", "operator: projection", "operator: cte", "type: BOOLEAN"})
"""What no limit excludes by itself: a condition is no value of type BOOLEAN."""

MOST_SUGGESTED = 3
"""The most candidates for a limit that are named; with more it would be a guess."""

WRITTEN = {
    "operator": "operators without {0!r}",
    "type": "types without {0}",
    "function": "`lacks` with the text of {0}",
}
"""How a limit is written, by what it excludes."""
