"""The kinds of planted faults: what each is planted in, and what one case of a hunt for it shows.

The engine is the first kind; its faults are hunted by whole campaigns (`campaign.mutants.hunt`). Every other
kind is a model or an analysis that runs one case after another: a random history, an account, a set of
intents, a script, an interleaving. `dvs mutants --kind` reads this registry, and so does the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any

from campaign.faults.fault import ModelFault
from campaign.faults.histories import HISTORY_FAULTS, Checker
from campaign.faults.intents import INTENT_FAULTS
from campaign.faults.read_committed import READ_COMMITTED_FAULTS
from campaign.mutants import histories
from campaign.protocols.intents import intents_of_case, smallest_intents, what_is_wrong
from campaign.protocols.read_committed import random_script, search_scripts
from campaign.soak.faults import FAULTS as SCHEDULE_FAULTS
from campaign.soak.file import plan_to_json
from campaign.soak.plan import Plan, plan_of
from campaign.soak.result import SOUND as SOUND_SCHEDULER, Scheduler
from campaign.soak.run import soak
from campaign.soak.shrunk import shrink
from campaign.verify.protocol import Interleaving, every_interleaving, verified
from campaign.verify.protocol_world import PROTOCOL_FAULTS, SOUND, Planted
from dvs_model.checking.check import check
from dvs_model.notation import render
from protocols.data_plane.histories import history_of
from protocols.data_plane.resolve import CLAUSES, Clauses, resolve
from protocols.read_committed.machine import RULES, Rules

ENGINE = "engine"
"""The kind of the faults in `campaign.faults.FAULTS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The smallest case that shows a fault. `size`: figures for a table; `suffix`: of a file with `text`."""

    size: Mapping[str, int | str] = field(default_factory=lambda: MappingProxyType({}))
    text: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """Faults that are hunted case by case.

    `unit`: what a case is. `most`: the cases in which a fault must be found. `planted`: the faults by name;
    `sound`: the model without one. `wrong(model, seed, number)`: what the case of a number shows to be wrong,
    in a few words; empty where nothing is. Of the sound model it must be empty: a kill would prove nothing.
    `smallest(model, seed, number, attempts)`: the case made small, within so many runs.
    """

    name: str
    area: str
    unit: str
    most: int
    planted: Mapping[str, ModelFault[Any]]
    sound: Any
    wrong: Callable[[Any, int, int], str]
    smallest: Callable[[Any, int, int, int], Reproduction]

    @property
    def faults(self) -> Mapping[str, str]:
        """By name what each fault does wrong."""
        return {name: fault.wrong for name, fault in self.planted.items()}


def _smallest_history(checker: Checker, seed: int, number: int, attempts: int) -> Reproduction:
    """Returns the history of a number made small, in the notation."""
    history = histories.smallest(histories.history_of(seed, number), checker, attempts)
    text = render(history)
    return Reproduction(
        size={"events": len(history.shown_events()), "history": text}, text=f"{text}\n", suffix=".adya"
    )


ACCOUNT_HOURS = 1.0
"""The simulated hours of an account in a hunt: in most accounts each fault shows within them."""


def _account(seed: int, number: int) -> Plan:
    """Returns the plan of a simulated account; one number is one account."""
    return plan_of(seed + number, ACCOUNT_HOURS)


def _account_wrong(scheduler: Scheduler, seed: int, number: int) -> str:
    """Returns the check that fails first in an account that a scheduler refreshes; empty where none does."""
    return next((each.check.value for each in soak(_account(seed, number), scheduler, most=1).wrong), "")


def _smallest_account(scheduler: Scheduler, seed: int, number: int, attempts: int) -> Reproduction:
    """Returns the account made small, as the JSON file that `dvs soak --replay` runs."""
    plan = _account(seed, number)
    first = soak(plan, scheduler, most=1).wrong[0]
    small = shrink(plan, first, scheduler, attempts=attempts).plan
    size = {"tables": len(small.tables), "happenings": sum(map(len, small.ticks))}
    return Reproduction(size=size, text=plan_to_json(small), suffix=".json")


def _intents_wrong(clauses: Clauses, seed: int, number: int) -> str:
    """Returns what is wrong with the resolution of a random set of intents; empty where nothing is."""
    return what_is_wrong(intents_of_case(seed, number), clauses) or ""


def _smallest_intents(clauses: Clauses, seed: int, number: int, attempts: int) -> Reproduction:
    """Returns the set of intents made small, as a history in the notation."""
    intents = smallest_intents(intents_of_case(seed, number), clauses, attempts)
    text = render(history_of(intents, resolve(intents, clauses=clauses).to_rollback))
    return Reproduction(
        size={"transactions": len(intents), "history": text}, text=f"{text}\n", suffix=".adya"
    )


ORDERS = 40
"""The orders in which the statements of a script are run, and as many again with DDL drawn into it."""


def _script_wrong(rules: Rules, seed: int, number: int) -> str:
    """Returns what some order of a random script breaks, a law or PL-2; empty where nothing is."""
    return ", ".join(search_scripts(seed, 1, rules, ORDERS, first=number).broken[:1])


@cache
def _every_interleaving() -> Sequence[Interleaving]:
    """Returns all interleavings of the refresh protocol, in one random order that is always the same."""
    interleavings = list(every_interleaving(depth=None))
    # Neighbours in the unshuffled list show much the same, so a fault would be found late.
    Random(0).shuffle(interleavings)
    return interleavings


def _interleaving(seed: int, number: int) -> Interleaving:
    """Returns the interleaving of a number; the seed decides where counting begins."""
    every = _every_interleaving()
    return every[(seed + number) % len(every)]


def _interleaving_wrong(planted: Planted, seed: int, number: int) -> str:
    """Returns the first law that an interleaving breaks; empty where it breaks none."""
    return next(iter(verified(_interleaving(seed, number), planted).laws), "")


def _script_as_it_is(rules: Rules, seed: int, number: int, attempts: int) -> Reproduction:
    """Returns the script of a number as text, not made smaller."""
    script = random_script(Random(f"{seed} {number}"))
    lines = [f"SETUP: {each.text}" for each in script.setup]
    lines += [f"{step.session}: {step.statement.text}" for step in script.steps if step.statement is not None]
    return Reproduction(
        size={"statements": len(script.steps)}, text="".join(f"{line}\n" for line in lines), suffix=".txt"
    )


def _interleaving_as_it_is(planted: Planted, seed: int, number: int, attempts: int) -> Reproduction:
    """Returns the interleaving of a number, the law that it breaks, and its steps as text."""
    ran = verified(_interleaving(seed, number), planted)
    lines = [str(ran.interleaving), ran.laws[0], *map(str, ran.lines)]
    return Reproduction(
        size={"steps": len(ran.lines)}, text="".join(f"{line}\n" for line in lines), suffix=".txt"
    )


KINDS: Mapping[str, FaultKind] = {
    kind.name: kind
    for kind in (
        FaultKind(
            name="histories",
            area="analysis of histories",
            unit="history",
            most=20_000,
            planted=HISTORY_FAULTS,
            sound=check,
            wrong=histories.wrong_in_case,
            smallest=_smallest_history,
        ),
        FaultKind(
            name="schedule",
            area="scheduler",
            unit="account",
            most=30,
            planted=SCHEDULE_FAULTS,
            sound=SOUND_SCHEDULER,
            wrong=_account_wrong,
            smallest=_smallest_account,
        ),
        FaultKind(
            name="protocol",
            area="refresh protocol",
            unit="interleaving",
            # A few more than there are interleavings (`dvs verify protocol` counts them), so some come twice.
            most=2100,
            planted=PROTOCOL_FAULTS,
            sound=SOUND,
            wrong=_interleaving_wrong,
            smallest=_interleaving_as_it_is,
        ),
        FaultKind(
            name="intents",
            area="data-plane intents",
            unit="set",
            most=2000,
            planted=INTENT_FAULTS,
            sound=CLAUSES,
            wrong=_intents_wrong,
            smallest=_smallest_intents,
        ),
        FaultKind(
            name="read-committed",
            area="read committed",
            unit="script",
            most=200,
            planted=READ_COMMITTED_FAULTS,
            sound=RULES,
            wrong=_script_wrong,
            smallest=_script_as_it_is,
        ),
    )
}
"""Every kind but the engine's, by the word of `--kind`."""
