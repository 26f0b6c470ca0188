"""Who wrote what each transaction read, found by the values; and what cannot be explained, by name.

A version is a (key, value), so that every write must be unique. A read of an own write is no dependency; one
that contradicts it is `internal`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby

from dvs_model.errors import HistoryError
from dvs_model.observed.seen import Kind, Observed, Op, Status, value_text
from dvs_model.observed.values import COLLECTIONS, sort_of

INITIAL = -1
"""Instead of the index of a writer: the version before the run."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that no correct database shows. `txns`: by number; `name`: as in docs/clients.md."""

    name: str
    txns: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A read of a version of another transaction.

    `reader`, `writer`: indexes of transactions; INITIAL: nobody wrote it. `value`: the value, or the last
    element of a list. `place`: the read's place among the operations of its transaction.
    """

    reader: int
    writer: int
    key: str
    value: object
    place: int


@dataclass(slots=True)
class Recovered:
    """A history with its reads matched to writes.

    `installed`: by key the last value that each committed transaction wrote of it. `placed`: by key and
    transaction the place of that write among the operations. `appended`: the keys that hold lists.
    `lists`: by key the longest list that was read; `bad`: its elements that nobody committed, with their
    places. `broken`: by key why its version order is not known although lists were read.
    `missing`: reads of values that nobody wrote. `taken`: the indexes of the transactions that count as
    committed: those that did, and unanswered ones that somebody read from.
    """

    observed: Observed
    taken: set[int] = field(default_factory=set)
    reads: list[Observation] = field(default_factory=list)
    installed: dict[str, dict[int, object]] = field(default_factory=dict)
    placed: dict[str, dict[int, int]] = field(default_factory=dict)
    lists: dict[str, tuple[object, ...]] = field(default_factory=dict)
    bad: dict[str, list[tuple[int, object]]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    appended: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    missing: int = 0

    def number(self, index: int) -> int:
        """Returns the number of a transaction."""
        return self.observed.number(index)


Writers = Mapping[tuple[str, object], tuple[int, int]]
"""By key and value the transaction that wrote it, and the place of the write."""


Sorts = Mapping[str, Collection[str]]
"""By key of which sorts the values are that were written to it."""


def recover(observed: Observed) -> Recovered:
    """Matches reads to writes. Raises HistoryError: of a value that was read nothing tells who wrote it."""
    writers = _writers(observed)
    found = Recovered(observed)
    final = _final(observed)
    _longest(found, observed)
    appends = _appends(observed)
    found.appended = set(appends)
    for key, whole in found.lists.items():
        if key not in found.broken and (index := apart(observed, whole, appends.get(key, {}))) is not None:
            interrupted(found, key, whole, index)
    _take(found, observed, writers)
    sorts = cache(lambda: sorts_of(writers))
    for index in sorted(found.taken):
        if observed.transactions[index].status is Status.COMMITTED:
            for op in Explained(found, index, writers, final, sorts).read():
                found.reads.append(op)
    for key, of_key in final.items():
        found.installed[key] = {index: value for index, value in of_key.items() if index in found.taken}
        found.placed[key] = {index: writers[key, value][1] for index, value in found.installed[key].items()}
    return found


def _writers(observed: Observed) -> dict[tuple[str, object], tuple[int, int]]:
    writers: dict[tuple[str, object], tuple[int, int]] = {}
    loaded = observed.records.loaded
    for index, transaction in enumerate(observed.transactions):
        for place, op in enumerate(transaction.ops):
            if op.kind is Kind.WRITE or op.kind is Kind.APPEND:
                if op.kind is Kind.WRITE and op.value in loaded:
                    fact = (
                        f"{value_text(op.value)} is what was there before the run, as --initial-value says, "
                        f"and it is written to key {op.key} again in {transaction.place}; values must be "
                        "unique, or no read tells what it has read"
                    )
                    raise HistoryError(fact)
                known = writers.setdefault((op.key, op.value), (index, place))
                if known != (index, place):
                    other = observed.transactions[known[0]]
                    fact = (
                        f"{value_text(op.value)} is written twice to key {op.key}: in {other.place} and in "
                        f"{transaction.place}; values must be unique, or no read tells what it has read"
                    )
                    raise HistoryError(fact)
    return writers


def sorts_of(written: Iterable[tuple[str, object]]) -> Sorts:
    """Returns by key of which sorts its values are."""
    sorts: dict[str, set[str]] = {}
    for key, value in written:
        sorts.setdefault(key, set()).add(sort_of(value))
    return sorts


def _final(observed: Observed) -> dict[str, dict[int, object]]:
    """Returns by key and transaction the last value written."""
    final: dict[str, dict[int, object]] = {}
    for index, transaction in enumerate(observed.transactions):
        for op in transaction.ops:
            if op.kind is Kind.WRITE or op.kind is Kind.APPEND:
                final.setdefault(op.key, {})[index] = op.value
    return final


def _appends(observed: Observed) -> dict[str, dict[int, list[object]]]:
    """Returns by key and transaction what it appended, in its order."""
    appends: dict[str, dict[int, list[object]]] = {}
    for index, transaction in enumerate(observed.transactions):
        for op in transaction.ops:
            if op.kind is Kind.APPEND:
                appends.setdefault(op.key, {}).setdefault(index, []).append(op.value)
    return appends


def apart(
    observed: Observed, whole: tuple[object, ...], appends: Mapping[int, Sequence[object]]
) -> int | None:
    """Returns a transaction whose elements do not stand together in a list as it appended them; else None.

    At the end of the list the later ones may be missing: the reader saw an intermediate list. Elements of
    aborted transactions, and those that nobody appended, are left aside: they are another matter.
    """
    writer = {
        value: index
        for index, values in appends.items()
        if observed.status(index) is not Status.ABORTED
        for value in values
    }
    shown = (value for value in whole if value in writer)
    runs = [(index, list(run)) for index, run in groupby(shown, key=writer.__getitem__)]
    for place, (index, run) in enumerate(runs):
        due = appends[index][: len(run)] if place == len(runs) - 1 else appends[index]
        if run != list(due):
            return index
    return None


def interrupted(found: Recovered, key: str, whole: tuple[object, ...], index: int) -> None:
    """Notes that a list shows what a transaction appended in parts, or in another order."""
    other = found.observed.transactions[index]
    text = (
        f"key {key} was read as {value_text(whole)}, in which what T{other.number} ({other.place}) appended "
        "does not stand together in its order"
    )
    found.findings.append(Finding("dirty write", (other.number,), text))
    found.broken[key] = "what one transaction appended does not stand together"


def _committed(observed: Observed) -> Iterator[tuple[int, Op]]:
    """Yields the operations of committed transactions, each with the index of its transaction."""
    for index, transaction in enumerate(observed.transactions):
        if transaction.status is Status.COMMITTED:
            for op in transaction.ops:
                yield index, op


def _longest(found: Recovered, observed: Observed) -> None:
    """Finds by key the longest list that was read; each other one must be a prefix of it."""
    longest: dict[str, tuple[tuple[object, ...], int]] = {}
    for index, op in _committed(observed):
        if op.kind is Kind.READ_LIST:
            assert isinstance(op.value, tuple)
            known = longest.get(op.key)
            if known is None or len(op.value) > len(known[0]):
                longest[op.key] = op.value, index
    found.lists = {key: value for key, (value, _) in longest.items()}
    for key, (value, index) in longest.items():
        if len(set(value)) < len(value):
            twice(found, key, value, index)
    for index, op in _committed(observed):
        if op.kind is Kind.READ_LIST and op.key not in found.broken:
            whole, other = longest[op.key]
            assert isinstance(op.value, tuple)
            if op.value != whole[: len(op.value)]:
                incompatible(found, op, whole, index, other)


def twice(found: Recovered, key: str, value: tuple[object, ...], index: int) -> None:
    """Notes that a transaction read a list with an element that it holds twice."""
    before = set[object]()
    item = next(item for item in value if item in before or before.add(item))  # type: ignore[func-returns-value]
    text = f"a read of key {key} shows {value_text(item)} twice: {value_text(value)}"
    found.findings.append(Finding("duplicate elements", (found.number(index),), text))
    found.broken[key] = "a read shows an element twice"


def incompatible(found: Recovered, op: Op, whole: tuple[object, ...], index: int, other: int) -> None:
    """Notes that two transactions read lists of a key of which neither is the beginning of the other."""
    both = f"{value_text(op.value)} and as {value_text(whole)}"
    text = f"key {op.key} was read as {both}; neither is the beginning of the other"
    txns = found.number(index), found.number(other)
    found.findings.append(Finding("incompatible orders", txns, text))
    found.broken[op.key] = "two reads show incompatible orders"


def _take(found: Recovered, observed: Observed, writers: Writers) -> None:
    """Finds the transactions that count as committed, and what lists show that nobody committed."""
    statuses = [transaction.status for transaction in observed.transactions]
    found.taken = {index for index, status in enumerate(statuses) if status is Status.COMMITTED}
    for key, whole in found.lists.items():
        for place, value in enumerate(whole):
            writer = writers.get((key, value))
            if writer is None or statuses[writer[0]] is Status.ABORTED:
                found.bad.setdefault(key, []).append((place, value))
            else:
                found.taken.add(writer[0])
    if Status.UNKNOWN in statuses:
        for _, op in _committed(observed):
            shown = op.value if op.kind is Kind.READ_LIST else (op.value,)
            if op.kind is Kind.READ or (op.kind is Kind.READ_LIST and op.key in found.broken):
                assert isinstance(shown, tuple)
                known = (writers.get((op.key, value)) for value in shown)
                found.taken |= {w[0] for w in known if w and statuses[w[0]] is Status.UNKNOWN}


class Explained:
    """The reads of one committed transaction, matched to writes.

    `own`: by key what it has written so far. `first`, `shown`: by key what it has read of others so far.
    """

    def __init__(
        self,
        found: Recovered,
        index: int,
        writers: Writers,
        final: Mapping[str, Mapping[int, object]],
        sorts: Callable[[], Sorts],
    ) -> None:
        self.found, self.index, self.writers, self.final = found, index, writers, final
        self.sorts = sorts
        self.transaction = found.observed.transactions[index]
        self.own: dict[str, list[object]] = {}
        self.first: dict[str, object] = {}
        self.shown: dict[str, Observation] = {}

    def read(self) -> Iterator[Observation]:
        """Yields the reads of versions of others, and notes what cannot be explained."""
        for place, op in enumerate(self.transaction.ops):
            if op.kind is Kind.WRITE:
                self.own[op.key] = [op.value]
            elif op.kind is Kind.APPEND:
                self.own.setdefault(op.key, []).append(op.value)
            elif op.kind is Kind.READ_LIST:
                yield from self.read_list(place, op)
            else:
                yield from self.read_value(place, op)

    def add(self, name: str, text: str, *others: int) -> None:
        number = self.transaction.number
        text = f"T{number} ({self.transaction.place}) {text}"
        self.found.findings.append(Finding(name, (number, *others), text))

    def read_list(self, place: int, op: Op) -> Iterator[Observation]:
        assert isinstance(op.value, tuple)
        mine, value = self.own.get(op.key, []), op.value
        if mine:
            if list(value[-len(mine) :]) != mine:
                wrote = value_text(mine[-1])
                self.add("internal", f"appended {wrote} to key {op.key} and then read {value_text(value)}")
                return
            value = value[: -len(mine)]
        if not self.same(op, value):
            yield from self.again(place, op)
            return
        yield from self.version(place, op, value[-1] if value else None, initial=not value)
        # Every element that is shown was read, also those before the last one.
        last = len(value) - 1
        known = self.found.bad.get(op.key, ())
        inner = enumerate(value[:-1]) if op.key in self.found.broken else known
        for element in (item for at, item in inner if at < last):
            writer = self.writers.get((op.key, element))
            if writer is None:
                self.unwritten(op, element)
            else:
                self.aborted(op, element, writer[0])

    def read_value(self, place: int, op: Op) -> Iterator[Observation]:
        mine = self.own.get(op.key)
        if mine:
            if op.value != mine[-1] and not (op.writer and op.writer[0] == self.transaction.number):
                wrote = value_text(mine[-1])
                self.add("internal", f"wrote {wrote} to key {op.key} and then read {value_text(op.value)}")
            return
        initial = op.value is None or (
            op.value in self.found.observed.records.initial and (op.key, op.value) not in self.writers
        )
        # A format may have two marks for what was there before the run.
        if not self.same(op, None if initial else op.value):
            yield from self.again(place, op)
            return
        yield from self.version(place, op, op.value, initial=initial)

    def again(self, place: int, op: Op) -> Iterator[Observation]:
        """Yields a read of the version that an earlier one has shown: it misses what was seen since."""
        known = self.shown.get(op.key)
        if known is not None and not self.own.get(op.key):
            yield replace(known, place=place)

    def same(self, op: Op, value: object) -> bool:
        """Notes a second value of one key; returns whether the read says something new."""
        if op.key in self.first:
            before = self.first[op.key]
            if before == value:
                return False
            text = f"read key {op.key} as {value_text(before)} and then as {value_text(value)}"
            self.add("non-repeatable read", text)
        self.first[op.key] = value
        return True

    def version(self, place: int, op: Op, value: object, *, initial: bool) -> Iterator[Observation]:
        self.shown.pop(op.key, None)
        for observation in self.of_version(place, op, value, initial=initial):
            self.shown[op.key] = observation
            yield observation

    def of_version(self, place: int, op: Op, value: object, *, initial: bool) -> Iterator[Observation]:
        if initial:
            yield Observation(self.index, INITIAL, op.key, None, place)
            return
        writer = self.writers.get((op.key, value))
        if writer is None:
            self.unwritten(op, value)
            return
        index = writer[0]
        if index == self.index:
            self.add("future read", f"read {value_text(value)} of key {op.key} before writing it")
            return
        if op.writer is not None and self.found.number(index) != op.writer[0]:
            stated = f"which the log ascribes to transaction {op.writer[0]}"
            self.add(
                "wrong writer",
                f"read {value_text(value)} of key {op.key}, {stated}",
                self.found.number(index),
            )
        if self.aborted(op, value, index):
            return
        if self.final[op.key][index] != value:
            # Nobody installed it, so it gives no edge (docs/notation.md, rule 2).
            other = self.found.observed.transactions[index]
            text = (
                f"read {value_text(value)} of key {op.key}, which T{other.number} ({other.place}) then "
                f"replaced by {value_text(self.final[op.key][index])}"
            )
            self.add("intermediate read", text, other.number)
            return
        yield Observation(self.index, index, op.key, value, place)

    def aborted(self, op: Op, value: object, index: int) -> bool:
        if self.found.observed.status(index) is not Status.ABORTED:
            return False
        other = self.found.observed.transactions[index]
        wrote = f"which T{other.number} ({other.place}) wrote and aborted"
        text = f"read {value_text(value)} of key {op.key}, {wrote}"
        self.add("aborted read", text, other.number)
        return True

    def other_sort(self, op: Op, value: object) -> None:
        """Checks that a value which nobody wrote is of a sort that was written. Raises HistoryError.

        Reads of another workload show such values: the whole set, or the balance of each account.
        """
        mine, written = sort_of(value), self.sorts().get(op.key, ())
        if mine in written or not (written or mine in COLLECTIONS):
            return
        workload = "list-append" if op.kind is Kind.READ_LIST else "register"
        wrote = f"{' and '.join(sorted(written))} were" if written else "nothing was"
        raise HistoryError(
            f"T{self.transaction.number} ({self.transaction.place}) reads {value_text(value)[:60]} of key "
            f"{op.key}, and {wrote} written to it; reads of {mine} "
            f"belong to another workload than {workload}, which is not judged"
        )

    def unwritten(self, op: Op, value: object) -> None:
        self.other_sort(op, value)
        if self.found.observed.records.complete:
            wrote = f"read {value_text(value)} of key {op.key}, which no committed transaction wrote"
            self.add("aborted read", wrote)
            return
        self.found.missing += 1
        by = "which nobody wrote"
        if op.writer is not None:
            by = f"which transaction {op.writer[0]} wrote, and that one is outside of the log"
        self.add("unwritten value read", f"read {value_text(value)} of key {op.key}, {by}")
