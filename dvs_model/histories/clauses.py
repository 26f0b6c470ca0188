"""The second pass over a draft: its version orders, matches, sessions and time-precedes items."""

from __future__ import annotations

from dvs_model.histories.clock import Contradiction, interval_clock
from dvs_model.histories.draft import Chain, DraftEvent
from dvs_model.histories.history import Version
from dvs_model.histories.inventory import T0, Inventory


class Clauses:
    """Checks the clauses of a draft whose events are well-formed. Every method raises HistoryError."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.error, self.clash = inventory.error, inventory.clash

    def chains(self) -> dict[str, tuple[tuple[Version, ...], Chain]]:
        """Returns the stated version orders by object, without the unborn versions."""
        chains: dict[str, tuple[tuple[Version, ...], Chain]] = {}
        for chain in self.inventory.draft.chains:
            versions = [self.inventory.resolved(name, None, chain.at, f"[{chain}]") for name in chain.names]
            obj = versions[0].obj
            if any(version.obj != obj for version in versions):
                raise self.error(f"[{chain}]: a version order holds versions of one object", chain.at)
            if obj in chains:
                raise self.error(f"[{chain}]: {obj} has a version order already", chain.at)
            if len(set(versions)) < len(versions):
                raise self.error(f"[{chain}]: a version is named twice in its version order", chain.at)
            if any(version.unborn for version in versions[1:]):
                raise self.error(f"[{chain}]: the unborn version comes first", chain.at)
            chains[obj] = tuple(v for v in versions if not v.unborn), chain
        return chains

    def matches(self) -> dict[str, frozenset[Version]]:
        """Returns the versions that match, by predicate. Reads that say what matches must agree."""
        matches: dict[str, frozenset[Version]] = {}
        for clause in self.inventory.draft.matches:
            what = f"[{clause.predicate} matches ..]"
            if clause.predicate in matches:
                raise self.error(f"{what}: there are two such clauses", clause.at)
            versions = [self.inventory.resolved(name, None, clause.at, what) for name in clause.names]
            for version, name in zip(versions, clause.names, strict=True):
                self.inventory.matching(version, what, name, clause.at)
            matches[clause.predicate] = frozenset(versions)
        self.agreement(matches)
        return matches

    def agreement(self, clauses: dict[str, frozenset[Version]]) -> None:
        """Checks that no version is stated both to match a predicate and not to match it."""
        stated: dict[tuple[str, Version], tuple[bool, DraftEvent]] = {}
        for event in self.inventory.draft.events:
            if event.kind not in "RW" or event.others is None:
                continue
            matched = {self.inventory.resolved(name, event.txn, event.at, event) for name in event.others}
            for name in event.names:
                version = self.inventory.resolved(name, event.txn, event.at, event)
                match = version in matched
                if event.predicate in clauses and match != (version in clauses[event.predicate]):
                    fact = f"{event}: [{event.predicate} matches ..] states the contrary for {name}"
                    raise self.error(fact, event.at)
                earlier, by = stated.setdefault((event.predicate, version), (match, event))
                if earlier != match:
                    raise self.clash(f"whether {name} matches is stated differently by", event, by)

    def committed(self) -> dict[str, list[Version]]:
        """Returns the final versions of committed transactions, by object, in commit order."""
        by_txn: dict[int, list[Version]] = {}
        for (obj, txn), number in self.inventory.last.items():
            by_txn.setdefault(txn, []).append(Version(obj, txn, number))
        committed: dict[str, list[Version]] = {obj: [Version(obj, T0, 1)] for obj in self.inventory.initial}
        for event in self.inventory.draft.events:
            if event.kind == "c":
                for version in by_txn.get(event.txn, ()):
                    committed.setdefault(version.obj, []).append(version)
        return committed

    def orders(
        self, chains: dict[str, tuple[tuple[Version, ...], Chain]], committed: dict[str, list[Version]]
    ) -> dict[str, tuple[Version, ...]]:
        """Returns the version order of each object: as stated, or by commits with the dead version last."""
        dead = {version for versions in self.inventory.dead.values() for version in versions}
        for obj, (versions, chain) in chains.items():
            stated, due = set(versions), dict.fromkeys(committed.get(obj, ()))
            for version in due:
                if version not in stated:
                    maker = self.inventory.created.get(version, f"T{version.txn}")
                    raise self.error(f"[{chain}]: the version of {obj} made by {maker} is missing", chain.at)
            for version in versions:
                if version not in due:
                    fact = f"[{chain}]: {self.inventory.created[version]} made no committed final version"
                    raise self.error(f"{fact}, and a version order holds only these", chain.at)
            if any(version in dead for version in versions[:-1]):
                raise self.error(f"[{chain}]: the dead version comes last", chain.at)
        orders: dict[str, tuple[Version, ...]] = {}
        for obj, versions_made in committed.items():
            last = [version for version in versions_made if version in dead]
            if obj in chains:
                orders[obj] = chains[obj][0]
            elif len(last) > 1:
                fact = "a dead version is the last one, and so is that of"
                raise self.clash(fact, *(self.inventory.created[version] for version in (last[1], last[0])))
            else:
                orders[obj] = (*(version for version in versions_made if version not in dead), *last)
        return orders

    def sessions(self) -> dict[str, tuple[int, ...]]:
        """Returns the transactions of each session."""
        sessions: dict[str, tuple[int, ...]] = {}
        owner: dict[int, str] = {}
        for session in self.inventory.draft.sessions:
            if session.name in sessions:
                raise self.error(f"[session {session.name}: ..]: there are two such clauses", session.at)
            for txn in session.txns:
                if txn not in self.inventory.ended:
                    raise self.error(f"[session {session.name}: ..]: there is no T{txn}", session.at)
                if txn in owner:
                    fact = f"[session {session.name}: ..]: T{txn} is in session {owner[txn]} already"
                    raise self.error(fact, session.at)
                owner[txn] = session.name
            sessions[session.name] = session.txns
        return sessions

    def precedes(self) -> tuple[tuple[int, int], ...]:
        """Returns the time-precedes items, which some clock must satisfy."""
        items = self.inventory.draft.precedes
        if not items:
            return ()
        start = next((event for event in self.inventory.draft.events if event.kind == "s"), None)
        if start is not None:
            fact = f"time-precedes items beside the start event {start}; use one of the two"
            raise self.error(fact, items[0].at)
        for item in items:
            end = self.inventory.ended.get(item.before)
            implicit = item.before == T0 and bool(self.inventory.initial)
            if not implicit and (end is None or end.kind != "c"):
                raise self.error(f"[{item}]: T{item.before} does not commit", item.at)
            if item.after not in self.inventory.ended:
                raise self.error(f"[{item}]: there is no T{item.after}", item.at)
        pairs = tuple((item.before, item.after) for item in items)
        clock = interval_clock(pairs, self.inventory.ended, T0 if self.inventory.initial else None)
        if isinstance(clock, Contradiction):
            (a, b), (c, d) = clock.first, clock.second
            at = next((item.at for item in items if (item.before, item.after) == (c, d)), items[0].at)
            if clock.first == clock.second:
                raise self.error(f"[c{c} < s{d}]: no clock can: T{d} would precede itself", at)
            fact = f"[c{a} < s{b}] and [c{c} < s{d}]: no clock can satisfy both"
            raise self.error(f"{fact} and neither c{a} < s{d} nor c{c} < s{b}", at)
        return pairs
