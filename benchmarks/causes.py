"""How well failures are grouped: each planted fault alone, and every pair of faults put together afterwards.

    python -m benchmarks.causes [--failures 4] [FAULT ...]

A fault's scenarios are judged until enough failed; those are shrunk to the end and grouped. A pair of faults
is told apart if no group of their failures, grouped together, holds failures of both.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import click

from campaign.failures.fingerprint import fingerprint
from campaign.failures.grouping import groups_of
from campaign.failures.triage import smallest
from campaign.faults import FAULTS, known_faults
from campaign.lanes.spec import LaneSpec
from generators.generate import scenario_at
from generators.profiles import SMOKE
from workload.outcomes.results import Failure, OutcomeClass

APART = 1_000_000
"""Added to the second fault's indices, so that a group shows whose failures it holds."""


@click.command()
@click.argument("faults", nargs=-1)
@click.option("--failures", default=4, show_default=True, help="Failures of each fault.")
@click.option("--scenarios", default=120, show_default=True, help="Scenarios to look for them in, at most.")
@click.option("--seconds", default=40.0, show_default=True, help="Seconds to look for them, at most.")
@click.option("--seed", default=5, show_default=True)
def main(faults: tuple[str, ...], failures: int, scenarios: int, seconds: float, seed: int) -> None:
    """Prints a line per fault, then the pairs that are not told apart. All faults by default."""
    by_fault: dict[str, list[Failure]] = {}
    for fault in known_faults(faults) or tuple(FAULTS):
        by_fault[fault] = failures_of(fault, seed, failures, scenarios, seconds)
        groups = groups_of(by_fault[fault])
        texts = " | ".join(group.fingerprint.text for group in groups)
        print(f"{fault}: {len(by_fault[fault])} failures, {len(groups)} groups: {texts}", flush=True)
    failing = {fault: members for fault, members in by_fault.items() if members}
    single = sum(len(groups_of(members)) == 1 for members in failing.values())
    pairs = list(combinations(failing, 2))
    mixed = [(one, two) for one, two in pairs if not told_apart(failing[one], failing[two])]
    for one, two in mixed:
        print(f"not told apart: {one}, {two}")
    print(
        f"{single} of {len(failing)} faults give one group, "
        f"{len(pairs) - len(mixed)} of {len(pairs)} pairs are told apart"
    )


def failures_of(fault: str, seed: int, wanted: int, scenarios: int, seconds: float) -> list[Failure]:
    """Returns the first failures of a planted fault, shrunk to the end."""
    lane = LaneSpec(tier="rules", faults=(fault,)).build()
    end = time.monotonic() + seconds
    failures: list[Failure] = []
    for index in range(scenarios):
        if len(failures) == wanted or time.monotonic() > end:
            break
        scenario = scenario_at(seed, SMOKE, index)
        outcome = lane.judge(scenario)
        if outcome.outcome is OutcomeClass.PRODUCT_FAILURE:
            small = smallest(lane, scenario, outcome, 400)
            failures.append(
                Failure(
                    index=index,
                    scenario=scenario,
                    shrunk=small.scenario,
                    outcome=small.outcome,
                    folder="",
                    fingerprint=fingerprint(small.scenario, small.outcome),
                    minimal=small.minimal,
                )
            )
    return failures


def told_apart(one: Sequence[Failure], two: Sequence[Failure]) -> bool:
    """Tells whether no group holds failures of both."""
    moved = [replace(failure, index=failure.index + APART) for failure in two]
    return not any(group.indices[0] < APART <= group.indices[-1] for group in groups_of([*one, *moved]))


if __name__ == "__main__":
    main()
