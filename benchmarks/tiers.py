"""How fast each tier is and where its time goes: variants measured side by side, interleaved, in one run.

    python -m benchmarks.tiers rules --scenarios 60
    python -m benchmarks.tiers delta --scenarios 6

Prints medians per variant and their ratio to the first one; absolute figures move with the machine's load,
ratios of one run far less.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

import click

from campaign.judging.lane import Lane, fresh_sample
from campaign.lanes.spec import LaneSpec
from dynamic_tables.refresh import execute
from engines.drive import FreshWanted, never_fresh
from engines.engine import Engine
from generators.generate import scenario_at
from generators.profiles import load_profile
from workload.scenario import Scenario


def every_fresh(step: int, table: str) -> bool:
    """Returns True: there is a fresh initialization after every refresh."""
    return True


def run_only(engine: Engine, wanted: Callable[[Scenario], FreshWanted]) -> Callable[[Scenario], None]:
    """Returns what runs the engine on a scenario without judging."""
    return lambda scenario: void(engine.run(scenario, wanted(scenario)))


def judged(engine: Engine) -> Callable[[Scenario], None]:
    """Returns what runs and judges a scenario, as a campaign does."""
    lane = Lane(engine=engine)
    return lambda scenario: void(lane.judge(scenario))


def void(result: object) -> None:
    """Drops a result."""


def variants_of(engine: Engine) -> Mapping[str, Callable[[Scenario], None]]:
    """Returns the variants by name; the first is the base of the ratios."""
    return {
        "campaign (run, sampled fresh ids, judge)": judged(engine),
        "run only": run_only(engine, lambda scenario: never_fresh),
        "run, sampled fresh ids": run_only(engine, lambda scenario: fresh_sample(scenario, 10)),
        "run, fresh ids after every refresh": run_only(engine, lambda scenario: every_fresh),
    }


def phases(engine: Engine, scenarios: list[Scenario]) -> Mapping[str, float]:
    """Returns the seconds by phase of a refresh, from the engine's records, and how many `refreshes` ran."""
    spent: dict[str, float] = defaultdict(float)
    original = execute.Refreshing.run

    def timed(self: execute.Refreshing, timestamp: int, *, anew: str = "") -> execute.RefreshResult:
        result = original(self, timestamp, anew=anew)
        for phase, seconds in self.seconds.items():
            spent[phase] += seconds
        spent["refreshes"] += 1
        return result

    execute.Refreshing.run = timed  # type: ignore[method-assign]  # a stop-watch, for this run only
    try:
        for scenario in scenarios:
            engine.run(scenario)
    finally:
        execute.Refreshing.run = original  # type: ignore[method-assign]
    return spent


@click.command()
@click.argument("tier_name", type=click.Choice(["rules", "delta"]))
@click.option("--scenarios", type=click.IntRange(1), default=40, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--profile", default="", help="Default: smoke on rules, quick on delta.")
def main(tier_name: str, scenarios: int, seed: int, profile: str) -> None:
    """Measure one tier, single-threaded."""
    engine = LaneSpec(tier=tier_name).build().engine
    shape = load_profile(profile or ("smoke" if tier_name == "rules" else "quick"))
    cases = [scenario_at(seed, shape, index) for index in range(scenarios + 1)]
    variants = (
        variants_of(engine)
        if tier_name == "rules"
        else {"campaign": judged(engine), "run only": run_only(engine, lambda s: never_fresh)}
    )
    for run in variants.values():
        run(cases[0])
    times: dict[str, list[float]] = defaultdict(list)
    for number, scenario in enumerate(cases[1:]):
        names = list(variants)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = time.perf_counter()
            variants[name](scenario)
            times[name].append(time.perf_counter() - start)
    tables = sum(len(scenario.dynamic_tables) for scenario in cases[1:])
    base = sum(times[next(iter(variants))])
    for name, spent in times.items():
        total = sum(spent)
        median = 1000 * statistics.median(spent)
        rate = f"{tables / total:7.1f} dynamic tables/s"
        click.echo(f"{name:42} {median:8.0f} ms median  {rate}  ratio {total / base:5.2f}")
    split = phases(engine, cases[1:])
    refreshes = split["refreshes"]
    run_total = sum(times["run only"])
    click.echo(
        f"{refreshes:.0f} refreshes, {3600 * refreshes / run_total:.0f} per hour with their DML, one thread"
    )
    for phase, seconds in split.items():
        if phase != "refreshes":
            share = 100 * seconds / run_total
            click.echo(
                f"  {phase:10} {1000 * seconds / refreshes:8.2f} ms per refresh  {share:5.1f} % of the run"
            )


if __name__ == "__main__":
    sys.exit(main())
