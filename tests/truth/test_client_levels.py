"""Client-side levels against their axioms, in every order of transactions (Biswas and Enea 2019, figure 2).

`DVS_DEPTH=100 python -m pytest tests/truth/test_client_levels.py` compares more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from random import Random

import numpy as np
import pytest

from dvs_model.analysis.verdict import Absent, Present, Unknown
from dvs_model.checking.check import Holds, Violated, check
from dvs_model.clients import answers, ordering
from dvs_model.clients.answers import CHAIN
from dvs_model.clients.basis import KeptOrder
from dvs_model.clients.judge import ORDERED, basis_of, judge
from dvs_model.clients.unread import BY_ORDER, BY_ORDER_IN_SESSIONS, BY_ORDER_IN_TIME
from dvs_model.clients.variants import VARIANTS
from dvs_model.histories.history import History
from dvs_model.judging import recorded
from dvs_model.observed.client import Client, problem
from dvs_model.observed.guarantees import Guarantee
from dvs_model.observed.history import Part
from dvs_model.observed.search import order_exists
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction, Window
from dvs_model.observed.time import time_pairs
from dvs_model.theory.names import Level, Phenomenon
from reference.clients import orders, recover
from tests.depth import examples

pytestmark = pytest.mark.slow

COUNT = examples(480)
INIT = -1
REGISTERS = Records(aborts=True)
LISTS = Records(aborts=True, lists=True, real_time=True)


def registers(random: Random) -> Observed:
    """Two or three sessions of up to four transactions that write unique values and read any of them."""
    count = random.randint(2, 4)
    keys = "xy"[: random.randint(1, 2)]
    value, shapes = 0, []
    written: dict[str, list[int]] = {key: [] for key in keys}
    for _ in range(count):
        shape: list[tuple[Kind, str, int]] = []
        for _ in range(random.randint(1, 3)):
            key = random.choice(keys)
            if random.random() < 0.5 and not any(kind is Kind.WRITE and k == key for kind, k, _ in shape):
                value += 1
                written[key].append(value)
                shape.append((Kind.WRITE, key, value))
            elif not any(k == key for _, k, _ in shape):
                shape.append((Kind.READ, key, 0))
        shapes.append(shape)
    transactions = []
    for number, shape in enumerate(shapes, 1):
        mine = {v for kind, _, v in shape if kind is Kind.WRITE}
        ops = []
        for kind, key, v in shape:
            others = [None, *(w for w in written[key] if w not in mine)]
            ops.append(Op(kind, key, v if kind is Kind.WRITE else random.choice(others)))
        session = str(random.randint(1, 3))
        transactions.append(Transaction(number, session, Status.COMMITTED, ops, f"line {number}"))
    return Observed("", transactions, REGISTERS)


class Axioms:
    """The axioms, by their words. `order`: which order of transactions a level keeps."""

    def __init__(self, observed: Observed, order: KeptOrder = KeptOrder.SESSIONS) -> None:
        txns = observed.transactions
        self.count = len(txns)
        self.writes = [{op.key for op in t.ops if op.kind is Kind.WRITE} for t in txns]
        writer = {(op.key, op.value): i for i, t in enumerate(txns) for op in t.ops if op.kind is Kind.WRITE}
        # Of each transaction its reads: key and writer.
        self.reads = [
            [(op.key, writer.get((op.key, op.value), INIT)) for op in t.ops if op.kind is Kind.READ]
            for t in txns
        ]
        self.so = {
            (i, j)
            for i, j in product(range(self.count), repeat=2)
            if i < j and txns[i].session == txns[j].session
        }
        self.in_sessions = self.so
        if order is KeptOrder.NONE:
            self.so = set()
        if order is KeptOrder.REAL_TIME:
            windows = [t.window or Window(0, 0) for t in txns]
            pairs = product(range(self.count), repeat=2)
            self.so |= {(i, j) for i, j in pairs if windows[i].end < windows[j].begin}
        self.wr = {(w, i) for i, reads in enumerate(self.reads) for _, w in reads if w != INIT}
        self.before = self.so | self.wr

    def orders(self) -> Iterator[list[int]]:
        for order in permutations(range(self.count)):
            place = {txn: at for at, txn in enumerate(order)}
            if all(place[a] < place[b] for a, b in self.before):
                yield list(order)

    def closure(self) -> set[tuple[int, int]]:
        reached = set(self.before)
        while more := {(a, d) for a, b in reached for c, d in self.before if b == c} - reached:
            reached |= more
        return reached

    def holds(self, level: Client) -> bool:
        return any(self.allowed(level, order) for order in self.orders())

    def allowed(self, level: Client, order: list[int]) -> bool:
        place = {INIT: -1, **{txn: at for at, txn in enumerate(order)}}
        closure = self.closure()
        for t3, reads in enumerate(self.reads):
            for number, (key, t1) in enumerate(reads):
                for t2 in range(self.count):
                    if t2 in (t1, t3) or key not in self.writes[t2]:
                        continue
                    match level:
                        case Client.READ_COMMITTED:
                            seen = any(w == t2 for _, w in reads[:number])
                        case Client.READ_ATOMIC:
                            seen = (t2, t3) in self.before
                        case Client.CAUSAL:
                            seen = (t2, t3) in closure
                        case Client.SERIALIZABLE:
                            seen = place[t2] < place[t3]
                        case _:
                            seen = self.in_snapshot(level, place, t2, t3)
                    if seen and not place[t2] < place[t1]:
                        return False
        return True

    def in_snapshot(self, level: Client, place: dict[int, int], t2: int, t3: int) -> bool:
        """Prefix: before something that t3 has seen. Snapshot isolation: or before a conflicting writer."""
        if any(place[t2] <= place[t4] for t4 in range(self.count) if (t4, t3) in self.before):
            return True
        return level is Client.SNAPSHOT and any(
            place[t2] <= place[t4] < place[t3] and self.writes[t4] & self.writes[t3]
            for t4 in range(self.count)
        )

    def guaranteed(self, guarantee: Guarantee) -> bool:
        se, wr, writers = self.in_sessions, self.wr, [bool(keys) for keys in self.writes]
        kept: set[tuple[int, int]] = set()
        match guarantee:
            case Guarantee.READ_YOUR_WRITES:
                seen = se
            case Guarantee.MONOTONIC_READS:
                seen = joined(wr, se)
            case Guarantee.MONOTONIC_WRITES:
                seen, kept = joined(se, wr), {(a, b) for a, b in se if writers[a] and writers[b]}
            case Guarantee.WRITES_FOLLOW_READS:
                read_before = wr | joined(wr, se)
                seen, kept = joined(read_before, wr), {(a, b) for a, b in read_before if writers[b]}
        return any(self.keeps(order, seen, wr | kept) for order in permutations(range(self.count)))

    def keeps(self, order: tuple[int, ...], seen: set[tuple[int, int]], kept: set[tuple[int, int]]) -> bool:
        """Whether an order keeps pairs, and no read shows what is older than a write that it has seen."""
        place = {INIT: -1, **{txn: at for at, txn in enumerate(order)}}
        if not all(place[a] < place[b] for a, b in kept):
            return False
        reads = ((t3, key, t1) for t3, each in enumerate(self.reads) for key, t1 in each)
        return all(
            place[t2] < place[t1]
            for t3, key, t1 in reads
            for t2 in range(self.count)
            if t2 not in (t1, t3) and key in self.writes[t2] and (t2, t3) in seen
        )


def joined(first: set[tuple[int, int]], second: set[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(a, d) for a, b in first for c, d in second if b == c}


def timed(observed: Observed, random: Random) -> Observed:
    """The history with real time, which keeps the order of each session."""
    observed.records = replace(observed.records, real_time=True)
    now: dict[str, float] = {}
    for transaction in observed.transactions:
        begin = now.get(transaction.session, 0) + random.randint(0, 4)
        now[transaction.session] = begin + random.randint(1, 4) + 0.5
        transaction.window = Window(begin, now[transaction.session])
    return observed


@pytest.mark.parametrize("order", KeptOrder)
def test_variants_agree_with_their_axioms(order: KeptOrder) -> None:
    random = Random(53)
    names = [name for name, each in VARIANTS.items() if not isinstance(each, Guarantee) and each[1] is order]
    violated = dict.fromkeys(names, 0)
    for _ in range(COUNT // 2):
        observed = timed(registers(random), random)
        seen = judge(observed, wanted=names).seen
        assert seen is not None
        axioms = Axioms(observed, order)
        for name in names:
            level = VARIANTS[name][0]  # type: ignore[index]
            if level is Client.PARALLEL:
                due = any(
                    parallel(axioms, dict(zip("xy", both, strict=True))) for both in version_orders(axioms)
                )
            else:
                due = axioms.holds(level)
            answer, _ = seen.client[name]
            unknown = answer == "unknown" and level is Client.PARALLEL
            assert unknown or answer == ("holds" if due else "violated"), f"{name}: {observed}"
            violated[name] += answer == "violated"
    assert all(count > 10 for count in violated.values()), violated


@pytest.mark.parametrize("order", [KeptOrder.NONE, KeptOrder.REAL_TIME])
def test_variants_of_lists_are_decided_by_cycles_as_by_a_search(order: KeptOrder) -> None:
    """Lists have known version orders: there cycles decide, and here an order is searched with them."""
    random, met = Random(59), {True: 0, False: 0}
    for _ in range(2 * COUNT):
        observed = lists(random)
        found = recover(observed)
        known = orders(found)
        if known.unknown or known.tails or found.findings:
            continue
        time = time_pairs(basis_of(observed).windows(timed=False)) if order is KeptOrder.REAL_TIME else []
        made = problem(found, known, sessions=order is not KeptOrder.NONE, time=time)
        names = {level: f"strict {level.value}" for level in Client}
        if order is KeptOrder.NONE:
            names = {level: f"{level.value} without sessions" for level in Client}
        seen = judge(observed, wanted=list(names.values())).seen
        assert seen is not None
        for level in (Client.SERIALIZABLE, Client.SNAPSHOT):
            exists = order_exists(made, level, 200_000)
            assert exists is not None
            assert seen.client[names[level]][0] == ("holds" if exists else "violated"), f"{observed}"
            met[exists] += 1
    assert min(met.values()) > 10, met


def test_session_guarantees_agree_with_their_axioms() -> None:
    random, violated = Random(61), dict.fromkeys(Guarantee, 0)
    for _ in range(COUNT // 2):
        observed = registers(random)
        seen = judge(observed, wanted=[guarantee.value for guarantee in Guarantee]).seen
        assert seen is not None
        axioms = Axioms(observed)
        for guarantee in Guarantee:
            due = axioms.guaranteed(guarantee)
            answer, _ = seen.client[guarantee.value]
            assert answer == ("holds" if due else "violated"), f"{guarantee.value}: {observed}"
            violated[guarantee] += not due
    assert all(count > 5 for count in violated.values()), violated


def test_pairs_in_time_imply_all_others() -> None:
    random = Random(67)
    for _ in range(examples(300)):
        begins = [random.randint(0, 12) for _ in range(random.randint(1, 7))]
        windows = [Window(begin, begin + random.randint(0, 6)) for begin in begins]
        pairs = set(time_pairs(np.array(windows)))
        reached = set(pairs)
        while more := joined(reached, pairs) - reached:
            reached |= more
        every = product(range(len(windows)), repeat=2)
        assert reached == {(i, j) for i, j in every if windows[i].end < windows[j].begin}
        assert not pairs & joined(reached, reached), "a pair that others imply is left out"


def test_levels_agree_with_their_axioms() -> None:
    random = Random(31)
    violated = dict.fromkeys(CHAIN, 0)
    for _ in range(COUNT):
        observed = registers(random)
        axioms = Axioms(observed)
        found = recover(observed)
        made = problem(found, orders(found), sessions=True)
        for level in CHAIN:
            if level in (Client.PREFIX, Client.SNAPSHOT, Client.SERIALIZABLE):
                answer = order_exists(made, level, 100_000)
            else:
                answer = basis_of(observed).decide(level).holds
            due = axioms.holds(level)
            assert answer == due, f"{level.value}: {observed}"
            violated[level] += not due
    assert all(20 < count < COUNT for count in violated.values()), violated


def test_without_the_solver_a_search_gives_the_same_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an installation without the extra `solver`."""
    for module in (answers, ordering):
        monkeypatch.setattr(module, "solver", lambda: False)
    random, violated = Random(37), 0
    for _ in range(COUNT // 2):
        observed = registers(random)
        axioms = Axioms(observed)
        levels = (Client.SNAPSHOT, Client.SERIALIZABLE)
        seen = judge(observed, wanted=[level.value for level in levels]).seen
        assert seen is not None
        for level in levels:
            due = axioms.holds(level)
            assert seen.client[level.value][0] == ("holds" if due else "violated"), f"{observed}"
            violated += not due
    assert violated > 20


def test_a_register_history_is_violated_only_if_every_version_order_violates_it() -> None:
    random = Random(37)
    violated = dict.fromkeys((Level.PL_2, Level.PL_CS, Level.PL_2_PLUS, Level.PL_2_99, Level.PL_3), 0)
    for _ in range(COUNT):
        observed = registers(random)
        verdicts = judge(observed).levels
        decided = [level for level in violated if isinstance(verdicts[level], Holds | Violated)]
        for history in completions(observed) if decided else ():
            due = check(history).levels
            for level in decided:
                assert type(due[level]) is type(verdicts[level]), f"{level.value}: {observed}"
        for level in decided:
            violated[level] += isinstance(verdicts[level], Violated)
    assert all(count > 5 for count in violated.values()), violated


def test_with_assumptions_it_is_violated_only_if_every_order_that_keeps_them_violates_it() -> None:
    random, more = Random(39), dict.fromkeys((Level.PL_2, Level.PL_2_PLUS, Level.PL_3), 0)
    for _ in range(COUNT // 3):
        plain = registers(random)
        observed = replace(plain, records=replace(plain.records, assumed=("writes-follow-reads", "sessions")))
        found, without = judge(observed), judge(plain)
        violated = [level for level in more if isinstance(found.levels[level], Violated)]
        if not violated:
            continue
        for level in violated:
            more[level] += not isinstance(without.levels[level], Violated)
        later = orders(recover(observed)).later
        kept = [
            history
            for history, chosen in completed(plain)
            if all(
                chosen[key].index(before) < chosen[key].index(after)
                for key, pairs in later.items()
                for before, after in pairs
            )
        ]
        # Assumptions in a circle leave no order.
        assert found.seen is not None
        assert kept or "cyclic versions" in {name for name, _, _ in found.seen.anomalies}
        for history in kept:
            due = check(history).levels
            for level in violated:
                assert isinstance(due[level], Violated), f"{level.value}: {observed}"
    assert all(count > 3 for count in more.values()), more


def completions(observed: Observed) -> Iterator[History]:
    """The history under every version order."""
    return (history for history, _ in completed(observed))


def completed(observed: Observed) -> Iterator[tuple[History, dict[str, list[int]]]]:
    """The history under every version order, each with the orders that were open."""
    found = recover(observed)
    known = orders(found)
    choices = [permutations(found.installed[key]) for key in known.unknown]
    for chosen in product(*choices):
        every = orders(found)
        made = dict(zip(known.unknown, map(list, chosen), strict=True))
        every.known |= made
        every.unknown = {}
        yield Part(found, every, set(found.taken)).history("", None), made


def test_parallel_snapshot_isolation_agrees_with_every_version_order() -> None:
    """Cerone and others 2015: so, wr and ww, then at most one rw, close no cycle under some version order."""
    random = Random(43)
    answers = {"holds": 0, "violated": 0, "unknown": 0}
    for _ in range(COUNT // 2):
        observed = registers(random)
        axioms = Axioms(observed)
        seen = judge(observed).seen
        assert seen is not None
        answer, _ = seen.client[Client.PARALLEL.value]
        answers[answer] += 1
        if answer != "unknown":
            due = any(parallel(axioms, dict(zip("xy", both, strict=True))) for both in version_orders(axioms))
            assert (answer == "holds") == due, f"{observed}"
    assert answers["violated"] > 50
    assert answers["holds"] > 50


def version_orders(axioms: Axioms) -> Iterator[tuple[tuple[int, ...], ...]]:
    writers = [[i for i in range(axioms.count) if key in axioms.writes[i]] for key in "xy"]
    yield from product(*(permutations(each) for each in writers))


def parallel(axioms: Axioms, orders_of: dict[str, tuple[int, ...]]) -> bool:
    ww = {(a, b) for order in orders_of.values() for at, a in enumerate(order) for b in order[at + 1 :]}
    rw = set()
    for reader, reads in enumerate(axioms.reads):
        for key, writer in reads:
            order = orders_of[key]
            later = order if writer == INIT else order[order.index(writer) + 1 :]
            rw |= {(reader, other) for other in later if other != reader}
    step = axioms.so | axioms.wr | ww
    reached = set(step)
    while more := {(a, d) for a, b in reached for c, d in step if b == c} - reached:
        reached |= more
    return all(a != b and (b, a) not in rw for a, b in reached)


def lists(random: Random) -> Observed:
    """Transactions that append and read lists in a serial order, some of which then read something older."""
    state: dict[str, list[int]] = {"x": [], "y": []}
    old: dict[str, list[tuple[int, ...]]] = {"x": [()], "y": [()]}
    transactions, value = [], 0
    for number in range(1, random.randint(3, 8)):
        ops = []
        touched: set[str] = set()
        for _ in range(random.randint(1, 3)):
            key = random.choice("xy")
            if random.random() < 0.5:
                value += 1
                state[key].append(value)
                ops.append(Op(Kind.APPEND, key, value))
                touched.add(key)
            elif key not in touched:
                shown = random.choice(old[key]) if random.random() < 0.3 else tuple(state[key])
                ops.append(Op(Kind.READ_LIST, key, shown))
        for key in state:
            old[key].append(tuple(state[key]))
        begin = number * 2 - random.randint(0, 5)
        window = Window(begin, number * 2 + 1 + random.random())
        session = str(random.randint(1, 9))
        transactions.append(Transaction(number, session, Status.COMMITTED, ops, f"line {number}", window))
    return Observed("", transactions, LISTS)


def test_what_lies_on_cycles_decides_as_the_whole_history_does() -> None:
    random = Random(41)
    present = dict.fromkeys(ORDERED, 0)
    for _ in range(COUNT // 2):
        observed = lists(random)
        found = recover(observed)
        known = orders(found)
        whole = check(Part(found, known, set(found.taken)).history("", None))
        judged = judge(observed)
        for phenomenon in (*ORDERED, Phenomenon.G_SINGLE_SESSION, Phenomenon.G2_SESSION):
            due, verdict = whole.phenomena[phenomenon], judged.phenomena[phenomenon]
            same = type(due) is type(verdict) or (isinstance(due, Unknown) and isinstance(verdict, Absent))
            # What depends on appends that no read shows is compared in every order of them elsewhere.
            same |= bool(known.tails) and phenomenon in (*BY_ORDER, *BY_ORDER_IN_SESSIONS)
            assert same, f"{phenomenon.value}: {observed}"
            if phenomenon in present:
                present[phenomenon] += isinstance(verdict, Present)
        windows = basis_of(observed).windows(timed=False)
        timed = check(Part(found, known, set(found.taken)).history("", windows))
        for phenomenon in (Phenomenon.G1C_REALTIME, Phenomenon.G_SINGLE_REALTIME, Phenomenon.G2_REALTIME):
            verdict = judged.phenomena[phenomenon]
            same = type(timed.phenomena[phenomenon]) is type(verdict)
            same |= bool(known.tails) and phenomenon in BY_ORDER_IN_TIME
            assert same, f"{phenomenon.value}: {observed}"
    assert present[Phenomenon.G_SINGLE] > 20
    assert present[Phenomenon.G2] > 40


def test_timestamps_decide_snapshots_as_they_do_for_the_whole_history() -> None:
    random = Random(47)
    met = dict.fromkeys((Phenomenon.G_SIA, Phenomenon.G_SIB), 0)
    for _ in range(COUNT // 2):
        observed = lists(random)
        observed.records = Records(aborts=False, lists=True, stamps=True)
        for transaction in observed.transactions:
            assert transaction.window is not None
            transaction.start = (round(transaction.window.begin) * 10 + 100, 0)
            transaction.commit = (transaction.start[0] + random.randint(0, 40), transaction.number)
            transaction.window = None
        found = recover(observed)
        known = orders(found)
        if known.unknown:
            continue
        windows = np.array(
            [
                (t.start[0] + t.start[1] / 100 + 0.001, t.commit[0] + t.commit[1] / 100)
                for t in observed.transactions
                if t.start is not None and t.commit is not None
            ]
        )
        whole = check(Part(found, known, set(found.taken)).history("", windows))
        judged = judge(observed)
        for phenomenon in met:
            due, verdict = whole.phenomena[phenomenon], judged.phenomena[phenomenon]
            assert type(due) is type(verdict), f"{phenomenon.value}: {observed}"
            met[phenomenon] += isinstance(verdict, Present)
    assert all(count > 30 for count in met.values()), met


def test_a_violation_is_one_of_every_stronger_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no order of the transactions is searched for, as in large files."""
    monkeypatch.setattr("dvs_model.clients.judge.SEARCHED_OF", 0)
    reads = [{"transaction": txn, "kind": "r", "key": "x", "value": None} for txn in (1, 2)]
    writes = [{"transaction": txn, "kind": "w", "key": "x", "value": txn} for txn in (1, 2)]
    seen = recorded.judge(recorded.history([*reads, *writes])).seen
    assert seen is not None
    verdicts = {level: verdict for level, (verdict, _) in seen.client.items()}
    assert (verdicts["snapshot isolation"], verdicts["serializable"]) == ("violated", "violated")
