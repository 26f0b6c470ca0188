"""Random well-formed histories with derivations; many of them lie near the boundary between two levels.

A history is drawn event by event, for transactions that run side by side. Many begin with the skeleton of an
anomaly such as write skew: what follows at random then decides whether a level forbids the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session, Special
from dvs_model.histories.history import History
from generators.choices import Choices, SeededChoices

HISTORY_GENERATOR_VERSION = 1
"""The version of the draws: raised when the same choices give other histories."""

PREDICATE = "P"
"""The name of the one predicate of a history."""

DEEP = ("m", "n", "k", "l", "q", "t")
"""The objects of a chain of derivations, beside `u` and `v`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryShape:
    """The size of histories, and how often something occurs, in percent of histories or of draws.

    Pairs are inclusive ranges. `base`, `derived`: how many objects are written, and how many are derived.
    """

    transactions: tuple[int, int] = (2, 5)
    operations: tuple[int, int] = (1, 4)
    base: tuple[int, int] = (1, 3)
    derived: tuple[int, int] = (0, 2)
    predicate_percent: int = 35
    starts_percent: int = 35
    precedes_percent: int = 15
    sessions_percent: int = 15
    reader_percent: int = 35
    """Transactions that only read, except in skeletons."""
    abort_percent: int = 8
    again_percent: int = 8
    """Writes of an object that the transaction has written before: intermediate versions."""
    reordered_percent: int = 30
    """Objects with a version order other than that of the commits."""
    newest_percent: int = 45
    """Reads of the newest version; the others take any."""
    anomaly_percent: int = 40
    """Histories that begin with the skeleton of an anomaly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryShape(HistoryShape):
    """The shape of histories with what random ones hardly ever have, in percent of histories or of draws.

    A rule can be wrong there for a whole campaign; `tests/truth/test_drawn_histories.py` has floors.
    """

    deep_percent: int = 50
    """Histories with a chain of four derivations or more, of which the last one is read."""
    cursor_percent: int = 20
    """Histories in which some reads go through cursors."""
    partial_starts_percent: int = 50
    """Histories with starts in which some transactions have none."""
    near_percent: int = 25
    """Histories of which one read is left out: often a violation was there by that edge alone."""


SMALL = HistoryShape()
STORIES = StoryShape(
    transactions=(3, 5), abort_percent=20, sessions_percent=45, starts_percent=40, predicate_percent=45
)


def history_at(seed: int, shape: HistoryShape, index: int) -> History:
    """Returns history `index` of a campaign: a function of seed, HISTORY_GENERATOR_VERSION, shape and index.

    >>> from dvs_model.notation import render
    >>> print(render(history_at(1, SMALL, 6)))
    d2(v2 | x_init) r1(v2) w2(x2) w2(y2) c2 r1(y2) c1
    """
    return random_history(SeededChoices(seed, HISTORY_GENERATOR_VERSION, shape, index), shape)


def random_history(choices: Choices, shape: HistoryShape, name: str = "") -> History:
    """Returns a random history; whatever the choices are, it is well-formed."""
    return well_formed(HistoryBuilder(choices, shape).draft(name))


@dataclass(slots=True)
class Running:
    """A transaction that has not ended: how many operations are left, its latest version of each object."""

    txn: int
    left: int
    reads_only: bool = False
    latest: dict[str, Name] = field(default_factory=dict)
    begun: bool = False


SKELETONS = tuple(
    tuple((int(step[0]), step[1], int(step[2])) for step in text.split())
    for text in (
        "1r0 2r0 2w0 2c0 1w0 1c0",  # lost update
        "1r0 2w0 2w1 2c0 1R1 1c0",  # read skew
        "2w0 2w1 1R0 1r1 2c0 1c0",  # read skew, the new version first
        "1r0 2r1 1w1 2w0 1c0 2c0",  # write skew
        "1w0 1c0 2R0 2w1 2c0 3R1 3r0 3c0",  # causality violation
        "1w0 2w1 3R0 3r1 4r0 4R1",  # long fork
        "1w0 2w1 1R1 2R0 1c0 2c0",  # circular information flow
        "1w0 1c0 2w0 2c0 3r0 3c0",  # stale read
    )
)
"""Steps (transaction, operation, object): w writes, c commits, r reads the newest version from before the
skeleton, R the newest of all."""


@dataclass(slots=True)
class HistoryBuilder:
    """A history under construction.

    `versions`: those that can be read, by object in the order of their creation. `committed`: the committed
    ones in the order of commits. `dead`: the objects that some transaction deletes. `base`, `derived`: the
    objects that are written, and those that are derived. `starts`: transactions have start events.
    `implicit`: transaction 0, which has no events, wrote the first version of each base object.
    """

    choices: Choices
    shape: HistoryShape
    result: Draft = field(default_factory=Draft)
    running: list[Running] = field(default_factory=list)
    versions: dict[str, list[Name]] = field(default_factory=dict)
    committed: dict[str, list[Name]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    base: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)
    starts: bool = False
    predicates: bool = False
    implicit: bool = False

    def draft(self, name: str) -> Draft:
        """Returns a draft in which everything is drawn."""
        choices, shape = self.choices, self.shape
        self.result.name = name
        self.base = ["x", "y", "z"][: choices.integer(*shape.base)]
        self.derived = ["u", "v"][: choices.integer(*shape.derived)]
        self.starts = choices.chance(shape.starts_percent)
        self.predicates = choices.chance(shape.predicate_percent)
        self.implicit = choices.chance(70)
        for obj in (*self.base, *self.derived):
            first = Name(obj, 0) if self.implicit and obj in self.base else Name(obj, Special.INIT)
            self.versions[obj] = [first]
            self.committed[obj] = [first] if self.implicit and obj in self.base else []
        for txn in range(1, choices.integer(*shape.transactions) + 1):
            operations = choices.integer(*shape.operations)
            self.running.append(Running(txn, operations, choices.chance(shape.reader_percent)))
        if choices.chance(shape.anomaly_percent):
            self.skeleton(choices.pick(SKELETONS))
        if isinstance(shape, StoryShape) and self.running and choices.chance(shape.deep_percent):
            self.deep()
        while self.running:
            transaction = choices.pick(self.running)
            if transaction.left > 0:
                transaction.left -= 1
                self.operation(transaction)
            else:
                self.end(transaction)
        self.clauses()
        if isinstance(shape, StoryShape):
            self.spoilt(shape)
        return self.result

    def deep(self) -> None:
        """Adds a chain of derivations and a read of its end, often also of half of another transaction."""
        choices, obj = self.choices, self.choices.pick(self.base)
        more = [each for each in DEEP if each not in self.derived]
        for each in more:
            self.derived.append(each)
            self.versions[each], self.committed[each] = [Name(each, Special.INIT)], []
        if choices.chance(50):
            self.write(choices.pick(self.running), obj)
        version = self.some_version(obj)
        for each in more[: choices.integer(4, len(more))]:
            others = [self.some_version(choices.pick(self.base))] if choices.chance(25) else []
            if self.derive(choices.pick(self.running), each, [version, *others]):
                version = self.versions[each][-1]
        reader, writer = choices.pick(self.running), choices.pick(self.running)
        self.read(reader, version.obj, version)
        if writer is not reader and choices.chance(70):
            self.write(writer, obj)
            other = choices.pick([*self.base])
            self.write(writer, other)
            if choices.chance(70):
                self.end(writer)
            self.read(reader, other, self.versions[other][-1])

    def spoilt(self, shape: StoryShape) -> None:
        """Changes finished events: reads go through cursors, and some starts, or one read, are left out."""
        choices, events = self.choices, self.result.events
        if choices.chance(shape.cursor_percent):
            events[:] = [e._replace(kind="rc") if e.kind == "r" and choices.chance(50) else e for e in events]
        if self.starts and choices.chance(shape.partial_starts_percent):
            aborted = [event.txn for event in events if event.kind == "a"]
            several = aborted and choices.chance(50)
            begun = [event.txn for event in events if event.kind == "s"]
            without = aborted if several else [txn for txn in begun if choices.chance(40)]
            events[:] = [event for event in events if event.kind != "s" or event.txn not in without]
        reads = [place for place, event in enumerate(events) if event.kind in ("r", "rc")]
        if reads and choices.chance(shape.near_percent):
            del events[choices.pick(reads)]

    def event(self, transaction: Running, event: DraftEvent) -> None:
        """Adds an event; before the first one of a transaction also its start, if the history has starts."""
        if self.starts and not transaction.begun:
            self.result.events.append(DraftEvent("s", transaction.txn))
        transaction.begun = True
        self.result.events.append(event)

    def skeleton(self, steps: Iterable[tuple[int, str, int]]) -> None:
        """Adds the steps of an anomaly. Reads may go through a derivation; some commits are left out."""
        before = {obj: versions[-1] for obj, versions in self.versions.items()}
        for number, kind, position in steps:
            transaction = next((t for t in self.running if t.txn == number), None)
            obj = self.base[position % len(self.base)]
            if transaction is None:
                continue
            if kind == "w":
                self.write(transaction, obj)
            elif kind == "c":
                if self.choices.chance(80):
                    self.end(transaction)
            else:
                version = self.versions[obj][-1] if kind == "R" else before[obj]
                self.read_somehow(transaction, obj, version)

    def read_somehow(self, transaction: Running, obj: str, version: Name) -> None:
        """Adds a read of a version, or of something that is then derived from it."""
        if self.derived and self.choices.chance(40):
            target = self.choices.pick(self.derived)
            if self.derive(self.choices.pick(self.running), target, [version]):
                version = self.versions[target][-1]
                obj = target
        self.read(transaction, obj, version)

    def operation(self, transaction: Running) -> None:
        """Adds a random operation."""
        kind = self.choices.weighted(((5, "w"), (7, "r"), (3, "d"), (3, "P"), (1, "dead")))
        if transaction.reads_only and kind in ("w", "dead"):
            kind = "r"
        if kind == "w" or (kind == "dead" and not self.predicates):
            self.write(transaction, self.choices.pick(self.base))
        elif kind == "dead":
            self.write(transaction, self.choices.pick(self.base), dead=True)
        elif kind == "d" and self.derived:
            sources = self.choices.subset([*self.base, *self.derived], 1, 2)
            target = self.choices.pick(self.derived)
            self.derive(transaction, target, [self.some_version(obj) for obj in sources])
        elif kind == "P" and self.predicates:
            self.predicate(transaction)
        else:
            obj = self.choices.pick([*self.base, *self.derived])
            self.read(transaction, obj, self.some_version(obj))

    def some_version(self, obj: str) -> Name:
        """Returns the newest version of an object, or any version."""
        versions = self.versions[obj]
        return versions[-1] if self.choices.chance(self.shape.newest_percent) else self.choices.pick(versions)

    def next_name(self, transaction: Running, obj: str) -> Name | None:
        """Returns the name of the transaction's next version of an object; None: it shall make no other."""
        latest = transaction.latest.get(obj)
        if latest is None:
            return Name(obj, transaction.txn, 1)
        if latest.txn is Special.DEAD or not self.choices.chance(self.shape.again_percent):
            return None
        return Name(obj, transaction.txn, (latest.number or 1) + 1)

    def write(self, transaction: Running, obj: str, *, dead: bool = False) -> None:
        """Adds a write of an object; a second write of the same transaction only sometimes."""
        name = self.next_name(transaction, obj)
        if name is None or (dead and (obj in self.dead or name.number != 1)):
            return
        if dead:
            self.dead.add(obj)
            name = Name(obj, Special.DEAD)
        else:
            self.versions[obj].append(name)
        transaction.latest[obj] = name
        self.event(transaction, DraftEvent("w", transaction.txn, (name,)))

    def derive(self, transaction: Running, target: str, sources: list[Name]) -> bool:
        """Adds a derivation unless it would be a second one; returns whether it did."""
        name = self.next_name(transaction, target)
        if name is None:
            return False
        self.event(transaction, DraftEvent("d", transaction.txn, (name,), tuple(dict.fromkeys(sources))))
        self.versions[target].append(name)
        transaction.latest[target] = name
        return True

    def read(self, transaction: Running, obj: str, version: Name) -> None:
        """Adds a read, of the transaction's own latest version if it has one."""
        version = transaction.latest.get(obj, version)
        if not isinstance(version.txn, Special):
            self.event(transaction, DraftEvent("r", transaction.txn, (version,)))

    def predicate(self, transaction: Running) -> None:
        """Adds a predicate read, or a predicate write with its writes; `clauses` may say what matches."""
        objects = self.choices.subset([*self.base, *self.derived], 1, 3)
        objects = [*dict.fromkeys([*objects, *(o for o in transaction.latest if o in self.base)])]
        names = tuple(transaction.latest.get(obj, self.some_version(obj)) for obj in objects)
        writes = not transaction.reads_only and self.choices.chance(35)
        self.event(transaction, DraftEvent("W" if writes else "R", transaction.txn, names, None, PREDICATE))
        if writes:
            for obj in self.choices.subset([obj for obj in objects if obj in self.base], 0, 2):
                self.write(transaction, obj)

    def end(self, transaction: Running) -> None:
        """Adds a commit, sometimes an abort."""
        kind = "a" if self.choices.chance(self.shape.abort_percent) else "c"
        self.event(transaction, DraftEvent(kind, transaction.txn))
        self.running.remove(transaction)
        if kind == "c":
            for obj, name in transaction.latest.items():
                self.committed[obj].append(name)

    def clauses(self) -> None:
        """Adds version orders, matches, sessions and time-precedes items."""
        choices, shape = self.choices, self.shape
        for names in self.committed.values():
            alive = [name for name in names if name.txn is not Special.DEAD]
            if len(alive) > 1 and choices.chance(shape.reordered_percent):
                first = alive[:1] if self.implicit and choices.chance(80) else []
                rest = alive[len(first) :]
                shuffled = [rest.pop(choices.integer(0, len(rest) - 1)) for _ in range(len(rest))]
                dead = [name for name in names if name.txn is Special.DEAD]
                self.result.chains.append(Chain((*first, *shuffled, *dead)))
        if any(event.kind in "RW" for event in self.result.events) and choices.chance(85):
            members = [
                n for o in (*self.base, *self.derived) for n in self.versions[o] if n.txn is not Special.INIT
            ]
            self.result.matches.append(Matches(PREDICATE, tuple(n for n in members if choices.chance(50))))
        txns = [event.txn for event in self.result.events if event.kind == "c"]
        # A session goes on after a transaction that aborted.
        ended = [event.txn for event in self.result.events if event.kind in "ca"]
        candidates, most = (ended, 5) if isinstance(shape, StoryShape) else (txns, 3)
        if len(txns) > 1 and choices.chance(shape.sessions_percent):
            self.result.sessions.append(Session("a", tuple(choices.subset(candidates, 2, most))))
        if txns and not self.starts and choices.chance(shape.precedes_percent):
            self.times(txns)

    def times(self, txns: list[int]) -> None:
        """Adds all time-precedes items of a random clock."""
        spans = {}
        for txn in txns:
            start = self.choices.integer(0, 9)
            spans[txn] = start, start + self.choices.integer(1, 5)
        self.result.precedes += [
            Precedes(before, after)
            for before, after in product(txns, txns)
            if spans[before][1] <= spans[after][0]
        ]
