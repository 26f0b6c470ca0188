"""Arrays give what the definitions give, one transaction after the other, for histories with every oddity.

`DVS_DEPTH=100 python -m pytest tests/laws/test_columns_agree_with_definitions.py` compares more.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dvs_model.analysis.verdict import Present, Unknown
from dvs_model.checking.check import Checked
from dvs_model.clients.basis import InColumns, KeptOrder
from dvs_model.clients.judge import judged
from dvs_model.clients.on_disk import Apart
from dvs_model.clients.unread import BY_ORDER
from dvs_model.columns.forced import forced as by_arrays
from dvs_model.columns.lookup import pairs, spread
from dvs_model.columns.match import match
from dvs_model.columns.shares import Listed, Share
from dvs_model.columns.table import Rows, columns_of, windows_of
from dvs_model.errors import HistoryError
from dvs_model.observed.client import Client
from dvs_model.observed.seen import Assumption, Kind, Observed, Op, Records, Status, Transaction, Window
from dvs_model.theory.names import Phenomenon
from reference.clients import edges, forced, holds, orders, recover, sessions
from tests.defined import Defined
from tests.depth import examples

pytestmark = pytest.mark.nightly

COUNT = examples(320)


def histories(seed: int, lists: str) -> Observed:
    """Three sessions over two keys, mostly one transaction after the other, with reads of older values.

    `lists`: the keys that hold lists.
    """
    random = Random(seed)
    state: dict[str, list[object]] = {key: [] for key in "xy"}
    ever: dict[str, list[list[object]]] = {key: [[]] for key in "xy"}
    transactions = []
    for number in range(1, random.randint(3, 14)):
        status = random.choices(list(Status), (8, 1, 1))[0]
        here = {key: [*held] for key, held in state.items()}
        ops = [_op(random, lists, here, ever, 10 * number + at) for at in range(random.randint(0, 4))]
        if status is Status.COMMITTED or (status is Status.UNKNOWN and random.random() < 0.5):
            state = here
        for key in "xy":
            ever[key].append(here[key])
        begin = number * 2 - random.randint(0, 4)
        window = Window(begin, number * 2 + 1) if lists == "xy" else None
        session = str(random.randint(1, 3))
        transactions.append(Transaction(number, session, status, ops, f"line {number}", window))
    # Numbers are written to each key, so that no read of one is refused as that of another workload.
    ops = [Op(Kind.APPEND if key in lists else Kind.WRITE, key, 5000) for key in "xy"]
    transactions.append(Transaction(500, "4", Status.ABORTED, ops, "line 500"))
    records = Records(aborts=True, lists=bool(lists), real_time=lists == "xy", initial=frozenset({None, 0}))
    return Observed("", transactions, records)


Held = dict[str, list[object]]


def _op(random: Random, lists: str, here: Held, ever: dict[str, list[list[object]]], number: int) -> Op:
    key = random.choice("xxy")
    if random.random() < 0.5:
        value: object = random.choice([number, number, number, f"v{number}", 10**20 + number])
        # Once: nil in a list is an element like others.
        value = None if key in lists and number == 20 else value
        here[key] = [*here[key], value]
        if key in lists and random.random() < 0.08:
            # In front of another one, or in its place.
            here[key] = [*here[key][:-2], *random.choice((here[key][:-3:-1], [value]))]
        return Op(Kind.APPEND if key in lists else Kind.WRITE, key, value)
    shown = here[key] if random.random() < 0.7 else random.choice(ever[key])
    if random.random() < 0.05:
        shown = [*shown[: random.randint(0, 2)], random.choice([*shown, 999, number + 1])]
    if key in lists:
        return Op(Kind.READ_LIST, key, tuple(shown))
    value = shown[-1] if shown else random.choice([None, None, 0, 998, number + 1])
    return Op(Kind.READ, key, random.choice(shown) if shown and random.random() < 0.1 else value)


def read_twice(found: Observed) -> Observed:
    """Returns a history whose reads name their writers, some of them another one."""
    random = Random(len(found.transactions))
    for each in found.transactions:
        each.ops = [
            op._replace(writer=(random.randint(-2, 7), 1))
            if op.kind is Kind.READ and random.random() < 0.2
            else op
            for op in each.ops
        ]
    return found


MADE = {
    "registers": lambda seed: histories(seed, lists=""),
    "lists": lambda seed: histories(seed, lists="xy"),
    "lists and registers": lambda seed: histories(seed, lists="x"),
    "named writers": lambda seed: read_twice(histories(seed, lists="")),
}


def told(seed: int, lists: str, how: str) -> Observed:
    """Returns a history that tells more of version orders than values do."""
    found, random = histories(seed, lists), Random(seed)
    if how == "timestamps":
        for at, each in enumerate(found.transactions):
            each.commit = at + random.choice((0, 0, 0, 0, 1, -2)), 0
        return replace(found, records=replace(found.records, stamps=True))
    if how == "neighbours":
        numbers = [each.number for each in found.transactions if each.status is Status.COMMITTED]
        pairs_of = [tuple(sorted(random.choices(numbers, k=2))) for _ in range(6)] if numbers else []
        return replace(found, follows=[(a, b) for a, b in pairs_of])
    for each in found.transactions:
        each.window = Window(each.number * 2 - random.randint(0, 6), each.number * 2 + 1)
    assumed = tuple(each.value for each in Assumption if random.random() < 0.6)
    return replace(found, records=replace(found.records, real_time=True, assumed=assumed))


MADE |= {
    "timestamps of registers": lambda seed: told(seed, "", "timestamps"),
    "timestamps of lists": lambda seed: told(seed, "xy", "timestamps"),
    "stated neighbours": lambda seed: told(seed, "", "neighbours"),
    "assumed orders": lambda seed: told(seed, "", "assumptions"),
}


EVERYWHERE = (
    "none", "unwritten value read", "non-repeatable read", "internal", "intermediate read", "aborted read",
    "future read",
)  # fmt: skip
ALSO: dict[str, tuple[str, ...]] = {
    "registers": (),
    "lists": ("duplicate elements", "incompatible orders", "dirty write"),
    "lists and registers": ("duplicate elements", "incompatible orders", "dirty write"),
    "named writers": ("wrong writer",),
    "timestamps of registers": ("the commit timestamps",),
    "timestamps of lists": ("reordered commits", "the commit timestamps"),
    "stated neighbours": ("the file says which write replaced which",),
    "assumed orders": ("as assumed: writes follow reads",),
}


@pytest.mark.parametrize("name", MADE)
def test_reads_are_matched_to_the_same_writes(name: str) -> None:
    met: Counter[str] = Counter()
    for seed in range(COUNT // 2):
        observed = MADE[name](seed)
        due = recover(observed)
        made = InColumns(observed)
        found, of_arrays = made.whole()
        assert found.reads == due.reads, observed
        assert found.taken == due.taken, observed
        assert found.installed == {key: each for key, each in due.installed.items() if each}, observed
        known = orders(due)
        assert {each.name for each in made.findings} == {each.name for each in due.findings}, observed
        if "assumed" not in name:
            assert set(made.findings) == set(due.findings), observed
        assert made.missing == due.missing
        assert set(made.matched.noted.broken) == set(due.broken)
        # Of pairs in real time arrays leave out those that follow from others.
        for part in ("known", "tails", "unknown", "pairs", "some", *(["rules"] if not known.later else [])):
            assert getattr(of_arrays, part) == getattr(known, part), f"{part}: {observed}"
        assert of_arrays.later.keys() == known.later.keys(), observed
        for key, later in known.later.items():
            closed = (nx.transitive_closure(nx.DiGraph(each)).edges for each in (of_arrays.later[key], later))
            assert set(next(closed)) == set(next(closed)), observed
        met.update(known.rules.values())
        met.update({finding.name for finding in due.findings})
        met["none"] += not due.findings
    assert met.keys() >= {*EVERYWHERE, *ALSO[name]}, met


@pytest.mark.parametrize("name", MADE)
def test_dependencies_and_forced_edges_are_the_same(name: str) -> None:
    rows = Counter[str]()
    for seed in range(COUNT):
        observed = MADE[name](seed)
        found = recover(observed)
        known = orders(found)
        due, made = edges(found, known), InColumns(observed)
        for kind in ("ww", "wr", "rw", "session") if not known.later else ():
            arcs = [(a, b) for a, b in getattr(made.edges, kind).tolist()]
            assert sorted(arcs) == sorted(getattr(due, kind)), f"{kind}: {observed}"
            rows[kind] += len(arcs)
        for level in (Client.READ_COMMITTED, Client.READ_ATOMIC, Client.CAUSAL):
            arrays = by_arrays(made.world, made.matched.reads, made.matched.installed, level)
            assert arrays is not None
            # Of each session the last writer is enough: the others come before it.
            pairs_of = {(a, b) for a, b in arrays.arcs.tolist()}
            assert pairs_of <= forced(found, level, sessions(found)), f"{level.value}: {observed}"
            assert made.decide(level).holds is holds(found, known, level), f"{level.value}: {observed}"
            alone = made.decide(level, KeptOrder.NONE).holds
            assert alone is holds(found, known, level, in_sessions=False), f"{level.value}: {observed}"
            rows[level.value] += len(pairs_of)
    # The versions of registers have no order.
    if "lists" not in name:
        del rows["ww"]
    assert min(rows.values()) > 50, rows


@pytest.mark.parametrize("name", MADE)
def test_verdicts_are_the_same(name: str) -> None:
    met: Counter[str] = Counter()
    for seed in range(COUNT // 6):
        observed = MADE[name](seed)
        due, found = judged(Defined(observed)), judged(InColumns(observed))
        assert _verdicts(found) == _verdicts(due), observed
        met.update(map(str, _verdicts(due).values()))
    every = {"Holds", "Violated", "Undecided", "Present", "Absent", "Unknown", "holds", "violated"}
    assert met.keys() >= every, met


@dataclass(frozen=True)
class Split:
    """The operations of a history in shares, each of some keys."""

    rows: Rows
    count: int

    def each(self, task: Callable[[Share], Any]) -> Iterator[Any]:
        columns = self.rows.columns
        for number in range(self.count):
            ops = np.flatnonzero(columns.key % self.count == number)
            txns, txn = np.unique(columns.txn[ops], return_inverse=True)
            starts, items = None, columns.items
            if columns.starts is not None:
                place, _ = spread(columns.starts[ops], columns.starts[ops + 1])
                lengths = columns.starts[ops + 1] - columns.starts[ops]
                starts, items = np.concatenate(([0], np.cumsum(lengths))), columns.items[place]
            of = replace(
                columns,
                txn=txn,
                kind=columns.kind[ops],
                key=columns.key[ops],
                value=columns.value[ops],
                starts=starts,
                items=items,
                writer=None if columns.writer is None else columns.writer[ops],
                first=np.searchsorted(txn, np.arange(len(txns) + 1)),
                number=columns.number[txns],
                status=columns.status[txns],
                session=columns.session[txns],
            )
            places = [self.rows.place(int(at)) for at in txns]
            # A task may be sent to another process.
            yield pickle.loads(pickle.dumps(task))(Share(Rows(of, places.__getitem__), txns, ops))


def in_shares(observed: Observed, count: int) -> Observed:
    """Returns a history whose operations lie in shares."""
    columns = columns_of(observed.transactions)
    whole = Rows(columns, lambda at: observed.transactions[at].place)
    every = windows_of([each.window for each in observed.transactions])
    none = np.empty(0, np.int64)
    kind, first = none.astype(np.int8), np.zeros(columns.count + 1, np.int64)
    bare = replace(columns, txn=none, kind=kind, key=none, value=none, first=first)
    listed = Listed(bare, whole.place, every, shares=Split(whole, count))
    return replace(observed, transactions=listed)


@pytest.mark.parametrize("name", ["registers", "lists", "lists and registers"])
def test_verdicts_are_the_same_from_shares_of_keys(name: str) -> None:
    levels = (Client.READ_COMMITTED, Client.READ_ATOMIC, Client.CAUSAL)
    for seed in range(COUNT // 10):
        observed = MADE[name](seed)
        due, whole = judged(Defined(observed)), judged(InColumns(observed))
        assert whole.seen is not None
        hold = {level: Defined(observed).decide(level).holds for level in levels}
        for count in (1, 2, 3):
            found = judged(Apart(in_shares(observed, count)))
            assert _verdicts(found) == _verdicts(due), observed
            assert found.seen is not None
            assert set(found.seen.anomalies) == set(whole.seen.anomalies), observed
            assert found.seen.notes == whole.seen.notes
            for level in levels:
                other = Apart(in_shares(observed, count))
                assert other.decide(level).holds is hold[level], f"{level.value}: {observed}"


@pytest.mark.parametrize("name", ["lists", "registers"])
def test_components_apart_show_what_all_together_show(name: str) -> None:
    shown = {most: Counter[Phenomenon]() for most in (1, 3, 5)}
    left_open = {most: Counter[Phenomenon]() for most in shown}
    for seed in range(COUNT // 4):
        observed = MADE[name](seed)
        due, tails = judged(InColumns(observed)), InColumns(observed).tails
        for most in shown:
            found = judged(InColumns(observed), most=most)
            for phenomenon, verdict in due.phenomena.items():
                other = found.phenomena[phenomenon]
                # What is there may be open; what is not there is never shown. Some transactions alone do
                # not tell what depends on the order of unread appends.
                by_kinds = phenomenon in BY_KINDS and not (phenomenon in BY_ORDER and tails)
                undecided = isinstance(other, Unknown) and not by_kinds
                assert undecided or type(other) is type(verdict), f"{phenomenon.value}: {observed}"
                shown[most][phenomenon] += isinstance(other, Present)
                left_open[most][phenomenon] += isinstance(other, Unknown) and not isinstance(verdict, Unknown)
    # Longer runs meet all of `BY_KINDS` in lists.
    rare = (Phenomenon.G0, Phenomenon.G1C)
    expected = [phenomenon for phenomenon in BY_KINDS if phenomenon not in rare]
    for most, met in shown.items():
        assert all(met[phenomenon] for phenomenon in (*expected, Phenomenon.G_SINGLE_SESSION)), shown
        assert left_open[most].total() > 3 or name == "registers"


BY_KINDS = (
    Phenomenon.G0, Phenomenon.G1C, Phenomenon.G2_ITEM, Phenomenon.G2, Phenomenon.G2_SESSION,
)  # fmt: skip
"""The phenomena that the kinds of edges of a component decide."""


def _verdicts(checked: Checked) -> dict[str, object]:
    assert checked.seen is not None
    found: dict[str, object] = {p.value: type(v).__name__ for p, v in checked.phenomena.items()}
    found |= {level.value: type(v).__name__ for level, v in checked.levels.items()}
    found |= {name: answer for name, (answer, _) in checked.seen.client.items()}
    return found | {str(key): value for key, value in checked.seen.size.items()}


def test_the_order_of_the_file_must_keep_version_orders_that_are_known() -> None:
    ops = [
        [Op(Kind.APPEND, "x", 10)],
        [Op(Kind.APPEND, "x", 41)],
        [Op(Kind.READ_LIST, "x", (41,))],
    ]
    rows = [Transaction(n, "1", Status.COMMITTED, each, f"line {n}") for n, each in enumerate(ops, 1)]
    made = InColumns(Observed("", rows, Records(aborts=True, lists=True)))
    assert not made.in_order()


def test_a_value_written_twice_is_refused_with_both_places() -> None:
    ops = [Op(Kind.WRITE, "x", 5)], [Op(Kind.WRITE, "x", 5)]
    rows = [Transaction(n, "1", Status.COMMITTED, each, f"line {n}") for n, each in enumerate(ops, 1)]
    with pytest.raises(HistoryError, match="line 1 and in line 2"):
        match(Observed("", rows, Records(aborts=True)))


def test_pairs_are_found_where_their_numbers_lie_far_apart() -> None:
    random = Random(3)
    for most in (5, 2**40, 2**61):
        a = np.array([random.randint(0, 5) for _ in range(50)])
        b = np.array([random.randint(-most, most) for _ in range(50)])
        known = pairs(a, b)
        first = {
            pair: place for place, pair in reversed([*enumerate(zip(a.tolist(), b.tolist(), strict=True))])
        }
        assert [first[pair] for pair in zip(a.tolist(), b.tolist(), strict=True)] == known.find(a, b).tolist()
        away = known.find(np.array([6, 0, 1]), np.array([int(b[0]), most + 1, -most - 1]))
        assert away.tolist() == [-1, -1, -1]
