"""Convert a whole history of clients to Adya's notation, with notes on what the notation lost or added.

The notation demands a total version order for each key and reads that follow the writes; client files have
neither. So missing orders are chosen such that they close no cycle, if that can be, and a note says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import chain

from dvs_model.clients.basis import InColumns
from dvs_model.graph.cycles import strong_labels
from dvs_model.histories.history import Abort, Commit, Event, History, Read, Version, Write
from dvs_model.histories.inventory import T0
from dvs_model.observed.history import Names, Orders, Pair, plain_value, session_names
from dvs_model.observed.recover import Recovered
from dvs_model.observed.seen import READS, Kind, Observed, Op, Status


def whole(observed: Observed) -> tuple[History, tuple[str, ...]]:
    """Returns a history with all transactions, and notes on what it leaves out or states beyond the file.

    Raises HistoryError: one value is written twice to one key.
    """
    return _Whole(observed).history()


NOT_HELD = ("incompatible orders", "dirty write", "duplicate elements", "wrong writer", "future read")
"""Findings about reads that the notation cannot show: it has one order of versions for each key, and each
read names one version. A history without them may keep levels that the file violates.
"""


@dataclass(slots=True)
class _Whole:
    """The conversion of one history.

    `made`: by key and value the version. `initial`: the objects of which the version before the run is read.
    `lost`: by note how many times it applies.
    """

    observed: Observed
    names: Names = field(default_factory=Names)
    made: dict[tuple[str, object], Version] = field(default_factory=dict)
    initial: dict[str, None] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)

    def history(self) -> tuple[History, tuple[str, ...]]:
        """Returns the history, and what it could not hold, a sentence each."""
        basis = InColumns(self.observed)
        found, known = basis.whole()
        counts: dict[tuple[str, int], int] = {}
        for transaction in self.observed.transactions:
            for op in transaction.ops:
                if op.kind in (Kind.WRITE, Kind.APPEND):
                    key = op.key, transaction.number
                    counts[key] = counts.get(key, 0) + 1
                    self.made[op.key, op.value] = Version(
                        self.names.of(op.key), transaction.number, counts[key]
                    )
        body = {index: list(self.body(index, index in found.taken)) for index in self.placed()}
        first: list[Event] = [Write(T0, Version(obj, T0, 1)) for obj in sorted(self.initial)]
        if first:
            first.append(Commit(T0))
        for finding in basis.findings:
            if finding.name in NOT_HELD:
                lost = f"the notation has no form for {finding.name}, so the history lacks it: {finding.text}"
                self.lose(lost)
        events = (*first, *(event for index in body for event in body[index]))
        history = History(
            name=self.observed.name,
            events=events,
            orders=dict(self.version_orders(basis, found, known, counts)),
            sessions=self.sessions(),
            implicit_initial=bool(first),
        )
        return history, (*self.observed.notes, *(f"{text} ({n} times)" for text, n in self.lost.items()))

    def lose(self, text: str) -> None:
        """Counts a note on something that is left out, or stated beyond the file."""
        self.lost[text] = self.lost.get(text, 0) + 1

    def placed(self) -> list[int]:
        """Returns the transactions such that each comes after those it read from, else as in the file.

        The notation refuses a read of what is written later, if another order of events would explain it.
        """
        writer = {
            (op.key, op.value): index
            for index, transaction in enumerate(self.observed.transactions)
            for op in transaction.ops
            if op.kind not in READS
        }
        pairs = []
        for index, transaction in enumerate(self.observed.transactions):
            for op in transaction.ops if transaction.status is Status.COMMITTED else ():
                if op.kind in READS:
                    value = op.value[-1:] if isinstance(op.value, tuple) else (op.value,)
                    source = writer.get((op.key, value[0])) if value else None
                    if source is not None and source != index:
                        pairs.append((source, index))
        place = ranks(len(self.observed.transactions), pairs)
        # Transactions that read from each other have one rank, and stay in the order of the file: no order
        # puts each write before its reads.
        return sorted(range(len(place)), key=place.__getitem__)

    def body(self, index: int, counts: bool) -> Iterator[Event]:
        """Yields the events of a transaction. `counts`: whether it counts as committed."""
        transaction = self.observed.transactions[index]
        number, own = transaction.number, dict[str, Version]()
        if transaction.window is not None or transaction.start is not None:
            self.lose("when transactions began is left out: only reads and writes are placed")
        for op in transaction.ops:
            if op.kind in (Kind.WRITE, Kind.APPEND):
                version = own[op.key] = self.made[op.key, op.value]
                yield Write(number, version, plain_value(op.value))
            elif transaction.status is Status.COMMITTED and (seen := self.seen(op, own)) is not None:
                yield Read(number, seen, plain_value(op.value))
        if transaction.status is Status.UNKNOWN:
            fate = "committed, as somebody read from them" if counts else "aborted, as nobody read from them"
            self.lose(f"transactions without an answer count as {fate}")
        yield Commit(number) if counts else Abort(number)

    def seen(self, op: Op, own: dict[str, Version]) -> Version | None:
        """Returns the version that a read shows; None: the notation cannot hold it.

        `own`: by key the last version that the transaction has written so far. The notation demands that a
        transaction reads its own latest version.
        """
        if isinstance(op.value, tuple):
            shown = (self.made.get((op.key, op.value[-1])) if op.value else None, not op.value)
        else:
            initial = op.value is None or op.value in self.observed.records.initial
            version = self.made.get((op.key, op.value))
            shown = (version, initial and version is None)
        # `shown`: the version, and whether the read shows what was there before the run.
        version = shown[0]
        if shown[1]:
            obj = self.names.of(op.key)
            self.initial[obj] = None
            version = Version(obj, T0, 1)
        if version is None:
            self.lose("a read of a value that nobody wrote is left out")
        elif op.key in own and own[op.key] != version:
            self.lose("a read that does not show the transaction's own write is left out")
            return None
        return version

    def version_orders(
        self, basis: InColumns, found: Recovered, known: Orders, counts: dict[tuple[str, int], int]
    ) -> Iterator[tuple[str, tuple[Version, ...]]]:
        """Yields each object with its version order. `counts`: by key and transaction how many versions."""
        written = dict.fromkeys(key for key, _ in self.made)
        keys = [key for of in (known.known, known.unknown) for key in written if key in of]
        place = convenient(basis) if known.tails or known.unknown else []
        for key in keys:
            obj = self.names.of(key)
            tail = sorted(known.tails.get(key, ()), key=place.__getitem__)
            order = [*known.known.get(key, ()), *tail]
            # Versions of registers, and tails of lists, have no recorded order: state one that does no harm.
            if key in known.unknown:
                order = sorted(found.installed[key], key=place.__getitem__)
                self.lose("the order of a key's versions is not recorded; one without a cycle is stated")
            elif tail:
                self.lose(
                    "the order of appends that no read shows is not recorded; one without a cycle is stated"
                )
            numbers = [self.observed.transactions[index].number for index in order]
            versions = [Version(obj, number, counts[key, number]) for number in numbers]
            first = [Version(obj, T0, 1)] if obj in self.initial else []
            yield obj, (*first, *versions)
        for obj in self.initial:
            if self.names.keys[obj] not in keys:
                yield obj, (Version(obj, T0, 1),)

    def sessions(self) -> dict[str, tuple[int, ...]]:
        """Returns the transactions of each session by its name, in order; none if none are recorded."""
        if not self.observed.records.sessions:
            return {}
        sessions = self.observed.by_session()
        names = session_names(sessions)
        return {names[each]: tuple(txn.number for txn in txns) for each, txns in sessions.items()}


def convenient(basis: InColumns) -> list[tuple[int, ...]]:
    """Returns sort keys of transactions, by which versions without a known order are put in one.

    An order along all dependencies and sessions closes no cycle with them. Where these close a cycle by
    themselves, the next sort key takes fewer kinds of edges into account, so that at least no cycle of these
    kinds is added (ww and wr alone, for G1c), and so on.
    """
    edges = basis.edges
    ww, wr, rw, session = (each.tolist() for each in (edges.ww, edges.wr, edges.rw, edges.session))
    kinds = ((ww, wr, rw, session), (ww, wr, rw), (ww, wr, session), (ww, wr), (ww,))
    each = [ranks(len(basis.taken), chain.from_iterable(of)) for of in kinds]
    return [tuple(rank[0] for rank in of) for of in zip(*each, strict=True)]


def ranks(count: int, pairs: Iterable[Pair]) -> list[tuple[int, int]]:
    """Returns (place, index) for each index, such that pairs lead from a place to a later one.

    All vertices of a strongly connected component have the same place. Components that no pair orders stand
    in the order of their first index.
    """
    arcs = list(pairs)
    knot_of = strong_labels((a for a, _ in arcs), (b for _, b in arcs), count)
    first = dict[int, int]()
    for index, knot in enumerate(knot_of):
        first.setdefault(knot, index)
    below: list[set[int]] = [set() for _ in first]
    for a, b in arcs:
        if knot_of[a] != knot_of[b]:
            below[knot_of[a]].add(knot_of[b])
    entering = Counter(head for heads in below for head in heads)
    # Topological sort with a heap: of the components that nothing precedes any more, the one with the
    # smallest index comes next, which keeps the order of the file as far as it can be kept.
    ready = [(first[knot], knot) for knot in first if not entering[knot]]
    heapify(ready)
    place: dict[int, int] = {}
    while ready:
        _, knot = heappop(ready)
        place[knot] = len(place)
        for head in below[knot]:
            entering[head] -= 1
            if not entering[head]:
                heappush(ready, (first[head], head))
    return [(place[knot_of[index]], index) for index in range(count)]
