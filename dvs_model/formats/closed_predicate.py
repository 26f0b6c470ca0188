"""Elle's closed-predicate workload: reads by a predicate, over keys that are all known.

The first operation says what the keys hold: `{:f :init, :value {k v}}`. Transactions then `[:insert k v]`,
`[:w k v]`, `[:delete k]`, read `[:r k v]`, and read by a predicate `[:rp pred {k v}]`, where `pred` is
`:true`, `[:= c]` or `[:mod m r]`. As in Elle, the versions of a key are in the order of its writes in the
file.

A read by a predicate shows the keys that match. For a key that it does not show, it selected some version
that does not match. That version is known if only one does not match; which one it was makes no difference if
no version between the candidates matches. A read `[:r k nil]` counts as a read by the predicate THERE, "k has
a value".

*Choice*: the candidates for a hidden key are the last versions, by transactions that may have committed,
which do not match; earlier versions only if no last one qualifies. So a dirty read that shows nothing is not
found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dvs_model.analysis.verdict import Unselected
from dvs_model.formats.jepsen import Operation
from dvs_model.formats.key_versions import INITIAL_STATE, KeyVersion, KeyVersions
from dvs_model.formats.placing import placed
from dvs_model.formats.predicate_file import THERE, Predicate, PredicateFile
from dvs_model.formats.reader import Parsed, Pieces
from dvs_model.formats.written.operations import written
from dvs_model.histories.history import (
    Abort,
    Commit,
    Event,
    History,
    PredicateRead,
    Read,
    Start,
    Version,
    Write,
    unborn,
)
from dvs_model.histories.inventory import T0
from dvs_model.observed.history import plain_value
from dvs_model.observed.seen import Status, value_text

OWN = {":insert", ":delete", ":rp"}
"""Micro-operations that no other workload has."""


def is_closed_predicate(operations: Sequence[Operation]) -> bool:
    """Returns whether an operation is of this workload alone."""
    parts = (part for each in operations if type(each.value) is list for part in each.value)
    return any(each.f == ":init" for each in operations) or any(
        type(part) is list and part and isinstance(part[0], str) and part[0] in OWN for part in parts
    )


def closed_predicate(
    ends: Sequence[tuple[Operation | None, Operation]], name: str, *, sessions: bool, timed: bool
) -> Parsed:
    """Returns the history of invocations and completions.

    `sessions`: whether the file has processes. `timed`: whether it has invocations. Raises HistoryError: an
    operation is not of this workload, or a key gets a value twice.
    """
    # Filled by the first call, for the whole file: in every part a transaction keeps its number.
    numbers: dict[int, int | None] = {}

    def read(places: Sequence[int]) -> Parsed:
        file = PredicateFile()
        for place in places:
            numbers[place] = file.add(*ends[place], numbers.get(place))
        return _Builder(file, KeyVersions.of(file), timed).parsed(name, sessions=sessions)

    parsed = read(range(len(ends)))
    fixed = [place for place, (_, end) in enumerate(ends) if end.f == ":init"]
    pieces = Pieces(len(ends), fixed, read, lambda places: written([ends[place] for place in places]))
    return replace(parsed, pieces=pieces)


@dataclass(slots=True)
class _Builder:
    """Builds the history of a file.

    `timed`: whether the file has invocations; each transaction starts at its own one then. `taken`: the
    transactions that count as committed: those that did, and those without an answer from which a committed
    one has read. `names`: the name in the notation of a predicate together with the keys whose selected
    version is unknown: such keys are outside its relation, so the predicate needs another name. `named`: how
    many names each predicate has. `unordered`: the keys whose versions have no known order. `missed`: whether
    a read misses what was there at first. `unexplained`: why no order explains a read. `unselected`: why it
    is not known what a read selected.
    """

    file: PredicateFile
    versions: KeyVersions
    timed: bool
    taken: set[int] = field(default_factory=set)
    names: dict[tuple[Predicate, frozenset[str]], str] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)
    unordered: frozenset[str] = frozenset()
    missed: bool = False
    unexplained: str = ""
    unselected: Unselected | None = None

    def parsed(self, name: str, *, sessions: bool) -> Parsed:
        """Returns the history, and what nobody knows of it."""
        transactions = self.file.transactions
        committed = {n for n, each in enumerate(transactions) if each.status is Status.COMMITTED}
        self.taken = committed | set(self._unanswered_but_read(committed))
        self.unordered = self.versions.keys_without_order(self.taken - committed)
        bodies = {n: list(self._body(n)) for n in sorted(committed)}
        failed = {n for n, each in enumerate(transactions) if each.status is Status.ABORTED}
        for n in sorted((self.taken - committed) | failed):
            bodies[n] = [Write(*each) for each in self._writes(n)]
        history = History(
            name=name,
            events=tuple(self._events(bodies)),
            orders=self.versions.orders(self.taken, self.missed, self.unordered),
            matches=self._matches(failed),
            sessions=self._sessions() if sessions else {},
            implicit_initial=bool(self.file.initial),
        )
        places = {transactions[n].number: transactions[n].place for n in bodies}
        if self.unordered and not self.unexplained:
            key = min(self.unordered)
            self.unexplained = f"nobody knows when a transaction without an answer wrote key {key}"
        return Parsed(
            history,
            1,
            unselected=self.unselected,
            places=places,
            windows=self.timed,
            unexplained=self.unexplained,
        )

    def _unanswered_but_read(self, committed: Iterable[int]) -> Iterator[int]:
        """Yields the transactions without an answer from which one of the `committed` ones has read."""
        for n in committed:
            for _, what, value in self.file.transactions[n].ops:
                rows = value if isinstance(value, dict) else {what: value}
                for key, seen in rows.items():
                    key_version = self.versions.values.get((str(key), seen))
                    writer = None if key_version is None else key_version.writer
                    if writer is not None and self.file.transactions[writer].status is Status.UNKNOWN:
                        yield writer

    def _writes(self, n: int) -> Iterator[tuple[int, Version, str | None]]:
        """Yields what each write of a transaction makes: its transaction, the version, and the value."""
        for at in range(len(self.file.transactions[n].ops)):
            if (key_version := self.versions.by_operation.get((n, at))) is not None:
                yield key_version.version.txn, self._version(key_version), key_version.text

    def _version(self, key_version: KeyVersion) -> Version:
        """Returns a version of the history; of a key without an order each has an object of its own."""
        version = key_version.version
        if key_version.key not in self.unordered or key_version.writer is None:
            return version
        return version._replace(obj=self.versions.objects.of(key_version.key, version.txn))

    def _body(self, n: int) -> Iterator[Event]:
        """Yields the events of a committed transaction, without its commit."""
        own: dict[str, KeyVersion] = {}
        transaction = self.file.transactions[n]
        for at, (_, what, value) in enumerate(transaction.ops):
            key_version = self.versions.by_operation.get((n, at))
            if isinstance(what, Predicate):
                assert isinstance(value, dict)
                yield from self._by_predicate(n, what, value, own)
            elif key_version is not None:
                own[what] = key_version
                yield Write(transaction.number, self._version(key_version), key_version.text)
            elif value is None:
                yield from self._by_predicate(n, Predicate(THERE, (what,)), {}, own)
            elif (found := self._version_shown(n, what, value, own.get(what))) is not None:
                yield Read(transaction.number, found, plain_value(value))

    def _version_shown(self, n: int, key: str, value: object, own: KeyVersion | None) -> Version | None:
        """Returns the version that a read of one key shows; None: nobody knows."""
        shown_version = self.versions.values.get((key, value))
        if shown_version is None:
            return self._left_out(n, f"reads {value_text(value)} under key {key}, which nobody wrote")
        if shown_version is not own and (own is not None or shown_version.writer == n):
            return self._left_out(n, f"does not see its own write of key {key}, or sees it too early")
        return self._version(shown_version)

    def _left_out(self, n: int, fact: str) -> Version | None:
        """Notes why a read is left out of the history; returns None, the version that it read."""
        self.unexplained = self.unexplained or f"{self.file.transactions[n].place}: the transaction {fact}"
        return None

    def _by_predicate(
        self, n: int, predicate: Predicate, rows: Mapping[str, object], own: Mapping[str, KeyVersion]
    ) -> Iterator[Event]:
        """Yields a read by a predicate, then the reads of what it shows."""
        number = self.file.transactions[n].number
        selected: list[Version] = []
        reads: list[Event] = []
        unknown: set[str] = set()
        for key, value in rows.items():
            found = self._version_shown(n, key, value, own.get(key))
            if found is not None:
                reads.append(Read(number, found, plain_value(value)))
            if not predicate.matches(value):
                self._left_out(n, f"shows {value_text(value)} for {predicate.name}, which does not match it")
                found = None
            if found is None or key in self.unordered:
                unknown.add(key)
            else:
                selected.append(found)
        for key in predicate.keys(self.versions.made):
            if key not in rows:
                found, is_known = None, False
                if key not in self.unordered:
                    found, is_known = self._hidden(n, key, predicate, own.get(key))
                if not is_known:
                    unknown.add(key)
                elif found is not None:
                    selected.append(found)
                    if found.unborn and key in self.file.initial:
                        # Every version matches and none is shown: what was there at first is missed.
                        reads.append(Read(number, Version(INITIAL_STATE, T0, 1)))
                        self.missed = True
        name = self._name(predicate, frozenset(unknown))
        yield PredicateRead(number, name, tuple(dict.fromkeys(selected)), None)
        yield from dict.fromkeys(reads)

    def _hidden(
        self, n: int, key: str, predicate: Predicate, own: KeyVersion | None
    ) -> tuple[Version | None, bool]:
        """Returns the version that a read selected of a key it does not show, and whether it is known.

        None and True: which one does not matter, because no version of the key matches.
        """
        if own is not None:
            if own.matched_by(predicate):
                self._left_out(n, f"does not find its own write of key {key} by {predicate.name}")
            return own.version, not own.matched_by(predicate)
        hidden = self.versions.hidden(key, predicate, n if (key, n) in self.versions.final else None)
        if not hidden.versions:
            if any(not each.matched_by(predicate) for each in self.versions.failed.get(key, ())):
                self._left_out(n, f"misses key {key}, which only a failed transaction explains")
                return None, False
            return unborn(self.versions.objects.of(key)), True
        certain = [each for each in hidden.versions if each.writer is None or each.writer in self.taken]
        if len(hidden.versions) == len(certain) == 1:
            return certain[0].version, True
        # Of transactions without an answer nobody knows whether, and when, they wrote.
        differ = hidden.differ or len(certain) < len(hidden.versions)
        self._doubt(n, key, changes=differ and hidden.matters)
        if not hidden.matters:
            return None, True
        return (None, False) if differ else (certain[0].version, True)

    def _doubt(self, n: int, key: str, *, changes: bool) -> None:
        """Notes that it is not known which version a read selected; `changes`: as in `Unselected`."""
        before = self.unselected
        if before is None or (changes and not before.changes):
            place = self.file.transactions[n].place
            fact = f"{place}: which version of key {key} a read by a predicate has selected is not known"
            self.unselected = Unselected(fact, changes)

    def _name(self, predicate: Predicate, unknown: frozenset[str]) -> str:
        """Returns the name of a predicate over the keys of which is known what was selected."""
        if (predicate, unknown) not in self.names:
            self.named[predicate.name] += 1
            count = self.named[predicate.name]
            self.names[predicate, unknown] = predicate.name + (f"_{count}" if count > 1 else "")
        return self.names[predicate, unknown]

    def _matches(self, failed: set[int]) -> dict[str, frozenset[Version]]:
        """Returns what each predicate matches, of the versions in the history."""
        there = self.taken | failed
        return {
            name: frozenset(
                each.version
                for key in predicate.keys(self.versions.made)
                if key not in unknown
                for each in self.versions.of_key(key)
                if each.matched_by(predicate) and (each.writer is None or each.writer in there)
            )
            for (predicate, unknown), name in self.names.items()
        }

    def _events(self, bodies: Mapping[int, Sequence[Event]]) -> Iterator[Event]:
        """Yields the events of T0, then all others as in the file, but a write before every read of it."""
        if self.file.initial:
            yield from (
                Write(T0, each.version, each.text) for each in self.versions.initial_writes(self.missed)
            )
            yield Commit(T0)
        yield from placed(bodies, self._moments(bodies))

    def _moments(self, places: Iterable[int]) -> list[tuple[int, Event]]:
        """Returns the ends of transactions in the order of the file, and the starts if it has invocations."""
        moments: list[tuple[float, int, Event]] = []
        for n in places:
            transaction = self.file.transactions[n]
            end = Commit(transaction.number) if n in self.taken else Abort(transaction.number)
            # Without an answer nobody knows when it was over.
            over = transaction.end_at if transaction.answered or not self.timed else float("inf")
            moments.append((over, n, end))
            if self.timed:
                moments.append((transaction.begin, n, Start(transaction.number)))
        return [(n, event) for _, n, event in sorted(moments, key=lambda moment: moment[:2])]

    def _sessions(self) -> dict[str, tuple[int, ...]]:
        sessions: dict[str, list[int]] = {}
        for each in (self.file.transactions[n] for n in sorted(self.taken)):
            sessions.setdefault(each.session, []).append(each.number)
        return {name: tuple(numbers) for name, numbers in sessions.items()}
