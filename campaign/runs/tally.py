"""The counters of a running campaign, and the run summary that they become."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from campaign.runs.goals import definitions_judged
from generators.coverage import features, floors_too_small, operator_pairs, operators, unmet_floors
from generators.fitting import CUT, DRAWN, LOST
from generators.profiles import Profile
from workload.outcomes.results import Coverage, Failure, LimitsCost, Outcome, OutcomeClass, RunSummary
from workload.query import ColumnRef, walk
from workload.scenario import Scenario


def covered(scenario: Scenario) -> Counter[str]:
    """Counts by `kind: name` what a scenario contains: intents, operators and their pairs, functions, types.

    `crossing: OPERATOR / INTENT` counts scenarios that have both.
    """
    counts: Counter[str] = Counter(f"intent: {intent}" for intent in scenario.intents)
    met: set[str] = set()
    for definition in scenario.definitions:
        names = list(operators(definition.query))
        met.update(names)
        counts.update(f"operator: {name}" for name in names)
        counts.update(f"pair: {outer} > {inner}" for outer, inner in operator_pairs(definition.query))
    read = (part for d in scenario.definitions for part in walk(d.query) if isinstance(part, ColumnRef))
    counts.update(
        key for d in scenario.definitions for key in features(d.query) if key.startswith("function: ")
    )
    counts.update({f"type: {part.type.kind.value}" for part in read})
    counts.update(f"crossing: {name} / {intent}" for name in met for intent in set(scenario.intents))
    return counts


@dataclass(slots=True)
class Tally:
    """The counters of a run; the order in which outcomes are added does not matter.

    `outcomes`: scenarios by outcome class. `reached`: coverage by `kind: name`. `changes`: the rows of change
    sets; `amplification`: the pairs of them without effect. `judgements`: refreshes times their worlds.
    `times`: seconds by part of the work. `drawn`: the operators of all scenarios, and what limits cost.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    scenarios: int = 0
    definitions: int = 0
    refreshes: int = 0
    checks: int = 0
    changes: int = 0
    amplification: int = 0
    judgements: int = 0
    times: dict[str, float] = field(default_factory=dict)
    not_checked: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome, coverage: Mapping[str, int]) -> None:
        """Counts one scenario. Only a passed one adds coverage: a failed one may have stopped half-way."""
        self.scenarios += 1
        self.outcomes[outcome.outcome.value] += 1
        self.definitions += outcome.definitions
        self.refreshes += outcome.refreshes
        self.checks += outcome.checks
        self.changes += outcome.changes
        self.amplification += outcome.amplification
        self.judgements += outcome.refreshes * outcome.worlds
        self.not_checked.update(outcome.not_checked)
        kinds = (DRAWN, CUT, LOST, "operator: ")
        self.drawn.update({key: count for key, count in coverage.items() if key.startswith(kinds)})
        for part, seconds in outcome.times.items():
            self.times[part] = self.times.get(part, 0.0) + seconds
        if outcome.outcome is OutcomeClass.PASSED:
            self.reached.update(coverage)
            self.reached.update(outcome.states)

    def reclassify(self, before: OutcomeClass, after: OutcomeClass) -> None:
        """Moves one scenario to another outcome class, which its replay showed."""
        self.outcomes[before.value] -= 1
        self.outcomes[after.value] += 1

    def coverage(self, profile: Profile) -> Coverage:
        """Returns the coverage so far, compared with the floors of a profile."""
        below = (
            definitions_judged(profile.given, self.reached, profile.goal_floor)[1] if profile.given else {}
        )
        kinds: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for key, count in sorted(self.reached.items()):
            kind, _, name = key.partition(": ")
            kinds[kind][name] = count
        return Coverage(
            operators=kinds["operator"],
            pairs=kinds["pair"],
            intents=kinds["intent"],
            states=kinds["state"],
            actions=kinds["action"],
            crossings=kinds["crossing"],
            statements=kinds["dml"],
            types=kinds["type"],
            branches=kinds["branch"],
            unmet={**unmet_floors(profile, self.reached, self.scenarios), **below},
            too_small=floors_too_small(profile, self.scenarios),
        )

    def cost(self, profile: Profile) -> LimitsCost | None:
        """Returns what the engine's limits cost the run; None where the engine has no limits."""
        if not self.drawn[DRAWN]:
            return None
        cut = {key.removeprefix(CUT): n for key, n in self.drawn.most_common() if key.startswith(CUT)}
        never = {
            operator: {
                key.removeprefix(f"{LOST}{operator} / "): n
                for key, n in self.drawn.most_common()
                if key.startswith(f"{LOST}{operator} / ")
            }
            for operator in sorted(profile.limits.reachable)
            if not self.drawn[f"operator: {operator}"]
        }
        return LimitsCost(drawn=self.drawn[DRAWN], cut=cut, never=never)

    def summary(
        self, seed: int, tier: str, profile: Profile, seconds: float, failures: tuple[Failure, ...]
    ) -> RunSummary:
        """Returns the run so far as one value, for the reports."""
        return RunSummary(
            seed=seed,
            tier=tier,
            profile=profile.name,
            scenarios=self.scenarios,
            definitions=self.definitions,
            refreshes=self.refreshes,
            checks=self.checks,
            outcomes={outcome.value: self.outcomes[outcome.value] for outcome in OutcomeClass},
            coverage=self.coverage(profile),
            seconds=seconds,
            time_split=dict(self.times),
            failures=failures,
            judgements=self.judgements,
            changes=self.changes,
            amplification=self.amplification,
            not_checked=dict(self.not_checked),
            cost=self.cost(profile),
            definitions_judged=definitions_judged(profile.given, self.reached, 0)[0] if profile.given else {},
        )
