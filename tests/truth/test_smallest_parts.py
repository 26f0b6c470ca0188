"""The smallest part of a history of clients: it is wrong in the same way, and nothing can be taken away."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random

import pytest

from dvs_model.clients.judge import judge
from dvs_model.formats import dbcop, elle, plume
from dvs_model.formats.reader import Viewed
from dvs_model.formats.written import WRITERS, edn
from dvs_model.observed.client import Client
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction
from dvs_model.observed.smallest import smallest
from tests.truth.test_client_levels import lists, registers, timed

READERS = {".edn": elle.read_edn, ".txt": plume.read, ".hist": dbcop.read_hist}


def violates(observed: Observed, level: Client) -> bool:
    seen = judge(observed).seen
    assert seen is not None
    return seen.client[level.value][0] == "violated"


def read_back(text: str, suffix: str) -> Observed:
    (item,) = READERS[suffix](io.BytesIO(text.encode()), f"h{suffix}", None)
    assert isinstance(item, Viewed)
    return item.observed


def alone(random: Random) -> Observed:
    """A history of lists in which no client begins before it has ended."""
    observed = lists(random)
    for each in observed.transactions:
        each.session = str(each.number)
    return observed


@pytest.mark.parametrize("level", [Client.CAUSAL, Client.SERIALIZABLE])
@pytest.mark.parametrize("draw", [registers, alone])
def test_a_part_is_wrong_and_smallest_and_is_read_again(
    draw: Callable[[Random], Observed], level: Client
) -> None:
    random, met, smaller = Random(83), 0, 0
    for _ in range(400):
        observed = draw(random)
        if not violates(observed, level):
            continue
        met += 1
        part = smallest(observed, [], lambda some: violates(some, level))
        assert violates(part, level)
        assert smallest(part, [], lambda some: violates(some, level)) == part, "nothing more can go"
        smaller += len(part.transactions) < len(observed.transactions)
        assert violates(read_back(edn(part), ".edn"), level)
    assert met > 10
    assert smaller > 3


NUMBERS = {"x": "1", "y": "2"}


UNSTAMPED = sorted(set(WRITERS) - {".json"})
"""TimeKiller's JSON has the database's timestamps."""


@pytest.mark.parametrize("suffix", UNSTAMPED)
def test_what_is_written_is_read_again(suffix: str) -> None:
    random = Random(89)
    for _ in range(100):
        observed = timed(registers(random), random)
        for each in observed.transactions:
            # In Plume's text keys are numbers, and 0 stands for what was before the run.
            values = [0 if op.value is None and suffix == ".txt" else op.value for op in each.ops]
            keys = [NUMBERS[op.key] if suffix == ".txt" else op.key for op in each.ops]
            each.ops = [op._replace(key=k, value=v) for op, k, v in zip(each.ops, keys, values, strict=True)]
        again = read_back(WRITERS[suffix](observed), suffix)
        assert sorted(map(repr, sessions(again))) == sorted(map(repr, sessions(observed)))


def sessions(observed: Observed) -> list[list[list[Op]]]:
    return [[list(each.ops) for each in mine] for mine in observed.by_session().values()]


def test_an_aborted_transaction_stays_aborted() -> None:
    wrote = Transaction(1, "1", Status.ABORTED, [Op(Kind.WRITE, "5", 1)], "line 1")
    saw = Transaction(2, "2", Status.COMMITTED, [Op(Kind.READ, "5", 1)], "line 2")
    observed = Observed("", [wrote, saw], Records(aborts=True))
    part = smallest(observed, [2], lambda some: violates(some, Client.READ_COMMITTED))
    assert [each.number for each in part.transactions] == [1, 2]
    for suffix in UNSTAMPED:
        assert violates(read_back(WRITERS[suffix](part), suffix), Client.READ_COMMITTED)
