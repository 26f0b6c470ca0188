"""Anomalies by their common names (lost update, phantom, write skew), found in a history.

They are for the reader of a report. Verdicts on levels follow from phenomena alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise, permutations

from dvs_model.checking.check import Checked
from dvs_model.histories.history import Abort, Commit, Derive, History, PredicateRead, Read, Version, Write


@dataclass(slots=True)
class Footprint:
    """What one committed transaction read and wrote.

    `items`: by object the versions of others that it read by name. `bases`: by object those of them that were
    written, not derived, and what matched its predicates and later did not. `through`: by object the versions
    from which something was derived that it read. `sets`: by predicate its version sets, each with the
    members that matched. `derives`: it derived something.
    """

    items: dict[str, list[Version]] = field(default_factory=dict)
    bases: dict[str, list[Version]] = field(default_factory=dict)
    through: dict[str, list[Version]] = field(default_factory=dict)
    sets: dict[str, list[tuple[frozenset[Version], frozenset[Version]]]] = field(default_factory=dict)
    writes: dict[str, Version] = field(default_factory=dict)
    derives: bool = False


MOST_TRANSACTIONS = 200
"""Transactions up to which anomalies are looked for by name: every pair of transactions is compared."""


def named(checked: Checked) -> tuple[tuple[str, tuple[int, ...], str], ...]:
    """Returns the anomalies of a checked history: the common name, the transactions, and a sentence."""
    if checked.seen is not None:
        return checked.seen.anomalies
    if len(checked.history.transactions()) > MOST_TRANSACTIONS:
        return ()
    found = anomalies(checked.history)
    return tuple((name, txns, sentence(name, txns)) for name, txns in found.items())


def sentence(name: str, txns: tuple[int, ...]) -> str:
    """Returns what happened, in words that need no theory. `txns`: in the order that `anomalies` gives."""
    names = [f"T{txn}" for txn in txns]
    first, rest = names[0], " and ".join(names[1:]) or "itself"
    match name:
        case "dirty read":
            return f"{first} read what {rest} wrote and did not leave so"
        case "non-repeatable read":
            return f"{first} read one row twice, before and after {rest} changed it"
        case "lost update":
            return f"{first} overwrote what {rest} had written since {first} read it"
        case "phantom":
            return f"{first} searched twice and found other rows, because of {rest}"
        case "read skew":
            return f"{first} read one row as it was before {rest}, and another one as it was after"
        case "read skew through a derivation":
            return f"{first} read rows from before {rest} and from after it, some of them derived"
        case "write skew":
            return f"{first} and {rest} each read what the other one then changed"
        case "long fork":
            reader, writer, other, late = names
            return f"{reader} saw {writer} and not {late}; {other} saw {late} and not {writer}"
        case "read-only anomaly":
            reader, early, late = names
            return f"{reader}, which only reads, saw {early} and not {late}; {late} had not seen {early}"
        case _:
            return f"{name} of {', '.join(names)}"


def anomalies(history: History) -> Mapping[str, tuple[int, ...]]:
    """Returns by name the transactions of the first anomaly of that name, its reader first.

    dirty read: a version of another transaction that aborted, or that was not its last one. non-repeatable
    read: two versions of one row. lost update: a row is written over a version that was not read. phantom:
    two reads of one predicate match other rows. read skew: one row as before, another as after a transaction;
    through a derivation, if it takes what a row was derived from to see that. write skew: two transactions
    each read, and leave, what the other one overwrites. long fork: two readers saw two transactions in
    different orders. read-only anomaly (Fekete, O'Neil, O'Neil 2004): of two writers, one of which had not
    seen the other, a reader saw that other one only.
    """
    committed = {event.txn for event in history.events if isinstance(event, Commit)}
    aborted = {event.txn for event in history.events if isinstance(event, Abort)}
    seen = {txn: Footprint() for txn in sorted(committed)}
    sources = _sources(history, committed)
    for event in history.events:
        if event.txn in committed:
            _note(seen[event.txn], event, sources, history)
    places = {
        version: (obj, place) for obj, order in history.orders.items() for place, version in enumerate(order)
    }
    found: dict[str, tuple[int, ...]] = {}
    for name, txns in _each(seen, places, aborted):
        found.setdefault(name, txns)
    return found


def _sources(history: History, committed: set[int]) -> Mapping[Version, frozenset[Version]]:
    """Returns by derived version the versions of base objects from which it was derived, over all steps."""
    sources: dict[Version, frozenset[Version]] = {}
    for event in history.events:
        if isinstance(event, Derive) and event.txn in committed:
            below = (sources.get(version, frozenset({version})) for version in event.sources)
            sources[event.version] = frozenset().union(*below)
    return sources


def _note(
    seen: Footprint, event: object, sources: Mapping[Version, frozenset[Version]], history: History
) -> None:
    """Adds an event to the footprint of its transaction. `sources`: from `_sources`."""
    match event:
        case Read(txn, version):
            if version.txn != txn:
                seen.items.setdefault(version.obj, []).append(version)
                # A refresh writes nothing of its own: what a derived row shows are its sources.
                if version not in sources:
                    seen.bases.setdefault(version.obj, []).append(version)
                for source in sources.get(version, ()):
                    seen.through.setdefault(source.obj, []).append(source)
        case PredicateRead(txn=txn):
            matched = frozenset(event.matched or ())
            seen.sets.setdefault(event.predicate, []).append((frozenset(event.versions), matched))
            for version in matched:
                if version.txn != txn and not _stays(history, event.predicate, version):
                    seen.bases.setdefault(version.obj, []).append(version)
        case Write(version=version):
            seen.writes[version.obj] = version
        case Derive():
            seen.derives = True
        case _:
            pass


def _stays(history: History, predicate: str, version: Version) -> bool:
    """Tells whether all later versions of an object are known to match a predicate, as this one does."""
    order = history.orders.get(version.obj, ())
    later = order[order.index(version) + 1 :] if version in order else ()
    return bool(later) and history.matches.get(predicate, frozenset()).issuperset(later)


Places = Mapping[Version, tuple[str, int]]
"""By committed version its object, and its place in the version order."""


def _each(
    seen: Mapping[int, Footprint], places: Places, aborted: set[int]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields each anomaly by name, with its transactions. `seen`: the footprints of committed ones."""
    for txn, mine in seen.items():
        for versions in (*mine.items.values(), *mine.bases.values()):
            for version in versions:
                if version.txn in aborted or (version.txn in seen and version not in places):
                    yield "dirty read", (txn, version.txn)
        for versions in mine.items.values():
            if len(set(versions)) > 1:
                yield "non-repeatable read", (txn, versions[-1].txn)
        for sets in mine.sets.values():
            yield from _phantoms(txn, sets)
        for obj, written in mine.writes.items():
            for version in mine.bases.get(obj, ()):
                if version in places and written in places and places[written][1] > places[version][1] + 1:
                    yield "lost update", (txn, *_between(places, version, written))
    for first, second in permutations(seen, 2):
        yield from _skews(first, second, seen, places)
    yield from _forks(seen, places)


