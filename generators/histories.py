"""Random well-formed histories with derivations, many of them near the boundary between two levels."""

from __future__ import annotations

from dataclasses import dataclass, field

from dvs_model.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session, Special
from dvs_model.history import History
from dvs_model.wellformed import well_formed
from generators.choices import Choices, SeededChoices

HISTORY_GENERATOR_VERSION = 1
"""History i is a function of (seed, this version, shape, i)."""

PREDICATE = "P"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryShape:
    """How large histories are, and how often what occurs, in percent of histories or draws."""

    transactions: tuple[int, int] = (2, 5)
    operations: tuple[int, int] = (1, 4)
    base: tuple[int, int] = (1, 3)
    derived: tuple[int, int] = (0, 2)
    predicate_percent: int = 35
    starts_percent: int = 35
    precedes_percent: int = 15
    sessions_percent: int = 15
    reader_percent: int = 35
    """Transactions that only read, outside skeletons."""
    abort_percent: int = 8
    again_percent: int = 8
    """Writes of an object that the transaction has written before: intermediate versions."""
    reordered_percent: int = 30
    """Objects with a version order other than that of the commits."""
    newest_percent: int = 45
    """Reads of the newest version; the others take any."""
    anomaly_percent: int = 40
    """Histories that begin with the skeleton of an anomaly."""


SMALL = HistoryShape()


def history_at(seed: int, shape: HistoryShape, index: int) -> History:
    """History `index` of a campaign."""
    return random_history(SeededChoices(seed, HISTORY_GENERATOR_VERSION, shape, index), shape)


def random_history(choices: Choices, shape: HistoryShape, name: str = "") -> History:
    """A random history, well-formed by construction."""
    return well_formed(HistoryBuilder(choices, shape).draft(name))


@dataclass(slots=True)
class Running:
    """A transaction that has not ended: operations still to come, its own latest versions."""

    txn: int
    left: int
    reads_only: bool = False
    own: dict[str, Name] = field(default_factory=dict)
    begun: bool = False


SKELETONS = (
    # (transaction, operation, object): reads take the newest version before the skeleton, `r+` the newest.
    ((1, "r", 0), (2, "r", 0), (2, "w", 0), (2, "c", 0), (1, "w", 0), (1, "c", 0)),
    ((1, "r", 0), (2, "w", 0), (2, "w", 1), (2, "c", 0), (1, "r+", 1), (1, "c", 0)),
    ((2, "w", 0), (2, "w", 1), (1, "r+", 0), (1, "r", 1), (2, "c", 0), (1, "c", 0)),
    ((1, "r", 0), (2, "r", 1), (1, "w", 1), (2, "w", 0), (1, "c", 0), (2, "c", 0)),
    (
        (1, "w", 0),
        (1, "c", 0),
        (2, "r+", 0),
        (2, "w", 1),
        (2, "c", 0),
        (3, "r+", 1),
        (3, "r", 0),
        (3, "c", 0),
    ),
    ((1, "w", 0), (2, "w", 1), (3, "r+", 0), (3, "r", 1), (4, "r", 0), (4, "r+", 1)),
    ((1, "w", 0), (2, "w", 1), (1, "r+", 1), (2, "r+", 0), (1, "c", 0), (2, "c", 0)),
    ((1, "w", 0), (1, "c", 0), (2, "w", 0), (2, "c", 0), (3, "r", 0), (3, "c", 0)),
)
"""Lost update, read skew both ways, write skew, causality violation, long fork, circular flow, stale read."""


