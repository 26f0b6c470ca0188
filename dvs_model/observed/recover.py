"""Match the reads of one transaction to writes, one by one, and describe reads that no write explains.

Clients do not see versions, only values. If no value is written twice to a key, a pair (key, value) names one
write, and so each read names its writer. A read that no write explains becomes a finding with the name of the
anomaly: aborted read, intermediate read, internal, and so on. `columns.match` matches the usual reads with
arrays, and leaves to `Explained` the transactions with a read that is not usual.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from dvs_model.errors import HistoryError
from dvs_model.observed.seen import Kind, Observed, Op, Status, value_text
from dvs_model.observed.values import COLLECTIONS, sort_of

INITIAL = -1
"""In place of the index of a writer: nobody in the file wrote the version, it was there before the run."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An anomaly of single reads or of one key, which no correct database shows.

    `name`: as in docs/clients.md. `txns`: the numbers of the transactions.
    """

    name: str
    txns: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class VersionRead:
    """A read of a version that another transaction wrote, or that was there before the run.

    `reader`, `writer`: indexes of transactions, the writer may be INITIAL. `value`: the value; of a list its
    last element, which names the version. `place`: the place of the read among the operations of its
    transaction.
    """

    reader: int
    writer: int
    key: str
    value: object
    place: int


@dataclass(slots=True)
class Recovered:
    """A history with its reads matched to writes.

    `taken`: the indexes of the transactions that count as committed: those that did, and those without an
    answer from which a committed one read. `reads`: the reads that are dependencies. `installed`: by key and
    transaction the last value that it wrote, which is the version it installed. `placed`: by key and
    transaction the place of that write among the operations. `bad`: by key the (place, element) of the
    longest list that was read, of elements that no committed transaction appended. `broken`: by key why no
    version order follows from its lists. `findings`: the anomalies. `missing`: the number of reads of values
    that nobody wrote.
    """

    observed: Observed
    taken: set[int] = field(default_factory=set)
    reads: list[VersionRead] = field(default_factory=list)
    installed: dict[str, dict[int, object]] = field(default_factory=dict)
    placed: dict[str, dict[int, int]] = field(default_factory=dict)
    bad: dict[str, list[tuple[int, object]]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    missing: int = 0

    def number(self, index: int) -> int:
        """Returns the number of a transaction."""
        return self.observed.number(index)


Wrote = Callable[[str, object], tuple[int, int] | None]
"""From key and value to the index of the transaction that wrote it, and the place of the write in it."""


Sorts = Mapping[str, Collection[str]]
"""By key the sorts of the values that were written to it, such as numbers or strings."""


def sorts_of(written: Iterable[tuple[str, object]]) -> Sorts:
    """Returns by key the sorts of its values."""
    sorts: dict[str, set[str]] = {}
    for key, value in written:
        sorts.setdefault(key, set()).add(sort_of(value))
    return sorts


def apart(
    observed: Observed, whole: tuple[object, ...], appends: Mapping[int, Sequence[object]]
) -> int | None:
    """Returns a transaction whose elements do not stand together in a list, in the order of its appends.

    None: there is none. If elements are apart, another transaction appended in between, which is a dirty
    write. At the end of the list later elements may be missing: the reader saw an intermediate list. Elements
    of aborted transactions, and elements that nobody appended, are passed over: other findings name these.

    `whole`: the list. `appends`: by transaction the elements that it appended to the key.
    """
    writer = {
        value: index
        for index, values in appends.items()
        if observed.status(index) is not Status.ABORTED
        for value in values
    }
    shown = (value for value in whole if value in writer)
    # A run is a maximal sequence of elements of one transaction. A transaction is whole if its run is all
    # that it appended; one that has two runs has a first one that is too short.
    runs = [(index, list(run)) for index, run in groupby(shown, key=writer.__getitem__)]
    for place, (index, run) in enumerate(runs):
        due = appends[index][: len(run)] if place == len(runs) - 1 else appends[index]
        if run != list(due):
            return index
    return None


def interrupted(found: Recovered, key: str, whole: tuple[object, ...], index: int) -> None:
    """Adds the finding that a list shows the appends of one transaction in parts, or in another order."""
    other = found.observed.transactions[index]
    text = (
        f"key {key} was read as {value_text(whole)}, in which what T{other.number} ({other.place}) appended "
        "does not stand together in its order"
    )
    found.findings.append(Finding("dirty write", (other.number,), text))
    found.broken[key] = "what one transaction appended does not stand together"


def twice(found: Recovered, key: str, value: tuple[object, ...], index: int) -> None:
    """Adds the finding that a transaction read a list which shows one element twice."""
    before = set[object]()
    item = next(item for item in value if item in before or before.add(item))  # type: ignore[func-returns-value]
    text = f"a read of key {key} shows {value_text(item)} twice: {value_text(value)}"
    found.findings.append(Finding("duplicate elements", (found.number(index),), text))
    found.broken[key] = "a read shows an element twice"


def incompatible(found: Recovered, op: Op, whole: tuple[object, ...], index: int, other: int) -> None:
    """Adds the finding that of two lists of a key, neither is a prefix of the other."""
    both = f"{value_text(op.value)} and as {value_text(whole)}"
    text = f"key {op.key} was read as {both}; neither is the beginning of the other"
    txns = found.number(index), found.number(other)
    found.findings.append(Finding("incompatible orders", txns, text))
    found.broken[op.key] = "two reads show incompatible orders"


class Explained:
    """The reads of one committed transaction, matched to writes in the order of its operations.

    `own`: by key what the transaction has written so far: the last value, or all elements appended. `first`:
    by key the value (of a list without own appends) that it read first. `shown`: by key the read of another's
    version that its last new read gave, if that read is a dependency.
    """

    def __init__(
        self,
        found: Recovered,
        index: int,
        wrote: Wrote,
        final: Mapping[str, Mapping[int, object]],
        sorts: Callable[[], Sorts],
    ) -> None:
        self.found, self.index, self.wrote, self.final = found, index, wrote, final
        self.sorts = sorts
        self.transaction = found.observed.transactions[index]
        self.own: dict[str, list[object]] = {}
        self.first: dict[str, object] = {}
        self.shown: dict[str, VersionRead] = {}

    def read(self) -> Iterator[VersionRead]:
        """Yields the reads that are dependencies, and adds a finding for each read that no write explains."""
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
        """Adds a finding about this transaction. `others`: the numbers of further transactions in it."""
        number = self.transaction.number
        text = f"T{number} ({self.transaction.place}) {text}"
        self.found.findings.append(Finding(name, (number, *others), text))

    def read_list(self, place: int, op: Op) -> Iterator[VersionRead]:
        """Yields the dependency of a read of a list: on the writer of its last element not appended here."""
        assert isinstance(op.value, tuple)
        mine, value = self.own.get(op.key, []), op.value
        if mine:
            if list(value[-len(mine) :]) != mine:
                wrote = value_text(mine[-1])
                self.add("internal", f"appended {wrote} to key {op.key} and then read {value_text(value)}")
                return
            # The version of another transaction is what stands before the own appends.
            value = value[: -len(mine)]
        if not self.same(op, value):
            yield from self.again(place, op)
            return
        yield from self.version(place, op, value[-1] if value else None, initial=not value)
        # The last element names the version. But every element that is shown was read, so earlier ones may
        # be aborted reads as well. `bad` has those of the longest list; a list of a broken key need not be a
        # prefix of that one, so all its elements are looked at.
        last = len(value) - 1
        bad = self.found.bad.get(op.key, ())
        inner = enumerate(value[:-1]) if op.key in self.found.broken else bad
        for element in (item for at, item in inner if at < last):
            writer = self.wrote(op.key, element)
            if writer is None:
                self.unwritten(op, element)
            else:
                self.aborted(op, element, writer[0])

    def read_value(self, place: int, op: Op) -> Iterator[VersionRead]:
        """Yields the dependency of a read of a single value; a read of the own last write is none."""
        mine = self.own.get(op.key)
        if mine:
            if op.value != mine[-1] and not (op.writer and op.writer[0] == self.transaction.number):
                wrote = value_text(mine[-1])
                self.add("internal", f"wrote {wrote} to key {op.key} and then read {value_text(op.value)}")
            return
        initial = op.value is None or (
            op.value in self.found.observed.records.initial and self.wrote(op.key, op.value) is None
        )
        # A format may have two marks for what was there before the run (Cobra has). They are one value.
        if not self.same(op, None if initial else op.value):
            yield from self.again(place, op)
            return
        yield from self.version(place, op, op.value, initial=initial)

    def again(self, place: int, op: Op) -> Iterator[VersionRead]:
        """Yields a second read of a version: since the first one a newer version may have been seen.

        Read committed forbids to miss that. After an own write a read shows that write, and is no dependency.
        """
        earlier = self.shown.get(op.key)
        if earlier is not None and not self.own.get(op.key):
            yield replace(earlier, place=place)

    def same(self, op: Op, value: object) -> bool:
        """Tells whether a read is the first of its key, or shows another value than the read before.

        In the latter case it adds the finding "non-repeatable read".
        """
        if op.key in self.first:
            before = self.first[op.key]
            if before == value:
                return False
            text = f"read key {op.key} as {value_text(before)} and then as {value_text(value)}"
            self.add("non-repeatable read", text)
        self.first[op.key] = value
        return True

    def version(self, place: int, op: Op, value: object, *, initial: bool) -> Iterator[VersionRead]:
        """Yields the read of a version if it is a dependency, and remembers it for `again`."""
        self.shown.pop(op.key, None)
        for observation in self.of_version(place, op, value, initial=initial):
            self.shown[op.key] = observation
            yield observation

    def of_version(self, place: int, op: Op, value: object, *, initial: bool) -> Iterator[VersionRead]:
        """Yields the read of a version if its writer installed it; else adds a finding that says why not."""
        if initial:
            yield VersionRead(self.index, INITIAL, op.key, None, place)
            return
        writer = self.wrote(op.key, value)
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
            # The writer replaced it before it committed, so the version is in no version order and gives no
            # edge (docs/notation.md, rule 2).
            other = self.found.observed.transactions[index]
            text = (
                f"read {value_text(value)} of key {op.key}, which T{other.number} ({other.place}) then "
                f"replaced by {value_text(self.final[op.key][index])}"
            )
            self.add("intermediate read", text, other.number)
            return
        yield VersionRead(self.index, index, op.key, value, place)

    def aborted(self, op: Op, value: object, index: int) -> bool:
        """Adds the finding "aborted read" if the writer `index` aborted; returns whether it did."""
        if self.found.observed.status(index) is not Status.ABORTED:
            return False
        other = self.found.observed.transactions[index]
        wrote = f"which T{other.number} ({other.place}) wrote and aborted"
        text = f"read {value_text(value)} of key {op.key}, {wrote}"
        self.add("aborted read", text, other.number)
        return True

    def other_sort(self, op: Op, value: object) -> None:
        """Raises HistoryError if a value that nobody wrote is of a sort that nobody wrote to the key.

        Then the file is of another workload, whose reads show a whole set, or the balance of each account. To
        report millions of anomalies would be wrong.
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
        """Adds the finding that a read shows a value that nobody wrote.

        Raises HistoryError: see `other_sort`.
        If the file has every committed write, the value was never committed. Else its writer may be missing.
        """
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