def _phantoms(
    txn: int, sets: list[tuple[frozenset[Version], frozenset[Version]]]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields a phantom for two successive reads of one predicate that match other objects.

    Objects that the reader wrote itself in between do not count.
    """
    for (old, before), (new, after) in pairwise(sets):
        objects = [{version.obj for version in matched if version.txn != txn} for matched in (before, after)]
        others = {version.txn for version in (before ^ after) if version.txn != txn}
        mine = {version.obj for version in (old | new) if version.txn == txn}
        if (objects[0] ^ objects[1]) - mine and others:
            yield "phantom", (txn, *sorted(others))


def _between(places: Places, first: Version, last: Version) -> list[int]:
    """Returns the transactions whose versions of one object lie between two versions of it."""
    low, high = places[first][1], places[last][1]
    return sorted(
        version.txn for version, (obj, place) in places.items() if obj == first.obj and low < place < high
    )


Reads = Mapping[str, list[Version]]


def _overwritten(reads: Reads, writer: Footprint, places: Places) -> set[str]:
    """Returns the objects of which a version was read that is older than the one that `writer` wrote."""
    return {
        obj
        for obj, written in writer.writes.items()
        for version in reads.get(obj, ())
        if version in places and written in places and places[version][1] < places[written][1]
    }


def _objects_of(reads: Reads, writer: int) -> set[str]:
    """Returns the objects of which a version of one transaction was read."""
    return {obj for obj, versions in reads.items() for version in versions if version.txn == writer}


def _skews(
    first: int, second: int, seen: Mapping[int, Footprint], places: Places
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the skews of two transactions: `first` saw a part of `second`, or both missed each other."""
    mine, other = seen[first], seen[second]
    before, after = _overwritten(mine.bases, other, places), _objects_of(mine.bases, second)
    if before and after - before:
        yield "read skew", (first, second)
    elif mine.through:
        # Of one object, too: a row and what was derived from its older version.
        old = _overwritten(mine.through, other, places)
        new = _objects_of(mine.through, second)
        if (old and (after or new)) or (before and new):
            yield "read skew through a derivation", (first, second)
    back = _overwritten(other.bases, mine, places)
    if before - set(mine.writes) and back - set(other.writes) and before != back:
        yield "write skew", (first, second)


def _forks(seen: Mapping[int, Footprint], places: Places) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields long forks: of two writers, one reader saw only the first, and another only the second.

    And read-only anomalies: the second of these readers is one of the writers.
    """
    saw: dict[int, set[int]] = {}
    missed: dict[int, set[int]] = {}
    for reader, mine in seen.items():
        new = {version.txn for versions in mine.bases.values() for version in versions} & seen.keys()
        old = {
            writer
            for writer, other in seen.items()
            if writer != reader and _overwritten(mine.bases, other, places)
        }
        # A reader that saw a part of a writer has read skew, and counts here as neither.
        saw[reader], missed[reader] = new - old, old - new
    for first, second in combinations(seen, 2):
        early = sorted(saw[first] & missed[second] - {first, second})
        late = sorted(saw[second] & missed[first] - {first, second})
        if early and late:
            yield "long fork", (first, early[0], second, late[0])
    for reader in (each for each in seen if not seen[each].writes and not seen[each].derives):
        for unseen in sorted(missed[reader]):
            # Two writers that had both not seen the other are write skew without a reader.
            writers = [each for each in sorted(saw[reader] & missed[unseen]) if unseen not in missed[each]]
            if writers and not saw[unseen] & missed[reader]:
                yield "read-only anomaly", (reader, writers[0], unseen)
