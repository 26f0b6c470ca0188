"""From a draft to a history, or an error that names both events.

What is asked for stands in docs/notation.md. Rules of Adya 1999, section 3.1.2: events of a transaction end
with its commit or abort; a read names a version that exists; version orders hold exactly the committed
versions. A derivation's sources exist before it (DVS paper, section 4.1), so "derives from" has no cycle.
"""

from __future__ import annotations

from collections.abc import Iterable

from dvs_model.clock import interval_clock
from dvs_model.draft import Chain, Draft, DraftEvent, Matches, Name, Special
from dvs_model.errors import HistoryError
from dvs_model.history import (
    Abort,
    Commit,
    Derive,
    Event,
    History,
    PredicateRead,
    Read,
    Start,
    Version,
    Write,
    unborn,
)

T0 = 0
"""The transaction that may stay implicit."""


def well_formed(draft: Draft) -> History:
    """The history of a draft. Raises HistoryError."""
    return Formation(draft).history()


class Formation:
    """Reads a draft twice: what is created when, then what every name means."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.ended: dict[int, DraftEvent] = {}
        self.started: dict[int, DraftEvent] = {}
        self.created: dict[Version, DraftEvent] = {}
        self.order_of_creation: dict[Version, int] = {}
        self.last: dict[tuple[str, int], int] = {}
        self.final: dict[tuple[str, int], DraftEvent] = {}
        self.dead: dict[str, list[Version]] = {}
        self.kind: dict[str, DraftEvent] = {}
        self.latest: dict[tuple[str, int], tuple[Version, DraftEvent]] = {}
        self.initial: dict[str, None] = {}
        self.relations: dict[str, dict[str, None]] = {}
        self.implicit = False

    def history(self) -> History:
        """The history, or the first error."""
        for number, event in enumerate(self.draft.events):
            self.lifetime(event)
            if event.kind in "wd":
                self.creation(number, event)
            elif event.kind in "RW":
                self.ranging(event.predicate, event.names)
        for clause in self.draft.matches:
            self.ranging(clause.predicate, clause.names)
        self.implicit = all(event.txn != T0 for event in self.draft.events)
        for txn, event in self.firsts().items():
            if txn not in self.ended:
                raise self.error(f"T{txn} neither commits nor aborts; its first event is {event}", event.at)
        events = [self.event(number, event) for number, event in enumerate(self.draft.events)]
        chains = self.chains()
        matches = self.matches()
        committed = self.committed()
        return History(
            name=self.draft.name,
            events=(*self.initial_events(), *events),
            orders=self.orders(chains, committed),
            matches=matches,
            sessions=self.sessions(),
            precedes=self.precedes(),
            implicit_initial=bool(self.initial),
        )

    def ranging(self, predicate: str, names: Iterable[Name]) -> None:
        """A predicate ranges over every object that is named with it."""
        self.relations.setdefault(predicate, {}).update((name.obj, None) for name in names)

    def firsts(self) -> dict[int, DraftEvent]:
        """Every transaction's first event."""
        first: dict[int, DraftEvent] = {}
        for event in self.draft.events:
            first.setdefault(event.txn, event)
        return first

    def error(self, fact: str, at: int) -> HistoryError:
        """An error with its place."""
        return HistoryError(fact, *self.draft.locate(at))

    def clash(self, fact: str, event: DraftEvent, other: DraftEvent) -> HistoryError:
        """An error about two events."""
        line, column = self.draft.locate(other.at)
        where = "" if line is None else f" (line {line}, column {column})"
        return self.error(f"{event}: {fact} {other}{where}", event.at)

    def lifetime(self, event: DraftEvent) -> None:
        """A transaction's start comes first, and nothing after its end."""
        if event.txn in self.ended:
            raise self.clash(f"T{event.txn} has already ended, by", event, self.ended[event.txn])
        if event.kind == "s" and event.txn in self.started:
            raise self.clash(
                "a start is the first event of its transaction, which has", event, self.started[event.txn]
            )
        self.started.setdefault(event.txn, event)
        if event.kind in "ca":
            self.ended[event.txn] = event

    def creation(self, number: int, event: DraftEvent) -> None:
        """A write or derivation makes the next version of its object."""
        name, txn = event.names[0], event.txn
        if name.txn is Special.DEAD and event.kind == "w":
            number_given = None
        elif name.txn != txn:
            raise self.error(
                f"{event}: a transaction makes versions of its own; write {name.obj}{txn}", event.at
            )
        else:
            number_given = name.number
        other = self.kind.setdefault(name.obj, event)
        if (other.kind == "d") != (event.kind == "d"):
            raise self.clash(f"{name.obj} is either written or derived, and there is", event, other)
        key = (name.obj, txn)
        expected = self.last.get(key, 0) + 1
        if key in self.final:
            raise self.clash("the final version has been made before, by", event, self.final[key])
        if number_given is not None and number_given != expected:
            raise self.error(
                f"{event}: modifications count from 1 without gaps; this is {name.obj}{txn}.{expected}",
                event.at,
            )
        if number_given is None:
            self.final[key] = event
        version = Version(name.obj, txn, expected)
        self.last[key] = expected
        self.created[version] = event
        self.order_of_creation[version] = number
        if name.txn is Special.DEAD:
            self.dead.setdefault(name.obj, []).append(version)

    def event(self, number: int, event: DraftEvent) -> Event:
        """The event with every name resolved."""
        match event.kind:
            case "s":
                return Start(event.txn)
            case "c":
                return Commit(event.txn)
            case "a":
                return Abort(event.txn)
            case "w":
                version = self.made(event)
                return Write(event.txn, version, event.value, event.names[0].txn is Special.DEAD)
            case "r":
                return self.read(number, event)
            case "d":
                version = self.made(event)
                sources = [self.used(name, number, event) for name in event.others or ()]
                return Derive(event.txn, version, tuple(dict.fromkeys(sources)))
            case "R" | "W":
                return self.predicate(number, event)
        raise self.error(f"unknown event {event}", event.at)

    def made(self, event: DraftEvent) -> Version:
        """The version that a write or derivation makes; from now on its transaction's latest."""
        name = event.names[0]
        before = self.latest.get((name.obj, event.txn))
        version = Version(name.obj, event.txn, 1 if before is None else before[0].number + 1)
        self.latest[name.obj, event.txn] = version, event
        return version

    def read(self, number: int, event: DraftEvent) -> Read:
        """An item read."""
        name = event.names[0]
        if isinstance(name.txn, Special):
            raise self.error(
                f"{event}: an unborn or dead version cannot be read, only stand in a version set", event.at
            )
        version = self.used(name, number, event)
        if version in self.dead.get(version.obj, ()):
            maker = self.created[version]
            raise self.clash("a dead version cannot be read, and this one was made by", event, maker)
        self.own(version.obj, version, event)
        return Read(event.txn, version, event.value)

    def own(self, obj: str, version: Version | None, event: DraftEvent) -> None:
        """After its own write a transaction sees its own latest version."""
        mine = self.latest.get((obj, event.txn))
        if mine is not None and mine[0] != version:
            raise self.clash(
                f"a transaction sees its own latest version of {obj}, which was made by", event, mine[1]
            )

    def predicate(self, number: int, event: DraftEvent) -> PredicateRead:
        """A predicate read or write."""
        versions = tuple(self.used(name, number, event) for name in event.names)
        seen: dict[str, Version] = {}
        for version in versions:
            if version.obj in seen:
                raise self.error(f"{event}: two versions of {version.obj} in one version set", event.at)
            seen[version.obj] = version
            self.own(version.obj, version, event)
        for obj in self.relations[event.predicate]:
            mine = self.latest.get((obj, event.txn))
            if obj not in seen and mine is not None and mine[1].kind == "w":
                fact = f"a transaction sees its own latest version of {obj}, which is left out here, made by"
                raise self.clash(fact, event, mine[1])
        matched = None
        if event.others is not None:
            matched = tuple(self.used(name, number, event) for name in event.others)
            for version, name in zip(matched, event.others, strict=True):
                if seen.get(version.obj) != version:
                    raise self.error(f"{event}: {name} matches but is not in the version set", event.at)
                self.matching(version, event, name, event.at)
        return PredicateRead(event.txn, event.predicate, versions, matched, event.kind == "W")

    def matching(self, version: Version, what: object, name: Name, at: int) -> None:
        """Unborn and dead versions match nothing."""
        if version.unborn or version in self.dead.get(version.obj, ()):
            raise self.error(f"{what}: {name} is unborn or dead and matches nothing", at)

    def used(self, name: Name, number: int, event: DraftEvent) -> Version:
        """A version named by an event, which must exist by then."""
        version = self.resolved(name, event.txn, event.at, event)
        if version.unborn or (version.txn == T0 and self.implicit):
            return version
        created = self.order_of_creation[version]
        if created >= number:
            raise self.clash(f"{name} is used before it is made by", event, self.created[version])
        return version

    def resolved(self, name: Name, reader: int | None, at: int, what: object) -> Version:
        """What a name means."""
        obj, txn = name.obj, name.txn
        if txn is Special.INIT:
            return unborn(obj)
        if txn is Special.DEAD:
            return self.dead_version(obj, reader, at, what)
        assert isinstance(txn, int)
        if txn == T0 and self.implicit and name.number in (None, 1):
            self.initial[obj] = None
            derived = self.kind.get(obj)
            if derived is not None and derived.kind == "d":
                raise self.error(
                    f"{what}: {name} is written by an implicit T0, and {obj} is derived by {derived}", at
                )
            return Version(obj, T0, 1)
        last = self.last.get((obj, txn))
        if last is None:
            raise self.error(f"{what}: nobody makes {name}; T{txn} neither writes nor derives {obj}", at)
        number = last if name.number is None else name.number
        if not 1 <= number <= last:
            raise self.error(f"{what}: nobody makes {name}; T{txn} makes {last} version(s) of {obj}", at)
        return Version(obj, txn, number)

    def dead_version(self, obj: str, reader: int | None, at: int, what: object) -> Version:
        versions = self.dead.get(obj, [])
        own = [version for version in versions if version.txn == reader]
        committed = [version for version in versions if self.ended[version.txn].kind == "c"]
        found = own or committed or versions
        if len(found) != 1:
            count = "nobody" if not found else "more than one transaction"
            raise self.error(f"{what}: {count} deletes {obj}", at)
        return found[0]

    def chains(self) -> dict[str, tuple[tuple[Version, ...], Chain]]:
        """The stated version orders by object."""
        chains: dict[str, tuple[tuple[Version, ...], Chain]] = {}
        for chain in self.draft.chains:
            text = " << ".join(map(str, chain.names))
            versions = [self.resolved(name, None, chain.at, f"[{text}]") for name in chain.names]
            obj = versions[0].obj
            if any(version.obj != obj for version in versions):
                raise self.error(f"[{text}]: a version order holds versions of one object", chain.at)
            if obj in chains:
                raise self.error(f"[{text}]: {obj} has a version order already", chain.at)
            if len(set(versions)) < len(versions):
                raise self.error(f"[{text}]: a version stands in its version order twice", chain.at)
            if any(version.unborn for version in versions[1:]):
                raise self.error(f"[{text}]: the unborn version comes first", chain.at)
            chains[obj] = tuple(v for v in versions if not v.unborn), chain
        return chains

    def matches(self) -> dict[str, frozenset[Version]]:
        """The versions that match, by predicate; reads must agree."""
        found: dict[str, frozenset[Version]] = {}
        for clause in self.draft.matches:
            what = f"[{clause.predicate} matches ..]"
            if clause.predicate in found:
                raise self.error(f"{what}: there are two such clauses", clause.at)
            versions = [self.resolved(name, None, clause.at, what) for name in clause.names]
            for version, name in zip(versions, clause.names, strict=True):
                self.matching(version, what, name, clause.at)
            found[clause.predicate] = frozenset(versions)
        self.agreement(found)
        return found

    def agreement(self, clauses: dict[str, frozenset[Version]]) -> None:
        """No version is said to match and not to match one predicate."""
        said: dict[tuple[str, Version], tuple[bool, DraftEvent | Matches]] = {}
        for event in self.draft.events:
            if event.kind not in "RW" or event.others is None:
                continue
            matched = {self.resolved(name, event.txn, event.at, event) for name in event.others}
            for name in event.names:
                version = self.resolved(name, event.txn, event.at, event)
                match = version in matched
                if event.predicate in clauses and match != (version in clauses[event.predicate]):
                    raise self.error(
                        f"{event}: [{event.predicate} matches ..] says otherwise of {name}", event.at
                    )
                before = said.setdefault((event.predicate, version), (match, event))
                if before[0] != match and isinstance(before[1], DraftEvent):
                    raise self.clash(f"whether {name} matches is told otherwise by", event, before[1])

    def committed(self) -> dict[str, list[Version]]:
        """The installed and derived final versions of committed transactions, by object, in commit order."""
        by_txn: dict[int, list[Version]] = {}
        for (obj, txn), number in self.last.items():
            by_txn.setdefault(txn, []).append(Version(obj, txn, number))
        found: dict[str, list[Version]] = {obj: [Version(obj, T0, 1)] for obj in self.initial}
        for event in self.draft.events:
            if event.kind == "c":
                for version in by_txn.get(event.txn, ()):
                    found.setdefault(version.obj, []).append(version)
        return found

    def orders(
        self, chains: dict[str, tuple[tuple[Version, ...], Chain]], committed: dict[str, list[Version]]
    ) -> dict[str, tuple[Version, ...]]:
        """Per object its version order: stated, or by commits with the dead version last."""
        for obj, (versions, chain) in chains.items():
            text = " << ".join(map(str, chain.names))
            expected = committed.get(obj, [])
            known = set(versions)
            missing = [version for version in expected if version not in known]
            if missing:
                made = self.created.get(missing[0], f"T{missing[0].txn}")
                raise self.error(f"[{text}]: the version of {obj} made by {made} is missing", chain.at)
            due = set(expected)
            extra = [version for version in versions if version not in due]
            if extra:
                made = self.created[extra[0]]
                raise self.error(
                    f"[{text}]: {made} made no committed final version, which alone are ordered", chain.at
                )
            if any(version in self.dead.get(obj, ()) for version in versions[:-1]):
                raise self.error(f"[{text}]: the dead version comes last", chain.at)
        orders: dict[str, tuple[Version, ...]] = {}
        for obj, versions_made in committed.items():
            if obj in chains:
                orders[obj] = chains[obj][0]
                continue
            dead = [version for version in versions_made if version in self.dead.get(obj, ())]
            if len(dead) > 1:
                raise self.clash(
                    "a dead version is the last one, and so is that of",
                    self.created[dead[1]],
                    self.created[dead[0]],
                )
            orders[obj] = (*(version for version in versions_made if version not in dead), *dead)
        return orders

    def sessions(self) -> dict[str, tuple[int, ...]]:
        """The sessions by name."""
        found: dict[str, tuple[int, ...]] = {}
        owner: dict[int, str] = {}
        for session in self.draft.sessions:
            if session.name in found:
                raise self.error(f"[session {session.name}: ..]: there are two such clauses", session.at)
            for txn in session.txns:
                if txn not in self.ended:
                    raise self.error(f"[session {session.name}: ..]: there is no T{txn}", session.at)
                if txn in owner:
                    raise self.error(
                        f"[session {session.name}: ..]: T{txn} is in session {owner[txn]} already", session.at
                    )
                owner[txn] = session.name
            found[session.name] = session.txns
        return found

    def precedes(self) -> tuple[tuple[int, int], ...]:
        """The time-precedes items, which some clock must satisfy."""
        items = self.draft.precedes
        if not items:
            return ()
        start = next((event for event in self.draft.events if event.kind == "s"), None)
        if start is not None:
            raise self.error(
                f"time-precedes items beside the start event {start}; use one of the two", items[0].at
            )
        for item in items:
            known = self.ended.get(item.before)
            implicit = item.before == T0 and bool(self.initial)
            if not implicit and (known is None or known.kind != "c"):
                raise self.error(f"[c{item.before} < s{item.after}]: T{item.before} does not commit", item.at)
            if item.after not in self.ended:
                raise self.error(f"[c{item.before} < s{item.after}]: there is no T{item.after}", item.at)
        pairs = tuple((item.before, item.after) for item in items)
        clock = interval_clock(pairs, self.ended, T0 if self.initial else None)
        if isinstance(clock, tuple):
            first, second = clock
            place = next((i.at for i in items if (i.before, i.after) == second), items[0].at)
            if first == second:
                raise self.error(
                    f"[c{second[0]} < s{second[1]}]: no clock can: T{second[0]} would precede itself",
                    place,
                )
            raise self.error(
                f"[c{first[0]} < s{first[1]}] and [c{second[0]} < s{second[1]}]: no clock can satisfy both "
                f"and neither c{first[0]} < s{second[1]} nor c{second[0]} < s{first[1]}",
                place,
            )
        return pairs

    def initial_events(self) -> Iterable[Event]:
        """The events of an implicit T0."""
        if self.initial:
            yield from (Write(T0, Version(obj, T0, 1)) for obj in sorted(self.initial))
            yield Commit(T0)
