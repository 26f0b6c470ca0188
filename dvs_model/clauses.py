"""What stands between square brackets: version orders, matches, sessions, time-precedes items."""

from __future__ import annotations

from dataclasses import dataclass

from dvs_model.clock import interval_clock
from dvs_model.draft import Chain, DraftEvent, Matches
from dvs_model.errors import HistoryError
from dvs_model.history import Version
from dvs_model.inventory import T0, Inventory


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a draft, once its events are known to make sense. Every method raises HistoryError."""

    inventory: Inventory

    def error(self, fact: str, at: int) -> HistoryError:
        """An error with its place."""
        return self.inventory.error(fact, at)

    def clash(self, fact: str, event: DraftEvent, other: DraftEvent) -> HistoryError:
        """An error about two events."""
        return self.inventory.clash(fact, event, other)

    def chains(self) -> dict[str, tuple[tuple[Version, ...], Chain]]:
        """The stated version orders by object."""
        chains: dict[str, tuple[tuple[Version, ...], Chain]] = {}
        for chain in self.inventory.draft.chains:
            text = " << ".join(map(str, chain.names))
            versions = [self.inventory.resolved(name, None, chain.at, f"[{text}]") for name in chain.names]
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
        for clause in self.inventory.draft.matches:
            what = f"[{clause.predicate} matches ..]"
            if clause.predicate in found:
                raise self.error(f"{what}: there are two such clauses", clause.at)
            versions = [self.inventory.resolved(name, None, clause.at, what) for name in clause.names]
            for version, name in zip(versions, clause.names, strict=True):
                self.inventory.matching(version, what, name, clause.at)
            found[clause.predicate] = frozenset(versions)
        self.agreement(found)
        return found

    def agreement(self, clauses: dict[str, frozenset[Version]]) -> None:
        """No version is said to match and not to match one predicate."""
        said: dict[tuple[str, Version], tuple[bool, DraftEvent | Matches]] = {}
        for event in self.inventory.draft.events:
            if event.kind not in "RW" or event.others is None:
                continue
            matched = {self.inventory.resolved(name, event.txn, event.at, event) for name in event.others}
            for name in event.names:
                version = self.inventory.resolved(name, event.txn, event.at, event)
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
        for (obj, txn), number in self.inventory.last.items():
            by_txn.setdefault(txn, []).append(Version(obj, txn, number))
        found: dict[str, list[Version]] = {obj: [Version(obj, T0, 1)] for obj in self.inventory.initial}
        for event in self.inventory.draft.events:
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
                made = self.inventory.created.get(missing[0], f"T{missing[0].txn}")
                raise self.error(f"[{text}]: the version of {obj} made by {made} is missing", chain.at)
            due = set(expected)
            extra = [version for version in versions if version not in due]
            if extra:
                made = self.inventory.created[extra[0]]
                raise self.error(
                    f"[{text}]: {made} made no committed final version, which alone are ordered", chain.at
                )
            if any(version in self.inventory.dead.get(obj, ()) for version in versions[:-1]):
                raise self.error(f"[{text}]: the dead version comes last", chain.at)
        orders: dict[str, tuple[Version, ...]] = {}
        for obj, versions_made in committed.items():
            if obj in chains:
                orders[obj] = chains[obj][0]
                continue
            dead = [version for version in versions_made if version in self.inventory.dead.get(obj, ())]
            if len(dead) > 1:
                raise self.clash(
                    "a dead version is the last one, and so is that of",
                    self.inventory.created[dead[1]],
                    self.inventory.created[dead[0]],
                )
            orders[obj] = (*(version for version in versions_made if version not in dead), *dead)
        return orders

    def sessions(self) -> dict[str, tuple[int, ...]]:
        """The sessions by name."""
        found: dict[str, tuple[int, ...]] = {}
        owner: dict[int, str] = {}
        for session in self.inventory.draft.sessions:
            if session.name in found:
                raise self.error(f"[session {session.name}: ..]: there are two such clauses", session.at)
            for txn in session.txns:
                if txn not in self.inventory.ended:
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
        items = self.inventory.draft.precedes
        if not items:
            return ()
        start = next((event for event in self.inventory.draft.events if event.kind == "s"), None)
        if start is not None:
            raise self.error(
                f"time-precedes items beside the start event {start}; use one of the two", items[0].at
            )
        for item in items:
            known = self.inventory.ended.get(item.before)
            implicit = item.before == T0 and bool(self.inventory.initial)
            if not implicit and (known is None or known.kind != "c"):
                raise self.error(f"[c{item.before} < s{item.after}]: T{item.before} does not commit", item.at)
            if item.after not in self.inventory.ended:
                raise self.error(f"[c{item.before} < s{item.after}]: there is no T{item.after}", item.at)
        pairs = tuple((item.before, item.after) for item in items)
        clock = interval_clock(pairs, self.inventory.ended, T0 if self.inventory.initial else None)
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
