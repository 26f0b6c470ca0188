"""`dvs verify protocol --pairs`: the protocols of refresh under any two disturbances, in three processes.

`protocol` has the disturbances and the laws, for one disturbance at a time. Here the second one may come at
any step of any process: of the one that was disturbed, or of the one that works because of the first
disturbance.

Interleavings that cannot differ are run once. A disturbance commutes with a step that uses nothing of what
it changes: it makes no difference whether it comes just before the step or just after it. So a commit to
base tables commutes with every step that reads no versions of theirs, and the death of a process with a step
that changes nothing for others. Of places in a row between which all steps commute, only the last one is
run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker, pool_for
from campaign.verify.protocol import (
    ANOTHER,
    DIES,
    DIES_AND_ANOTHER,
    DISTURBANCES,
    SUSPENDED,
    WRITES,
    Disturbance,
    Interleaving,
    Protocol,
    Ran,
    verified,
)
from campaign.verify.protocol_steps import COMPUTE, NO_EVENT, Used
from campaign.verify.protocol_world import SOUND, Planted, Step

MEMBERS = ("x", "y", "z")

ENDS = (DIES, DIES_AND_ANOTHER, ANOTHER)
"""What ends a process, or makes it a zombie."""

CHANGED_BY: Mapping[str, Used] = {
    WRITES: Used.BASE,
    SUSPENDED: Used.STATE,
    "the group is dropped": Used.STATE,
    "the group is replaced by one of x and d": Used.STATE,
    "x is cloned": Used.STATE,
}
"""By disturbance what it changes of what a process uses; one that is not here may change anything."""


def commute(what: str, step: Step) -> bool:
    """Returns whether it makes no difference if a disturbance comes just before a step or just after it."""
    if not step.used:
        return True
    if what in (DIES, DIES_AND_ANOTHER):
        return step.what in (COMPUTE, NO_EVENT)
    return not step.used & CHANGED_BY.get(what, Used.ANYTHING)


class Places(NamedTuple):
    """The disturbances to run (`run`), and how many others are left out as equal in effect to one of them."""

    run: tuple[Disturbance, ...]
    cut: int


def places(steps: Sequence[Step], kinds: Iterable[str] = DISTURBANCES) -> Places:
    """Returns the disturbances at some steps, without those that have the effect of one at a later step."""
    steps_of: dict[str, list[Step]] = {}
    for step in steps:
        steps_of.setdefault(step.of, []).append(step)
    run, cut = [], 0
    for what in kinds:
        for own in steps_of.values():
            for step in own:
                # After the last step there is no later place at which the disturbance could come instead.
                if step is not own[-1] and commute(what, step):
                    cut += 1
                else:
                    run.append(Disturbance(what, step.number, step.of))
    return Places(tuple(run), cut)


def second_places(ran: Ran) -> Places:
    """Returns the disturbances that may follow the one of an interleaving that was run."""
    (first,) = ran.interleaving.disturbances
    at = next(n for n, step in enumerate(ran.steps) if (step.of, step.number) == (first.of, first.at))
    # The step at which a process dies is in the list, but the process never took it.
    dies = first.what in (DIES, DIES_AND_ANOTHER)
    return places(ran.steps[at + dies :])


class Extent(Enum):
    """Which pairs are run: those in which a process ends or becomes a zombie, or all."""

    CORE = "core"
    ALL = "all"

    def has(self, first: str, second: str) -> bool:
        """Tells whether a pair is run. The core has no change by a colleague: `protocol` runs these alone."""
        pair = {first, second}
        return self is Extent.ALL or (bool(pair & {*ENDS}) and pair <= {*ENDS, WRITES, SUSPENDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The pairs to run, on which protocol. `every`: n, to run only each n-th of the second disturbances."""

    planted: Planted = SOUND
    extent: Extent = Extent.CORE
    every: int = 1


def explore(first: Disturbance, chosen: Chosen) -> Protocol:
    """Runs a disturbance alone, and with each chosen one that may follow it."""
    alone = verified(Interleaving((first,)), chosen.planted, MEMBERS)
    broken, processes = [*alone.broken], _processes(alone)
    found = second_places(alone)
    seconds = [each for each in found.run if chosen.extent.has(first.what, each.what)][:: chosen.every]
    for second in seconds:
        ran = verified(Interleaving((first, second)), chosen.planted, MEMBERS)
        broken += ran.broken
        processes = max(processes, _processes(ran))
    return Protocol(
        interleavings=1 + len(seconds),
        steps=alone.count,
        broken=tuple(broken),
        as_others=found.cut,
        left_out=len(found.run) - len(seconds),
        processes=processes,
    )


def _processes(ran: Ran) -> int:
    return len({step.of for step in ran.steps})


def verify_pairs(
    chosen: Chosen, *, workers: int = 1, progress: Callable[[int], None] = lambda done: None
) -> Protocol:
    """Runs the chosen pairs, and each first disturbance alone; tells `progress` how many were run."""
    alone = verified(Interleaving(()), chosen.planted, MEMBERS)
    found = places(alone.steps)
    firsts = [
        each for each in found.run if any(chosen.extent.has(each.what, second) for second in DISTURBANCES)
    ]
    results = [Protocol(1, alone.count, tuple(alone.broken))]
    for each in _explored(firsts, chosen, workers):
        results.append(each)
        progress(sum(one.interleavings for one in results))
    return Protocol(
        interleavings=sum(each.interleavings for each in results),
        steps=alone.count,
        broken=tuple(broken for each in results for broken in each.broken),
        as_others=found.cut + sum(each.as_others for each in results),
        left_out=len(found.run) - len(firsts) + sum(each.left_out for each in results),
        processes=max(each.processes for each in results),
        undisturbed=1,
    )


def _explored(firsts: Sequence[Disturbance], chosen: Chosen, workers: int) -> Iterator[Protocol]:
    if workers == 1:
        yield from (explore(first, chosen) for first in firsts)
        return
    with pool_for(LaneSpec(tier="rules"), workers, dies_by_interrupt=True) as pool:
        for done in as_completed([pool.submit(_in_worker, first, chosen) for first in firsts]):
            yield done.result()


def _in_worker(_: Worker, first: Disturbance, chosen: Chosen) -> Protocol:
    return explore(first, chosen)
