"""All versions of all keys of a closed-predicate history, with their values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field

from dvs_model.errors import HistoryError
from dvs_model.formats.predicate_file import DELETE, WRITE, Predicate, PredicateFile
from dvs_model.histories.history import Version, unborn
from dvs_model.histories.inventory import T0
from dvs_model.observed.history import Names, plain_value
from dvs_model.observed.seen import Status, value_text

UNIVERSE = "universe"
"""The object whose version T0 alone makes. Who reads it has seen that the first operation is over."""


@dataclass(frozen=True, slots=True)
class KeyVersion:
    """A version of a key. `gone`: there is no value, before the first or after a delete.

    `writer`: the place of the transaction in the file; None: there was one or none at first.
    """

    key: str
    version: Version
    value: object
    gone: bool
    writer: int | None

    @property
    def text(self) -> str | None:
        """The value as the notation shows it."""
        return "deleted" if self.gone else plain_value(self.value)

    def matched_by(self, predicate: Predicate) -> bool:
        """Whether a predicate matches it."""
        return not self.gone and predicate.matches(self.value)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a read can have selected of a key that it does not show.

    `versions`: those that do not match; the last ones of their transactions, unless there is none of them.
    `differ`: whether a version between them matches, so that dependencies differ. `matters`: whether a
    version of the key matches at all.
    """

    versions: tuple[KeyVersion, ...]
    differ: bool
    matters: bool


@dataclass(slots=True)
class Universe:
    """The versions of the keys.

    `made`: by key its versions in the order of the file; `failed`: those of failed transactions. `of_op`: the
    version that an operation made, by the places of its transaction and of the operation in it. `values`: by
    key and value the version. `final`: the last version of a key that a transaction made. `known`: what
    `hidden` has returned.
    """

    initial: Collection[str]
    objects: Names = field(default_factory=lambda: Names({UNIVERSE: ""}))
    made: dict[str, list[KeyVersion]] = field(default_factory=dict)
    failed: dict[str, list[KeyVersion]] = field(default_factory=dict)
    of_op: dict[tuple[int, int], KeyVersion] = field(default_factory=dict)
    values: dict[tuple[str, object], KeyVersion] = field(default_factory=dict)
    final: dict[tuple[str, int], KeyVersion] = field(default_factory=dict)
    known: dict[tuple[str, Predicate, int | None], Hidden] = field(default_factory=dict)

    @staticmethod
    def of(file: PredicateFile) -> Universe:
        """Returns the versions of a file. Raises HistoryError: a key gets a value twice."""
        universe = Universe(file.initial)
        for key, value in file.initial.items():
            made = KeyVersion(key, Version(universe.objects.of(key), T0, 1), value, False, None)
            universe.made[key] = [made]
            universe.values[key, value] = made
        # The order of a key's versions is that of completions, as in Elle.
        for n in sorted(range(len(file.transactions)), key=lambda n: file.transactions[n].end_at):
            universe._add(file, n)
        return universe

    def _add(self, file: PredicateFile, n: int) -> None:
        transaction = file.transactions[n]
        kept = self.failed if transaction.status is Status.ABORTED else self.made
        for at, (kind, key, value) in enumerate(transaction.ops):
            if kind not in (WRITE, DELETE):
                continue
            assert isinstance(key, str)
            number = self.final[key, n].version.number + 1 if (key, n) in self.final else 1
            version = Version(self.objects.of(key), transaction.number, number)
            made = KeyVersion(key, version, value, kind == DELETE, n)
            before = None if made.gone else self.values.get((key, value))
            if before is not None:
                where = ":init" if before.writer is None else file.transactions[before.writer].place
                fact = f"key {key} gets the value {value_text(value)} here and in {where}"
                raise HistoryError(f"{fact}; no read could tell one from the other", transaction.line, 1)
            if not made.gone:
                self.values[key, value] = made
            kept.setdefault(key, []).append(made)
            self.made.setdefault(key, [])
            self.of_op[n, at] = self.final[key, n] = made

    def nothing(self, key: str) -> KeyVersion:
        """Returns the version of a key before its first value."""
        return KeyVersion(key, unborn(self.objects.of(key)), None, True, None)

    def hidden(self, key: str, predicate: Predicate, reader: int | None) -> Hidden:
        """Returns what a read can have selected of a key that it does not show.

        `reader`: the place of the transaction that reads, if it writes the key later itself.
        """
        known = self.known.get((key, predicate, reader))
        if known is None:
            first = [] if key in self.initial else [self.nothing(key)]
            known = self._hidden([*first, *self.made[key]], key, predicate, reader)
            self.known[key, predicate, reader] = known
        return known

    def _hidden(
        self, versions: Sequence[KeyVersion], key: str, predicate: Predicate, reader: int | None
    ) -> Hidden:
        hit = [each.matched_by(predicate) for each in versions]
        final = [each.writer is None or self.final[key, each.writer] is each for each in versions]
        misses = [
            place
            for place, each in enumerate(versions)
            if not hit[place] and (each.writer is None or each.writer != reader)
        ]
        places = [place for place in misses if final[place]] or misses
        between = range(places[0], places[-1]) if places else range(0)
        return Hidden(
            tuple(versions[place] for place in places),
            any(hit[place] and final[place] for place in between),
            any(map(all, zip(hit, final, strict=True))),
        )

    def ever(self, key: str) -> Iterator[KeyVersion]:
        """Yields all versions of a key, those of failed transactions after the others."""
        yield from self.made.get(key, ())
        yield from self.failed.get(key, ())

    def unordered(self, unanswered: Set[int]) -> frozenset[str]:
        """Returns the keys of which nobody knows when such a transaction wrote them among others."""
        return frozenset(
            key
            for key, versions in self.made.items()
            if not unanswered.isdisjoint(writers := {each.writer for each in versions} - {None})
            and len(writers) > 1
        )

    def first(self, marked: bool) -> list[KeyVersion]:
        """Returns what was there at first, by the names of objects. `marked`: with that of UNIVERSE."""
        made = [each for versions in self.made.values() for each in versions if each.version.txn == T0]
        mark = [KeyVersion("", Version(UNIVERSE, T0, 1), None, False, None)] if marked else []
        return sorted([*made, *mark], key=lambda each: each.version)

    def orders(
        self, taken: Collection[int], marked: bool, unordered: Collection[str]
    ) -> dict[str, tuple[Version, ...]]:
        """Returns the version order of each object. `marked`: with that of UNIVERSE.

        `unordered`: keys whose versions have an object each.
        """
        orders: dict[str, tuple[Version, ...]] = {}
        if marked:
            orders[UNIVERSE] = (Version(UNIVERSE, T0, 1),)
        for key, versions in self.made.items():
            there = [each for each in versions if each.writer is None or each.writer in taken]
            final = {each.writer: each.version for each in there}
            if key in unordered:
                for writer, version in final.items():
                    obj = version.obj if writer is None else self.objects.of(key, version.txn)
                    orders[obj] = (version._replace(obj=obj),)
            elif final:
                orders[self.objects.of(key)] = tuple(final.values())
        return orders
