"""Adding outcomes up: counts, coverage, and the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from generators.coverage import operator_pairs, operators, unmet_floors
from generators.profiles import Profile
from workload.results import Coverage, Failure, Outcome, OutcomeClass, RunSummary
from workload.scenario import Scenario


def covered(scenario: Scenario) -> Counter[str]:
    """What a scenario contains, as `kind: name` counts."""
    counts: Counter[str] = Counter(f"intent: {intent}" for intent in scenario.intents)
    met: set[str] = set()
    for definition in scenario.definitions:
        names = list(operators(definition.query))
        met.update(names)
        counts.update(f"operator: {name}" for name in names)
        counts.update(f"pair: {outer} > {inner}" for outer, inner in operator_pairs(definition.query))
    counts.update(f"crossing: {name} / {intent}" for name in met for intent in set(scenario.intents))
    return counts


@dataclass(slots=True)
class Tally:
    """A run's counters; outcomes are added in any order."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    scenarios: int = 0
    definitions: int = 0
    refreshes: int = 0
    checks: int = 0
    amplification: int = 0
    judgements: int = 0
    times: dict[str, float] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome, coverage: Mapping[str, int]) -> None:
        """Counts one scenario. Only what passed counts as covered: of a failure no states are known."""
        self.scenarios += 1
        self.outcomes[outcome.outcome.value] += 1
        self.definitions += outcome.definitions
        self.refreshes += outcome.refreshes
        self.checks += outcome.checks
        self.amplification += outcome.amplification
        self.judgements += outcome.refreshes * outcome.worlds
        self.left_out.update(outcome.left_out)
        for part, seconds in outcome.times.items():
            self.times[part] = self.times.get(part, 0.0) + seconds
        if outcome.outcome is OutcomeClass.PASSED:
            self.reached.update(coverage)
            self.reached.update(outcome.states)

    def reclassify(self, before: OutcomeClass, after: OutcomeClass) -> None:
        """One scenario's class as it is now known to be."""
        self.outcomes[before.value] -= 1
        self.outcomes[after.value] += 1

    def coverage(self, profile: Profile) -> Coverage:
        """What was reached, against the profile's floors."""

        def kind(prefix: str) -> dict[str, int]:
            start = f"{prefix}: "
            return {
                name.removeprefix(start): n
                for name, n in sorted(self.reached.items())
                if name.startswith(start)
            }

        return Coverage(
            operators=kind("operator"),
            pairs=kind("pair"),
            intents=kind("intent"),
            states=kind("state"),
            actions=kind("action"),
            crossings=kind("crossing"),
            unmet=unmet_floors(profile, self.reached, self.scenarios),
        )

    def summary(
        self, seed: int, tier: str, profile: Profile, seconds: float, failures: tuple[Failure, ...]
    ) -> RunSummary:
        """The run as one value."""
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
            left_out=dict(self.left_out),
        )
