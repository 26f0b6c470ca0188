"""An index of a history, made in one pass: who made a version, what comes next, what is behind it.

Detectors, the DSG and explanations look things up here instead of searching the events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dvs_model.histories.history import (
    Abort,
    Commit,
    Derive,
    Event,
    History,
    PredicateRead,
    Read,
    Version,
    Write,
    unborn,
)


def derivations_ignored(history: History) -> History:
    """Returns the history under persisted table semantics: a refresh reads its sources, writes its result."""
    events: list[Event] = []
    for event in history.events:
        if isinstance(event, Derive):
            events.extend(Read(event.txn, source) for source in event.sources)
            events.append(Write(event.txn, event.version))
        else:
            events.append(event)
    return replace(history, events=tuple(events))


@dataclass(slots=True)
class Facts:
    """An index of a history. An event is named by its number, its place in the history.

    `created`: by version the event that made it. `sources`: by derived version, committed or not, the
    versions it derives from. `derived`: the derived objects. `last`: by object and transaction how many
    versions it made. `commits`, `aborts`: by transaction the event, in text order. `rank`: by committed
    version its place in its version order. `updates`: the committed transactions with a write (a derivation
    is none). `relations`: by predicate the objects it ranges over. `dead`: the versions that delete their
    object. `stated`: by predicate and version whether the version matches, where a read says so.
    """

    history: History
    created: dict[Version, int] = field(default_factory=dict)
    sources: dict[Version, tuple[Version, ...]] = field(default_factory=dict)
    derived: set[str] = field(default_factory=set)
    last: dict[tuple[str, int], int] = field(default_factory=dict)
    commits: dict[int, int] = field(default_factory=dict)
    aborts: dict[int, int] = field(default_factory=dict)
    rank: dict[Version, int] = field(default_factory=dict)
    updates: set[int] = field(default_factory=set)
    relations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dead: set[Version] = field(default_factory=set)
    stated: dict[tuple[str, Version], bool] = field(default_factory=dict)

    @property
    def committed(self) -> list[int]:
        """The committed transactions in the order of their commits: the nodes of the DSG."""
        return list(self.commits)

    def next(self, version: Version) -> Version | None:
        """Returns the next version of the object; None after the last and for versions outside the order."""
        order = self.history.orders.get(version.obj, ())
        if version.unborn:
            return order[0] if order else None
        place = self.rank.get(version)
        return None if place is None or place + 1 == len(order) else order[place + 1]

    def intermediate(self, version: Version) -> bool:
        """Tells whether the transaction of a version made another version of the object after it."""
        return not version.unborn and version.number < self.last[version.obj, version.txn]

    def matches(self, predicate: str, version: Version) -> bool | None:
        """Tells whether a version matches a predicate; None: the history does not say."""
        if version.unborn or version in self.dead:
            return False
        clause = self.history.matches.get(predicate)
        if clause is not None:
            return version in clause
        return self.stated.get((predicate, version))

    def version_set(self, event: PredicateRead) -> Iterator[Version]:
        """Yields one version of every object of the relation: the unborn one where the event names none."""
        named = {version.obj: version for version in event.versions}
        for obj in self.relations[event.predicate]:
            yield named.get(obj) or unborn(obj)

    def behind(self, *versions: Version) -> Iterator[Version]:
        """Yields the versions from which some versions derive, at any depth, each once."""
        seen, stack = set(versions), [*versions]
        while stack:
            for source in self.sources.get(stack.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    stack.append(source)
                    yield source

    def path(self, version: Version, base: Version) -> tuple[Version, ...]:
        """Returns a shortest chain of derivations from a version to one behind it; (): there is none."""
        parent: dict[Version, Version | None] = {version: None}
        queue = deque([version])
        while queue:
            above = queue.popleft()
            for source in self.sources.get(above, ()):
                if source not in parent:
                    parent[source] = above
                    queue.append(source)
        chain: list[Version] = []
        step = base if base in parent and base != version else None
        while step is not None:
            chain.append(step)
            step = parent[step]
        return tuple(reversed(chain))


def facts(history: History) -> Facts:
    """Returns the index of a history."""
    index = Facts(history)
    relations: dict[str, dict[str, None]] = {
        predicate: dict.fromkeys(version.obj for version in sorted(versions))
        for predicate, versions in history.matches.items()
    }
    writers: set[int] = set()
    for number, event in enumerate(history.events):
        match event:
            case Write(txn, version, _, dead):
                index.created[version] = number
                index.last[version.obj, txn] = version.number
                writers.add(txn)
                if dead:
                    index.dead.add(version)
            case Derive(txn, version, sources):
                index.created[version] = number
                index.last[version.obj, txn] = version.number
                index.sources[version] = sources
                index.derived.add(version.obj)
            case PredicateRead(_, predicate, versions, matched, _):
                relations.setdefault(predicate, {}).update((version.obj, None) for version in versions)
                # A read that lists its matches says of each other version of its set that it does not match.
                if matched is not None:
                    members = set(matched)
                    index.stated.update(((predicate, v), v in members) for v in versions)
            case Commit(txn):
                index.commits[txn] = number
            case Abort(txn):
                index.aborts[txn] = number
            case _:
                pass
    for versions in history.orders.values():
        index.rank.update((version, place) for place, version in enumerate(versions))
    index.updates = writers & index.commits.keys()
    index.relations = {predicate: tuple(objects) for predicate, objects in relations.items()}
    return index
