"""A search for intents that `protocols.data_plane` resolves otherwise than serial transactions would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from dvs_model.checking.check import Checked, Violated, check
from dvs_model.theory.names import Level
from protocols.data_plane.histories import history_of
from protocols.data_plane.intents import Intent, rows_of
from protocols.data_plane.resolve import CLAUSES, Clauses, resolve
from protocols.data_plane.retire import broken_task, retired
from protocols.data_plane.serial import serial
from protocols.data_plane.workloads import random_intents
from shrink.loop import smallest
from shrink.reduction import chunks


@dataclass(frozen=True, slots=True)
class WrongIntents:
    """The first intents that went wrong, made smaller. `what`: in words; `checked`: their history, judged."""

    seed: int
    what: str
    intents: tuple[Intent, ...]
    checked: Checked


@dataclass(frozen=True, slots=True)
class SearchedIntents:
    """The number of sets of random intents that were resolved, and the set that went wrong, if one did."""

    runs: int
    difference: WrongIntents | None


def search_intents(seed: int, runs: int, clauses: Clauses = CLAUSES) -> SearchedIntents:
    """Resolves random intents until something is wrong; then returns a small set that is wrong."""
    for number in range(runs):
        intents = intents_of_case(seed, number)
        if what_is_wrong(intents, clauses) is not None:
            intents = smallest_intents(intents, clauses)
            what = what_is_wrong(intents, clauses)
            assert what is not None
            checked = check(history_of(intents, resolve(intents, clauses=clauses).to_rollback))
            return SearchedIntents(number + 1, WrongIntents(number, what, intents, checked))
    return SearchedIntents(runs, None)


def intents_of_case(seed: int, number: int) -> tuple[Intent, ...]:
    """Returns the random intents with a number."""
    random = Random(f"{seed} {number}")
    return random_intents(random, random.randint(2, 12), random.randint(1, 4))


def what_is_wrong(intents: tuple[Intent, ...], clauses: Clauses) -> str | None:
    """Returns what is wrong with the result for some intents, None if nothing is."""
    resolved, (rejected, store) = resolve(intents, clauses=clauses), serial(intents)
    if resolved.to_rollback != rejected:
        given = sorted(resolved.to_rollback)
        return f"rolled back: {given}; one after the other are rejected: {sorted(rejected)}"
    if resolved.store != store:
        return f"the store holds {dict(resolved.store)}; one after the other leave {dict(store)}"
    rows = rows_of(intents)
    if task := broken_task(rows, resolved, clauses):
        return f"garbage collection: {task}"
    left = retired(rows, resolved.to_rollback, clauses)
    if {row.key: row.val for row in left} != store or len(left) != len(store):
        return f"garbage collection leaves {left}; the store holds {dict(store)}"
    checked = check(history_of(intents, resolved.to_rollback))
    if isinstance(checked.levels[Level.PL_3], Violated):
        return "the history is not serializable"
    return None


ATTEMPTS = 400
"""The most smaller sets that are tried; sets have at most twelve transactions."""


def smallest_intents(
    intents: tuple[Intent, ...], clauses: Clauses, attempts: int = ATTEMPTS
) -> tuple[Intent, ...]:
    """Drops transactions while something stays wrong, and returns those that are left."""

    def fewer(intents: tuple[Intent, ...]) -> Iterator[tuple[Intent, ...]]:
        for dropped in chunks(range(len(intents))):
            yield tuple(each for place, each in enumerate(intents) if place not in dropped)

    def failing(intents: tuple[Intent, ...]) -> tuple[Intent, ...] | None:
        return None if what_is_wrong(intents, clauses) is None else intents

    return smallest(intents, [fewer], failing, attempts).found