@dataclass(slots=True)
class HistoryBuilder:
    """A history under construction."""

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
        """Everything drawn."""
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
        while self.running:
            transaction = choices.pick(self.running)
            if transaction.left > 0:
                transaction.left -= 1
                self.operation(transaction)
            else:
                self.end(transaction)
        self.clauses()
        return self.result

    def event(self, transaction: Running, event: DraftEvent) -> None:
        """One more event, after a start where there are any."""
        if self.starts and not transaction.begun:
            self.result.events.append(DraftEvent("s", transaction.txn))
        transaction.begun = True
        self.result.events.append(event)

    def skeleton(self, steps: tuple[tuple[int, str, int], ...]) -> None:
        """The steps of an anomaly; reads may go through a derivation. Ends may be left to chance."""
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
                version = self.versions[obj][-1] if kind == "r+" else before[obj]
                self.read_somehow(transaction, obj, version)

    def read_somehow(self, transaction: Running, obj: str, version: Name) -> None:
        """A read of a version, directly or of something derived from it."""
        if self.derived and self.choices.chance(40):
            target = self.choices.pick(self.derived)
            if self.derive(self.choices.pick(self.running), target, [version]):
                version = self.versions[target][-1]
                obj = target
        self.read(transaction, obj, version)

    def operation(self, transaction: Running) -> None:
        """A random operation."""
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
        """The newest version, or any."""
        versions = self.versions[obj]
        return versions[-1] if self.choices.chance(self.shape.newest_percent) else self.choices.pick(versions)

    def write(self, transaction: Running, obj: str, *, dead: bool = False) -> None:
        """A write of an object; of one that was written before only sometimes."""
        old = transaction.own.get(obj)
        if old is not None and (old.txn is Special.DEAD or not self.choices.chance(self.shape.again_percent)):
            return
        if dead and (obj in self.dead or old is not None):
            return
        number = 1 if old is None or old.number is None else old.number + 1
        name = Name(obj, Special.DEAD) if dead else Name(obj, transaction.txn, number)
        if dead:
            self.dead.add(obj)
        else:
            self.versions[obj].append(name)
        transaction.own[obj] = name
        self.event(transaction, DraftEvent("w", transaction.txn, (name,)))

    def derive(self, transaction: Running, target: str, sources: list[Name]) -> bool:
        """A derivation."""
        old = transaction.own.get(target)
        if old is not None and not self.choices.chance(self.shape.again_percent):
            return False
        number = 1 if old is None or old.number is None else old.number + 1
        name = Name(target, transaction.txn, number)
        self.event(transaction, DraftEvent("d", transaction.txn, (name,), tuple(dict.fromkeys(sources))))
        self.versions[target].append(name)
        transaction.own[target] = name
        return True

    def read(self, transaction: Running, obj: str, version: Name) -> None:
        """A read; of its own latest version where it has one."""
        version = transaction.own.get(obj, version)
        if not isinstance(version.txn, Special):
            self.event(transaction, DraftEvent("r", transaction.txn, (version,)))

    def predicate(self, transaction: Running) -> None:
        """A predicate read, or a predicate write with its writes; what matches is said later, if at all."""
        objects = self.choices.subset([*self.base, *self.derived], 1, 3)
        objects = [*dict.fromkeys([*objects, *(o for o in transaction.own if o in self.base)])]
        names = tuple(transaction.own.get(obj, self.some_version(obj)) for obj in objects)
        writes = not transaction.reads_only and self.choices.chance(35)
        self.event(transaction, DraftEvent("W" if writes else "R", transaction.txn, names, None, PREDICATE))
        if writes:
            for obj in self.choices.subset([obj for obj in objects if obj in self.base], 0, 2):
                self.write(transaction, obj)

    def end(self, transaction: Running) -> None:
        """A commit, sometimes an abort."""
        kind = "a" if self.choices.chance(self.shape.abort_percent) else "c"
        self.event(transaction, DraftEvent(kind, transaction.txn))
        self.running.remove(transaction)
        if kind == "c":
            for obj, name in transaction.own.items():
                self.committed[obj].append(name)

    def clauses(self) -> None:
        """Version orders, matches, sessions, time-precedes items."""
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
        if len(txns) > 1 and choices.chance(shape.sessions_percent):
            self.result.sessions.append(Session("a", tuple(choices.subset(txns, 2, 3))))
        if txns and not self.starts and choices.chance(shape.precedes_percent):
            self.times(txns)

    def times(self, txns: list[int]) -> None:
        """Time-precedes items of some clock, all of them."""
        spans = {}
        for txn in txns:
            start = self.choices.integer(0, 9)
            spans[txn] = start, start + self.choices.integer(1, 5)
        for before in txns:
            for after in txns:
                if spans[before][1] <= spans[after][0]:
                    self.result.precedes.append(Precedes(before, after))
