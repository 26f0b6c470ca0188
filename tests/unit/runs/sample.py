"""A run that went well."""

from __future__ import annotations

from workload.outcomes.results import Coverage, RunSummary

RUN = RunSummary(
    seed=1,
    tier="rules",
    profile="smoke",
    scenarios=1000,
    definitions=2000,
    refreshes=9000,
    checks=90000,
    outcomes={"passed": 1000},
    coverage=Coverage(
        operators={"left join": 400, "cross join": 12},
        pairs={"filter > left join": 80},
        intents={"null keys": 60},
        states={"group emptied": 200},
        actions={"FULL": 300},
        unmet={},
    ),
    seconds=100.0,
)
