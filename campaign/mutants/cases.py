"""Hunts planted faults case by case, for all kinds but the engine's (`campaign.mutants.kinds`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from campaign.errors import CampaignError
from campaign.mutants.kinds import FaultKind, Reproduction
from campaign.mutants.verdict import HuntVerdict, hunt_verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHunt:
    """The result for one planted fault. `most`: the cases after which it counts as survived.

    `killer`: what the last case showed to be wrong; empty where the fault was not found. `reproduction`: that
    case made small.
    """

    fault: str
    cases: int
    most: int
    seconds: float
    killer: str = ""
    reproduction: Reproduction | None = None

    @property
    def verdict(self) -> HuntVerdict:
        """Whether the fault was found, survived, or was hunted too little to say."""
        return hunt_verdict(bool(self.killer), self.cases, self.most)


def hunt_cases(
    kind: FaultKind,
    names: Sequence[str],
    *,
    seed: int,
    budget: float,
    attempts: int,
    most: int | None = None,
    progress: Callable[[CaseHunt], None] = lambda result: None,
) -> list[CaseHunt]:
    """Runs at most `most` cases with each fault planted, until one shows that something is wrong.

    `budget`: an upper bound in seconds for all faults, shared evenly among those that are left; what it ends
    early is undecided. `attempts`: smaller cases that are run for each kill. Raises CampaignError where the
    case that shows a fault is wrong without the fault too: a kill would prove nothing.
    """
    deadline = time.monotonic() + budget
    results = []
    for place, name in enumerate(names):
        start = time.monotonic()
        share = start + (deadline - start) / (len(names) - place)
        result = _hunt(kind, name, seed, most or kind.most, share)
        if result.killer and attempts:
            small = kind.smallest(kind.planted[name].model, seed, result.cases - 1, attempts)
            result = replace(result, seconds=time.monotonic() - start, reproduction=small)
        progress(result)
        results.append(result)
    return results


def _hunt(kind: FaultKind, name: str, seed: int, most: int, deadline: float) -> CaseHunt:
    """Hunts one fault until it is found, for `most` cases, or until `deadline`, by the monotonic clock."""
    start, killer, number, model = time.monotonic(), "", 0, kind.planted[name].model
    while not killer and number < most and time.monotonic() < deadline:
        killer = kind.wrong(model, seed, number)
        if killer and (sound := kind.wrong(kind.sound, seed, number)):
            raise CampaignError(
                f"{kind.unit} {number} of seed {seed}: {sound}, without a fault too; mend the "
                f"{kind.area} first, or a kill proves nothing"
            )
        number += 1
    return CaseHunt(fault=name, cases=number, most=most, seconds=time.monotonic() - start, killer=killer)


def known(kind: FaultKind, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names, or those of all faults of the kind where none is given.

    Raises CampaignError: there is no such fault.
    """
    for name in names:
        if name not in kind.faults:
            raise CampaignError(
                f"no planted fault named {name!r} in {kind.area}; "
                f"`dvs mutants --kind {kind.name} --list` lists them"
            )
    return tuple(names) or tuple(kind.faults)
