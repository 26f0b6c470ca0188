"""Forced edges and the solver give the answer of an exhaustive search for an order of transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from dvs_model.clients import ordering as module
from dvs_model.clients.ordering import Found, ordering
from dvs_model.clients.polygraph import Polygraph, Sides, Why, polygraph
from dvs_model.observed.client import Client, Problem, problem
from dvs_model.observed.search import order_exists
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction
from reference.clients import orders, recover
from tests.depth import examples

COUNT = examples(150)
SEARCHED = (Client.PREFIX, Client.SNAPSHOT, Client.SERIALIZABLE)


def blind(random: Random) -> Observed:
    """Transactions that write without reading the key first, so that little is forced.

    They are run one after the other, and a read shows an older version now and then.
    """
    keys = "xyz"[: random.randint(2, 3)]
    written: dict[str, list[int | None]] = {key: [None] for key in keys}
    transactions, value = [], 0
    for number in range(1, random.randint(5, 8)):
        ops, mine = [], dict[str, int]()
        for key in random.sample(keys, random.randint(1, len(keys))):
            if random.random() < 0.5:
                value += 1
                mine[key] = value
                ops.append(Op(Kind.WRITE, key, value))
            else:
                old = random.choice(written[key]) if random.random() < 0.3 else written[key][-1]
                ops.append(Op(Kind.READ, key, old))
        for key, new in mine.items():
            written[key].append(new)
        transactions.append(Transaction(number, f"s{number % 4}", Status.COMMITTED, ops, f"line {number}"))
    observed = Observed("", transactions, Records(aborts=True))
    if random.random() < 0.3:
        # A file may say which write came right after which.
        observed.follows = [(t.number, t.number + 1) for t in transactions[:-1] if random.random() < 0.3]
    return observed


def differences(count: int, seed: int) -> tuple[list[str], Counter[tuple[Client, bool | None]]]:
    """Returns where both disagree, and how often each answer was given."""
    random, wrong = Random(seed), list[str]()
    met: Counter[tuple[Client, bool | None]] = Counter()
    for _ in range(count):
        observed = blind(random)
        found = recover(observed)
        made = problem(found, orders(found), sessions=random.random() < 0.5)
        for level in SEARCHED:
            due, answer = order_exists(made, level, 200_000), ordered(made, level, observed)
            met[level, answer.exists] += 1
            if answer.exists is not due:
                wrong.append(f"{level.value}: {answer}, and {due} by search: {observed}")
    return wrong, met


def ordered(made: Problem, level: Client, observed: Observed) -> Found:
    graph = polygraph(made, level)
    assert graph is not None
    return ordering(graph, observed, 10_000)


def test_forced_edges_and_the_solver_agree_with_an_exhaustive_search() -> None:
    wrong, met = differences(COUNT, 11)
    assert not wrong, wrong[0]
    for level in SEARCHED:
        assert min(met[level, True], met[level, False]) > 10, met
        assert not met[level, None]


def test_the_solver_is_needed_and_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rounds of forced edges, all choices are the solver's."""
    monkeypatch.setattr(module._Deciding, "exclude", lambda *_: np.empty(0, np.int64))
    wrong, met = differences(COUNT // 2, 12)
    assert not wrong, wrong[0]
    assert met[Client.SERIALIZABLE, False] > 10


def without(kind: Why) -> Callable[[Polygraph, np.ndarray, np.ndarray], Sides]:
    whole = Polygraph.sides

    def sides(graph: Polygraph, rows: np.ndarray, back: np.ndarray) -> Sides:
        made = whole(graph, rows, back)
        kept = made.arcs.why != kind
        return Sides(made.of[kept], made.arcs.kept(kept))

    return sides


@pytest.mark.parametrize("kind", [Why.BEFORE, Why.REPLACED])
def test_a_kind_of_arcs_that_is_dropped_is_noticed(kind: Why, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Polygraph, "sides", without(kind))
    monkeypatch.setattr(module._Deciding, "exclude", lambda *_: np.empty(0, np.int64))
    assert differences(COUNT // 2, 13)[0]


def test_a_clause_too_many_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clause that excludes more than the cycle that it was made of."""
    whole = module._clause
    monkeypatch.setattr(module, "_clause", lambda *given: whole(*given)[:1])
    monkeypatch.setattr(module, "_exclusive", lambda *_: [])
    monkeypatch.setattr(module._Deciding, "exclude", lambda *_: np.empty(0, np.int64))
    assert differences(COUNT // 2, 14)[0]


def test_a_cycle_without_a_clause_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Deciding, "cycles", lambda *_: [])
    monkeypatch.setattr(module, "_exclusive", lambda *_: [])
    monkeypatch.setattr(module._Deciding, "exclude", lambda *_: np.empty(0, np.int64))
    assert differences(COUNT // 2, 15)[0]
