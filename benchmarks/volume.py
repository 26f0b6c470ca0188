"""How much each tier gets through, one by one and lifted: all variants side by side, in one run.

    python -m benchmarks.volume rules --seconds 60
    python -m benchmarks.volume spark --seconds 120 --lasting --warm-up 60
    python -m benchmarks.volume delta --seconds 240 --worlds 200

A judgement is one definition, one database, one refresh, judged. What a tier needs to get going (processes,
the JVM, compiled code) is run first and not counted. Each variant runs in turn, in rounds, so that other load
on the machine meets all of them; the ratio is to the first one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import click

from campaign.lanes.spec import LaneSpec
from campaign.runs.plan import CampaignPlan
from campaign.runs.runner import run
from dynamic_tables.session import Settings, open_session
from generators.profiles import load_profile
from workload.lift.kind import Lifting
from workload.outcomes.results import OutcomeClass

ROUNDS = 3


@dataclass(slots=True)
class Volume:
    """What one variant got through."""

    seconds: float = 0.0
    definitions: int = 0
    refreshes: int = 0
    judgements: int = 0
    failed: int = 0

    def line(self, name: str, base: Volume) -> str:
        """Returns the row of a variant: rates per second, the ratio to `base`, and how many failed."""
        rates = (self.definitions, self.refreshes, self.judgements)
        text = "  ".join(f"{value / self.seconds:10.2f}" for value in rates)
        ratio = (self.judgements / self.seconds) / (base.judgements / base.seconds)
        return f"{name:34}{text}  {ratio:8.1f}  {self.failed:6}"


def variants(tier: str, worlds: int) -> Mapping[str, LaneSpec]:
    """Returns the lanes by name: one by one first, then lifted."""
    one = LaneSpec(tier=tier, lifting=Lifting.NONE)
    lifted = {"intervals lifted": replace(one, lifting=Lifting.INTERVALS)} if tier.startswith("spark") else {}
    databases = replace(one, lifting=Lifting.DATABASES, worlds=worlds)
    return {"one by one": one, **lifted, f"{worlds} databases lifted": databases}


def measured(volume: Volume, plan: CampaignPlan, spec: LaneSpec, seconds: float, warm_up: float) -> None:
    """Adds a stretch of a campaign, counted from the first result after the warm-up."""
    started = time.perf_counter()
    counted_from = None
    with closing(run(replace(plan, budget=seconds + warm_up), spec)) as results:
        for judged in results:
            now = time.perf_counter()
            if counted_from is None:
                if now - started >= warm_up:
                    counted_from = now
                continue
            outcome = judged.outcome
            volume.definitions += outcome.definitions
            volume.refreshes += outcome.refreshes
            volume.judgements += outcome.refreshes * outcome.worlds
            volume.failed += outcome.outcome is not OutcomeClass.PASSED
    if counted_from is not None:
        volume.seconds += time.perf_counter() - counted_from


@click.command()
@click.argument("tier")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="For each variant, in all.")
@click.option("--warm-up", type=float, help="For each variant and round.  [3; on Spark 40]")
@click.option("--worlds", type=int, default=200, show_default=True)
@click.option("--profile", default="smoke", show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--workers", type=int)
@click.option("--lasting", is_flag=True, help="On Spark: the JVM as long campaigns have it.")
def main(
    tier: str,
    seconds: float,
    warm_up: float | None,
    worlds: int,
    profile: str,
    seed: int,
    workers: int | None,
    lasting: bool,
) -> None:
    """Prints rates per second of each variant of a tier."""
    if lasting:
        # The first session of a process decides how the JVM runs.
        open_session(settings=Settings.LASTING)
    lanes = variants(tier, worlds)
    of_tier = LaneSpec(tier=tier).engine_tier
    warm = warm_up if warm_up is not None else (3.0 if of_tier.processes else 40.0)
    volumes = {name: Volume() for name in lanes}
    for turn in range(ROUNDS):
        for name, spec in lanes.items():
            plan = CampaignPlan(
                seed=seed,
                profile=load_profile(profile),
                first=turn * 10_000,
                workers=workers or of_tier.workers,
            )
            measured(volumes[name], plan, spec, seconds / ROUNDS, warm)
    print(f"{tier}, profile {profile}, {workers or of_tier.workers} workers; per second, oracle on:")
    print(f"{'':34}{'tables':>10}  {'refreshes':>10}  {'judgements':>10}  {'ratio':>8}  failed")
    base = next(iter(volumes.values()))
    for name, volume in volumes.items():
        print(volume.line(name, base))


if __name__ == "__main__":
    main()
