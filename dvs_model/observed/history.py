"""Build a history in Adya's notation from the transactions of a client history that lie on cycles.

The detectors of phenomena know histories with version orders. Where the order of a key's versions is not
known, a history must not claim one: then each version becomes an object of its own. So an edge appears only
if it is certain, and what the detectors find is so in every version order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dvs_model.histories.history import Commit, Event, History, Read, Start, Version, Write
from dvs_model.histories.inventory import T0
from dvs_model.observed.recover import INITIAL, Recovered, VersionRead
from dvs_model.observed.seen import value_text
from dvs_model.observed.time import Windows, window_of

Pair = tuple[int, int]
"""Two transactions by index; the first one comes before the second."""


@dataclass(slots=True)
class Orders:
    """Version orders, as far as they are known. Versions are named by their writers.

    `known`: by key the writers in order. `tails`: by key the writers after these, in an order that nobody
    saw. `unknown`: by key why its order is not known. Of such keys: `pairs`: neighbours in the order, which
    the file states; `later`: pairs of which the second version is later, as the user assumes. `some`:
    neighbours that the file states without their key, each with one of the keys that can be meant. `rules`:
    by key what its order, or the known part of it, was taken from, in words.
    """

    known: dict[str, list[int]] = field(default_factory=dict)
    tails: dict[str, list[int]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    later: dict[str, list[Pair]] = field(default_factory=dict)
    some: dict[Pair, str] = field(default_factory=dict)

    def stated(self, key: str) -> list[Pair]:
        """Returns pairs of versions whose order is known although that of all versions of the key is not."""
        return [*dict.fromkeys((*self.pairs.get(key, ()), *self.later.get(key, ())))]


BY_LISTS = "the lists that were read"
BY_STAMPS = "the commit timestamps"
BY_ONE = "one transaction alone wrote it"
BY_FILE = "the file says which write replaced which"
BY_NOTHING = "what was there before the run comes first, and more is not known"

UNRECORDED = "the order of its versions is not recorded"


@dataclass(slots=True)
class Names:
    """The names of objects in the notation, for keys. `keys`: by object its key. `objects`: the reverse."""

    keys: dict[str, str] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)

    def of(self, key: str, *copy: int) -> str:
        """Returns the object of a key. `copy`: writers that have an object of this key for themselves."""
        inner = " of T".join([key, *map(str, copy)])
        if inner not in self.objects:
            # A name in the notation is made of letters, digits and _, and begins with a letter.
            plain = re.sub(r"\W", "", key, flags=re.ASCII) or "key"
            name = plain if plain[0].isalpha() else f"k{plain.lstrip('_')}"
            name = "_of_T".join([name, *map(str, copy)])
            while name in self.keys:
                name += "x"
            self.objects[inner], self.keys[name] = name, key
        return self.objects[inner]


Chosen = Mapping[str, Sequence[Sequence[int]]]
"""By key groups of writers whose appends no read shows; each group in an order that is chosen for it."""

NOTHING_CHOSEN: Chosen = {}


@dataclass(slots=True)
class Part:
    """Builds the history of some transactions, with the writers of the versions that they read.

    `members`: indexes of the transactions. `chosen`: orders that are tried for versions whose order is not
    known; each other such version is an object of its own. While it builds: `writes`: by transaction the
    value that it wrote to an object. `reads`: by transaction (place, version, value) of each read. `chains`:
    by object its version order.
    """

    found: Recovered
    orders: Orders
    members: set[int]
    names: Names = field(default_factory=Names)
    writes: dict[int, dict[str, object]] = field(default_factory=dict)
    reads: dict[int, list[tuple[int, Version, object]]] = field(default_factory=dict)
    chains: dict[str, list[Version]] = field(default_factory=dict)
    chosen: Chosen = field(default_factory=lambda: NOTHING_CHOSEN)

    def version(self, index: int, obj: str) -> Version:
        """Returns the version of an object that a transaction wrote; of INITIAL, that of T0."""
        return Version(obj, T0 if index == INITIAL else self.found.number(index), 1)

    def history(self, name: str, windows: Windows | None) -> History:
        """Returns the history. `windows`: if given, transactions start and commit in their order."""
        reads: dict[str, list[VersionRead]] = {}
        for read in self.found.reads:
            if read.reader in self.members and (read.writer == INITIAL or read.writer in self.found.taken):
                reads.setdefault(read.key, []).append(read)
        keys = dict.fromkeys(reads)
        for key, writers in self.found.installed.items():
            if not self.members.isdisjoint(writers):
                keys[key] = None
        for key in keys:
            self.key(key, reads.get(key, []))
        txns = sorted({*self.members, *self.writes})
        # What was there before the run was written by a T0 that comes before everything.
        before = sorted(obj for obj, chain in self.chains.items() if chain and chain[0].txn == T0)
        first: list[Event] = [Write(T0, Version(obj, T0, 1)) for obj in before]
        if first:
            first.append(Commit(T0))
        return History(
            name=name,
            events=(*first, *self.events(txns, windows)),
            orders={obj: tuple(chain) for obj, chain in self.chains.items() if chain},
            sessions=self.sessions(txns),
            implicit_initial=bool(before),
        )

    def key(self, key: str, reads: list[VersionRead]) -> None:
        """Adds one object or several for a key: their versions that matter here, and the reads of these."""
        installed = self.found.installed.get(key, {})
        read = {each.writer for each in reads} - {INITIAL}
        wanted = {index for index in installed if index in self.members or index in read}
        if key in self.orders.known:
            order = [index for index in self.orders.known[key] if index in wanted]
            last = self.orders.known[key][-1:]
            groups = [[index for index in group if index in wanted] for group in self.groups(key)]
            if key in self.chosen and len(list(filter(None, groups))) == 1:
                # Only one group has versions in this part, so one object can have them all in one order.
                order += [index for group in groups for index in group]
                groups = []
            self.chain(self.names.of(key), key, order, reads, order)
            for mine in groups:
                if mine:
                    obj = self.names.of(key, *map(self.found.number, mine))
                    early = any(read.reader in mine and [read.writer] != last for read in reads)
                    # A member of the group that read an older version overwrote what came between (a lost
                    # update of one object). To show that, its object needs the whole known order; else the
                    # last known version is enough.
                    first, shown = (order, [INITIAL, *order]) if early else (last, last or [INITIAL])
                    self.chain(obj, key, [*first, *mine], reads, shown)
        else:
            # No order is known: one object for each version, and one for each pair whose order is known.
            for index in sorted(wanted):
                obj = self.names.of(key, self.found.number(index))
                self.chain(obj, key, [index], reads, [INITIAL, index])
            for before, after in self.orders.stated(key):
                if {before, after} <= wanted:
                    obj = self.names.of(key, self.found.number(before), self.found.number(after))
                    self.chain(obj, key, [before, after], reads, [before])
            for (before, after), one in self.orders.some.items():
                if one == key and {before, after} <= wanted:
                    obj = self.names.of(key, self.found.number(before), self.found.number(after))
                    self.chain(obj, key, [before, after], [], [])

    def groups(self, key: str) -> Iterator[Sequence[int]]:
        """Yields the writers of a key without a known order: groups with a chosen order, then single ones."""
        chosen = self.chosen.get(key, ())
        yield from chosen
        inside = {index for group in chosen for index in group}
        yield from ([index] for index in self.orders.tails.get(key, ()) if index not in inside)

    def chain(
        self, obj: str, key: str, order: list[int], reads: list[VersionRead], shown: Iterable[int]
    ) -> None:
        """Adds an object with its version order, and the reads of it.

        `order`: the writers of its versions. `shown`: the writers whose versions are read on this object; the
        reads of other versions stand on other objects of the key.
        """
        writers = {*shown, *([INITIAL] if shown is order else [])}
        initial = INITIAL in writers and any(read.writer == INITIAL for read in reads)
        self.chains[obj] = [self.version(index, obj) for index in (*([INITIAL] if initial else []), *order)]
        for index in order:
            self.writes.setdefault(index, {})[obj] = self.found.installed[key][index]
        for read in reads:
            if read.writer in writers:
                version = self.version(read.writer, obj)
                self.reads.setdefault(read.reader, []).append((read.place, version, read.value))

    def events(self, txns: list[int], windows: Windows | None) -> Iterable[Event]:
        """Yields the events of each transaction together, at the time of its end.

        Without windows a transaction ends at its index. With them it has a start event as well.
        """
        parts: list[tuple[float, int, list[Event]]] = []
        for index in txns:
            number = self.found.number(index)
            ops: list[tuple[int, Event]] = [
                (place, Read(number, version, plain_value(value)))
                for place, version, value in self.reads.get(index, ())
            ]
            ops += [
                (self.place(index, obj), Write(number, Version(obj, number, 1), plain_value(value)))
                for obj, value in self.writes.get(index, {}).items()
            ]
            body: list[Event] = [event for _, event in sorted(ops, key=lambda op: op[0])]
            # A transaction whose time is not known is put at its index.
            window = window_of(windows, index) if windows is not None else None
            begin, end = (float(index), float(index)) if window is None else window
            if windows is not None:
                # 0 sorts a start before an end at the same time: of two such, nobody came first.
                parts.append((begin, 0, [Start(number)]))
            parts.append((end, 1, [*body, Commit(number)]))
        for _, _, events in sorted(parts, key=lambda part: part[:2]):
            yield from events

    def place(self, index: int, obj: str) -> int:
        """Returns where a transaction wrote its version of an object, among its operations."""
        return self.found.placed[self.names.keys[obj]][index]

    def sessions(self, txns: list[int]) -> dict[str, tuple[int, ...]]:
        """Returns the transactions of each session; none where the file does not know sessions."""
        if not self.found.observed.records.sessions:
            return {}
        sessions: dict[str, list[int]] = {}
        for index in txns:
            observed = self.found.observed
            sessions.setdefault(observed.session(index), []).append(observed.number(index))
        several = {name: numbers for name, numbers in sessions.items() if len(numbers) > 1}
        names = session_names(several)
        return {names[name]: tuple(numbers) for name, numbers in several.items()}


def session_names(names: Iterable[str]) -> dict[str, str]:
    """Returns by session a name that the notation can hold; no two are equal."""
    found, used = dict[str, str](), set[str]()
    for name in names:
        plain = re.sub(r"[()\[\]:;,|]", " ", name).strip() or "session"
        while plain in used:
            plain += " again"
        found[name] = plain
        used.add(plain)
    return found


def plain_value(value: object) -> str | None:
    """Returns a value as the notation can hold it."""
    return None if value is None else re.sub(r"[()\[\]:;,|]", " ", value_text(value)).strip() or None
