"""The verification of many definitions, in worker processes if there is more than one.

A universe takes long to make, and many definitions share one: each process keeps the universe that it used
last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed

from campaign.errors import CampaignError
from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker, pool_for
from campaign.verify.definitions import Definition
from campaign.verify.engine import capture
from campaign.verify.universe import Universe
from campaign.verify.verify import Verified, verify
from dynamic_tables.differentiate.registry import RULES, Rules
from workload.outcomes.decision import Decision

_last_universe: list[tuple[object, Universe]] = []
"""At most one entry: the universe that this process used last, behind the key of what it was made of."""


def verify_all(
    definitions: Sequence[Definition],
    *,
    faults: tuple[str, ...] = (),
    workers: int = 1,
    progress: Callable[[Verified], None] = lambda result: None,
) -> tuple[Verified, ...]:
    """Verifies all definitions, and returns the results in their order.

    `faults`: names of faults to plant in the rules. `progress` receives each result as it is there, in any
    order. Raises CampaignError: a fault is unknown, or is in no rule.
    """
    rules_with(faults)
    # Definitions over one universe come one after another, so that a process makes it once.
    tasks = sorted(enumerate(definitions), key=lambda task: (str(task[1].bound), str(task[1].tables)))
    results: dict[int, Verified] = {}
    for number, result in _run(tasks, faults, workers):
        results[number] = result
        progress(result)
    return tuple(results[number] for number in range(len(definitions)))


def decision_of(results: Sequence[Verified]) -> Decision:
    """Returns whether every definition holds in every world; undecided where nothing was compared."""
    if any(result.failures for result in results):
        return Decision.FAILED
    return Decision.PASSED if any(result.checks for result in results) else Decision.UNDECIDED


def _run(
    tasks: Sequence[tuple[int, Definition]], faults: tuple[str, ...], workers: int
) -> Iterator[tuple[int, Verified]]:
    if workers == 1:
        for number, definition in tasks:
            yield number, verify_one(definition, faults)
        return
    with pool_for(LaneSpec(tier="rules"), workers, dies_by_interrupt=True) as pool:
        numbers = {pool.submit(_in_worker, definition, faults): number for number, definition in tasks}
        for done in as_completed(numbers):
            yield numbers[done], done.result()


def _in_worker(_: Worker, definition: Definition, faults: tuple[str, ...]) -> Verified:
    return verify_one(definition, faults)


def verify_one(definition: Definition, faults: tuple[str, ...] = ()) -> Verified:
    """Verifies one definition in this process, with faults planted in the rules."""
    rules = rules_with(faults)
    made_of = (definition.tables, definition.bound, faults)
    if not _last_universe or _last_universe[0][0] != made_of:
        if _last_universe:
            _last_universe.pop()[1].relations.close()
        universe = Universe.of(definition.tables, definition.bound)
        capture(universe, rules)
        _last_universe.append((made_of, universe))
    return verify(definition, _last_universe[0][1], rules)


def rules_with(faults: tuple[str, ...]) -> Rules:
    """Returns the rules with planted faults. Raises CampaignError: a fault is unknown, or is in no rule."""
    subject = Subject()
    for name in faults:
        before = subject.variant.rules
        subject = plant(name, subject)
        if subject.variant.rules == before:
            raise CampaignError(f"the fault {name!r} is in no rule; `dvs mutants --fault {name}` hunts it")
    return subject.variant.rules if faults else RULES
