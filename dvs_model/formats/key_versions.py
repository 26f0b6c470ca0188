"""The versions that a file of Elle's closed-predicate workload gives to each key, with their values.

`closed_predicate` asks here which version a read has shown, and which it may have seen and not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field

from dvs_model.errors import HistoryError
from dvs_model.formats.predicate_file import DELETE, WRITE, Predicate, PredicateFile
from dvs_model.histories.history import Version, unborn
from dvs_model.histories.inventory import T0
from dvs_model.observed.history import Names, plain_value
from dvs_model.observed.seen import Status, value_text

INITIAL_STATE = "universe"
"""An object that T0 alone writes, together with the values that are there at first.

A transaction that misses one of these values reads it as well: so it comes after T0 by this object, and
before T0 by the key that it misses, which is a cycle.
"""


@dataclass(frozen=True, slots=True)
class KeyVersion:
    """A version of a key. `gone`: the key has no value, not yet or after a delete.

    `writer`: the place in the file of the transaction that made it; None: no transaction did, it is what was
    there at first.
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
        """Tells whether a predicate matches it."""
        return not self.gone and predicate.matches(self.value)


@dataclass(frozen=True, slots=True)
class Hidden:
    """The versions of a key that a read by a predicate may have selected, if it does not show the key.

    `versions`: those that do not match the predicate; of each transaction the last one, or all where no last
    one fails to match. `differ`: whether a version between them matches; then the dependencies of the read
    depend on which one it saw. `matters`: whether any version of the key matches; else the read depends on
    none.
    """

    versions: tuple[KeyVersion, ...]
    differ: bool
    matters: bool


@dataclass(slots=True)
class KeyVersions:
    """The versions of all keys of a file.

    `objects`: the names of the keys in the history. `made`: by key its versions in the order of the file;
    `failed`: those of failed transactions. `by_operation`: the version that an operation made, by the places
    of its transaction and of the operation in it. `values`: the version by key and value. `final`: the last
    version of a key that a transaction made. `hidden_of`: what `hidden` has returned, to compute it once.
    """

    initial: Collection[str]
    objects: Names = field(default_factory=lambda: Names({INITIAL_STATE: ""}))
    made: dict[str, list[KeyVersion]] = field(default_factory=dict)
    failed: dict[str, list[KeyVersion]] = field(default_factory=dict)
    by_operation: dict[tuple[int, int], KeyVersion] = field(default_factory=dict)
    values: dict[tuple[str, object], KeyVersion] = field(default_factory=dict)
    final: dict[tuple[str, int], KeyVersion] = field(default_factory=dict)
    hidden_of: dict[tuple[str, Predicate, int | None], Hidden] = field(default_factory=dict)

    @staticmethod
    def of(file: PredicateFile) -> KeyVersions:
        """Returns the versions of a file. Raises HistoryError: a key gets a value twice."""
        versions = KeyVersions(file.initial)
        for key, value in file.initial.items():
            key_version = KeyVersion(key, Version(versions.objects.of(key), T0, 1), value, False, None)
            versions.made[key] = [key_version]
            versions.values[key, value] = key_version
        # The order of a key's versions is that of completions, as in Elle.
        for n in sorted(range(len(file.transactions)), key=lambda n: file.transactions[n].end_at):
            versions._add(file, n)
        return versions

    def _add(self, file: PredicateFile, n: int) -> None:
        """Adds the versions that a transaction makes. Raises HistoryError: a key gets a value twice."""
        transaction = file.transactions[n]
        by_key = self.failed if transaction.status is Status.ABORTED else self.made
        for at, (kind, key, value) in enumerate(transaction.ops):
            if kind not in (WRITE, DELETE):
                continue
            assert isinstance(key, str)
            number = self.final[key, n].version.number + 1 if (key, n) in self.final else 1
            version = Version(self.objects.of(key), transaction.number, number)
            key_version = KeyVersion(key, version, value, kind == DELETE, n)
            before = None if key_version.gone else self.values.get((key, value))
            if before is not None:
                where = ":init" if before.writer is None else file.transactions[before.writer].place
                fact = f"key {key} gets the value {value_text(value)} here and in {where}"
                raise HistoryError(f"{fact}; no read could tell one from the other", transaction.line, 1)
            if not key_version.gone:
                self.values[key, value] = key_version
            by_key.setdefault(key, []).append(key_version)
            self.made.setdefault(key, [])
            self.by_operation[n, at] = self.final[key, n] = key_version

    def before_first(self, key: str) -> KeyVersion:
        """Returns the version of a key before its first value."""
        return KeyVersion(key, unborn(self.objects.of(key)), None, True, None)

    def hidden(self, key: str, predicate: Predicate, reader: int | None) -> Hidden:
        """Returns which versions of a key a read may have seen that does not show it.

        `reader`: the place of the transaction that reads, if it writes the key later itself: it cannot have
        seen those versions.
        """
        result = self.hidden_of.get((key, predicate, reader))
        if result is None:
            first = [] if key in self.initial else [self.before_first(key)]
            result = self._hidden_versions([*first, *self.made[key]], key, predicate, reader)
            self.hidden_of[key, predicate, reader] = result
        return result

    def _hidden_versions(
        self, versions: Sequence[KeyVersion], key: str, predicate: Predicate, reader: int | None
    ) -> Hidden:
        """Returns the answer of `hidden`. `versions`: those that there were, oldest first."""
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

    def of_key(self, key: str) -> Iterator[KeyVersion]:
        """Yields all versions of a key, those of failed transactions after the others."""
        yield from self.made.get(key, ())
        yield from self.failed.get(key, ())

    def keys_without_order(self, unanswered: Set[int]) -> frozenset[str]:
        """Returns the keys whose versions have no known order.

        `unanswered`: transactions of which nobody knows when they ended. One of them wrote such a key, and so
        did another transaction.
        """
        return frozenset(
            key
            for key, versions in self.made.items()
            if not unanswered.isdisjoint(writers := {each.writer for each in versions} - {None})
            and len(writers) > 1
        )

    def initial_writes(self, marked: bool) -> list[KeyVersion]:
        """Returns the versions of T0, ordered by object. `marked`: with that of INITIAL_STATE."""
        of_keys = [each for versions in self.made.values() for each in versions if each.version.txn == T0]
        mark = [KeyVersion("", Version(INITIAL_STATE, T0, 1), None, False, None)] if marked else []
        return sorted([*of_keys, *mark], key=lambda each: each.version)

    def orders(
        self, taken: Collection[int], marked: bool, unordered: Collection[str]
    ) -> dict[str, tuple[Version, ...]]:
        """Returns the version order of each object, of T0 and the transactions `taken`.

        `marked`: with that of INITIAL_STATE. `unordered`: keys whose versions are an object each.
        """
        orders: dict[str, tuple[Version, ...]] = {}
        if marked:
            orders[INITIAL_STATE] = (Version(INITIAL_STATE, T0, 1),)
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
