"""Appends that no read shows, in every order that they may have, against the verdicts on the file.

`DVS_DEPTH=100 python -m pytest tests/truth/test_unread_appends.py` compares more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations, product
from random import Random

import networkx as nx
import pytest

from dvs_model.checking.check import Checked, Holds, Violated, check
from dvs_model.clients.judge import judge
from dvs_model.observed.client import Client
from dvs_model.observed.history import Orders, Part
from dvs_model.observed.recover import INITIAL, Recovered
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction
from dvs_model.theory.names import Level
from reference.clients import Matched, orders, recover
from tests.depth import examples

pytestmark = pytest.mark.nightly

COUNT = examples(120)
MOST = 40
"""Orders of one history that are written out."""

LEVELS = (
    Level.PL_1, Level.PL_2, Level.PL_CS, Level.PL_2L, Level.PL_2_PLUS, Level.PL_2_99, Level.PL_3U, Level.PL_3,
    Level.SESSION_2_PLUS, Level.SESSION_3,
)  # fmt: skip
KEPT = (Level.SESSION_2_PLUS, Level.SESSION_3)
"""The levels that keep sessions."""

CLIENTS = (Client.PARALLEL, Client.PREFIX, Client.SNAPSHOT)
Pairs = set[tuple[int, int]]


def drawn(random: Random) -> Observed:
    """Transactions over two or three keys that read any state there was, and append; few read the end."""
    keys = "xyz"[: random.randint(2, 3)]
    state: dict[str, list[int]] = {key: [] for key in keys}
    ever: dict[str, list[tuple[int, ...]]] = {key: [()] for key in keys}
    transactions, value = [], 0
    for number in range(1, random.randint(4, 7)):
        ops, untouched = list[Op](), list(keys)
        for _ in range(random.randint(1, 3)):
            if not untouched:
                break
            key = random.choice(untouched)
            if random.random() < 0.5:
                untouched.remove(key)
                value += 1
                ops.append(Op(Kind.APPEND, key, value))
                state[key].append(value)
            else:
                ops.append(Op(Kind.READ_LIST, key, random.choice(ever[key])))
        for key in keys:
            # Most lists stay short, so that most appends are read by nobody.
            if random.random() < 0.35:
                ever[key].append(tuple(state[key]))
        transactions.append(
            Transaction(number, str(random.randint(1, 4)), Status.COMMITTED, ops, f"line {number}")
        )
    return Observed("", transactions, Records(aborts=True, lists=True))


def written_out(found: Matched, known: Orders) -> Iterator[Orders]:
    """Yields every order of what no read shows."""
    for chosen in product(*map(permutations, known.tails.values())):
        every = orders(found)
        for key, order in zip(known.tails, chosen, strict=True):
            every.known[key] = [*every.known[key], *order]
        every.tails = {}
        yield every


def histories() -> Iterator[tuple[Observed, Recovered, list[Orders]]]:
    random, count = Random(71), 0
    while count < COUNT:
        observed = drawn(random)
        found = recover(observed)
        known = orders(found)
        if known.tails and not found.findings:
            every = list(written_out(found, known))
            if len(every) <= MOST:
                count += 1
                yield observed, found, every


def agrees(answer: str, due: Sequence[bool], least: Sequence[bool], observed: Observed) -> str:
    """Checks a verdict against those in every order, and returns which of these there are.

    `least`: the verdicts in those orders that close no cycle which another order does not close.
    """
    found = "all hold" if all(due) else "some hold" if any(due) else "none holds"
    allowed = {
        "all hold": ("holds",),
        "some hold": ("holds",) if all(least) else ("unknown",),
        "none holds": ("violated",),
    }
    assert answer in allowed[found], f"{answer}, and {found}: {observed}"
    return f"{found}: {answer}"


def test_a_level_is_violated_exactly_if_every_order_violates_it() -> None:
    met = Counter[str]()
    for observed, found, every in histories():
        verdicts = [check(Part(found, each, set(found.taken)).history("", None)).levels for each in every]
        judged = judge(observed)
        serial = isinstance(judged.levels[Level.PL_3], Holds)
        for level in LEVELS:
            due = [not isinstance(each[level], Violated) for each in verdicts]
            least = fewest(found, every, due, sessions=level in KEPT)
            said = agrees(word(judged, level), due, least, observed)
            met[f"{level.value}: {said}"] += 1
            met[said] += 1
        # Where an order closes no cycle, it is taken for all levels.
        assert not serial or all(isinstance(judged.levels[level], Holds) for level in LEVELS[:7]), observed
    assert met.keys() >= {
        "all hold: holds",
        "some hold: holds",
        "some hold: unknown",
        "none holds: violated",
    }, met
    for level in (Level.PL_CS, Level.PL_2_PLUS, Level.PL_3):
        assert met[f"{level.value}: none holds: violated"], met


def word(judged: Checked, level: Level) -> str:
    verdict = judged.levels[level]
    return (
        "holds" if isinstance(verdict, Holds) else "violated" if isinstance(verdict, Violated) else "unknown"
    )


def test_a_client_level_is_violated_exactly_if_every_order_violates_it() -> None:
    met = Counter[str]()
    for observed, found, every in histories():
        seen = judge(observed).seen
        assert seen is not None
        for level in CLIENTS:
            due = [allowed(found, each, level) for each in every]
            least = fewest(found, every, due, sessions=True)
            met[f"{level.value}: {agrees(seen.client[level.value][0], due, least, observed)}"] += 1
    for level in (Client.PARALLEL, Client.SNAPSHOT):
        assert met[f"{level.value}: none holds: violated"], met
        assert met[f"{level.value}: some hold: unknown"], met


def fewest(found: Recovered, every: Sequence[Orders], due: Sequence[bool], *, sessions: bool) -> list[bool]:
    """The verdicts in the orders that put the fewest transactions on cycles."""
    counts = []
    for each in every:
        ww, wr, rw, so = dependencies(found, each)
        parts = nx.strongly_connected_components(nx.DiGraph(ww | wr | rw | (so if sessions else set())))
        counts.append(sum(len(part) for part in parts if len(part) > 1))
    return [holds for holds, count in zip(due, counts, strict=True) if count == min(counts)]


def dependencies(found: Recovered, every: Orders) -> tuple[Pairs, Pairs, Pairs, Pairs]:
    """The pairs of writes, of a write and its reads, of a read and later writes, and of a session."""
    place = {(key, index): at for key, order in every.known.items() for at, index in enumerate(order)}
    ww = {pair for order in every.known.values() for pair in pairwise(order)}
    wr = {(read.writer, read.reader) for read in found.reads if read.writer != INITIAL}
    rw: Pairs = set()
    for read in found.reads:
        at = -1 if read.writer == INITIAL else place[read.key, read.writer]
        rw |= {
            (read.reader, index) for index in every.known.get(read.key, [])[at + 1 :] if index != read.reader
        }
    txns = found.observed.transactions
    so = {(a, b) for a, b in combinations(range(len(txns)), 2) if txns[a].session == txns[b].session}
    return ww, wr, rw, so


def allowed(found: Recovered, every: Orders, level: Client) -> bool:
    """Whether a level allows a history with known orders, by its definition (Cerone and others 2015)."""
    ww, wr, rw, so = dependencies(found, every)
    kept = so | wr | (ww if level is not Client.PREFIX else set())
    steps = kept | {(a, d) for a, b in kept for c, d in rw if b == c}
    if level is not Client.PARALLEL:
        return bool(nx.is_directed_acyclic_graph(nx.DiGraph(steps | ww)))
    reached = nx.transitive_closure(nx.DiGraph(kept), reflexive=False)
    return all(a != b and (b, a) not in rw for a, b in reached.edges)


@pytest.mark.parametrize(("appends", "keys"), [(20_000, 1), (6_000, 3_000)])
def test_many_unread_appends_are_judged_by_those_that_matter(appends: int, keys: int) -> None:
    """Two of many thousand have read the list before: they alone decide, and no order is tried."""
    rows = [
        Transaction(n, str(n), Status.COMMITTED, [Op(Kind.APPEND, str(n % keys), n)], f"line {n}")
        for n in range(1, appends)
    ]
    for each in rows[: 2 * keys + 2 : keys]:
        each.ops = [Op(Kind.READ_LIST, each.ops[0].key, ()), *each.ops]
    judged = judge(Observed("", rows, Records(aborts=True, lists=True)))
    assert judged.seen is not None
    assert isinstance(judged.levels[Level.PL_2_PLUS], Violated)
    assert isinstance(judged.levels[Level.PL_2], Holds)
    assert judged.seen.client[Client.SNAPSHOT.value][0] == "violated"
    assert "lost update" in {name for name, _, _ in judged.seen.anomalies}
