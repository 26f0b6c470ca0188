"""The view `to_rollback`, computed as the fixpoint of McSherry's article, and the view `store`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from protocols.data_plane.intents import Intent

Store = Mapping[str, str | None]
"""The last committed value by key."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of the article's view `to_rollback`; planted faults replace one each.

    `counts`: whether the writes of a transaction count, given whether it is rolled back. `earlier`: whether a
    write of one transaction comes before a read of another. `latest`: the position of the write that is read
    among those that come before, oldest first. `differs`: whether a read has another value than the one that
    is found. `rounds`: the most rounds of the fixpoint.
    Of the garbage collection: `superseded`: whether a write is older than the last one of its key; `unread`:
    whether no row reads it, from its transaction and that of the last read.
    """

    counts: Callable[[bool], bool] = lambda rolled_back: not rolled_back
    earlier: Callable[[int, int], bool] = lambda writer, reader: writer < reader
    latest: int = -1
    differs: Callable[[str | None, str | None], bool] = lambda read, found: read != found
    rounds: int | None = None
    superseded: Callable[[int, int], bool] = lambda written, last: written < last
    unread: Callable[[int, int], bool] = lambda written, last_read: last_read <= written


CLAUSES = Clauses()


@dataclass(frozen=True, slots=True)
class Resolved:
    """Which transactions are rolled back, and the store after the others.

    `rounds`: how often the fixpoint was computed, with the last time, in which nothing changed.
    """

    to_rollback: frozenset[int]
    store: Store
    rounds: int


def resolve(intents: Sequence[Intent], before: Store | None = None, clauses: Clauses = CLAUSES) -> Resolved:
    """Returns which of some transactions are rolled back, and the store after them.

    `intents`: in the order of their ids. `before`: the store that earlier transactions have left.
    Every round takes all writes of transactions that are not rolled back yet, what each read finds there,
    and rolls back each transaction of which a read finds another value. Transaction i is decided after at
    most i rounds, because it depends on earlier ones only.
    """
    before = before or {}
    writers: dict[str, list[Intent]] = {}
    readers: dict[str, list[Intent]] = {}
    for intent in intents:
        for key in intent.writes:
            writers.setdefault(key, []).append(intent)
        for key in dict(intent.reads):
            readers.setdefault(key, []).append(intent)
    rollback: set[int] = set()
    again: Iterable[Intent] = intents
    rounds = 0
    # With a mistake in the clauses a transaction may change its fate for ever.
    most = len(intents) + 1 if clauses.rounds is None else clauses.rounds
    while again and rounds < most:
        failed = {intent.id: _fails(intent, writers, rollback, before, clauses) for intent in again}
        changed = [intent for intent in again if failed[intent.id] != (intent.id in rollback)]
        for intent in changed:
            rollback ^= {intent.id}
        rounds += 1
        # Only those who read what changed can change in the next round.
        touched = dict.fromkeys(key for intent in changed for key in intent.writes)
        again = {reader.id: reader for key in touched for reader in readers.get(key, ())}.values()
    return Resolved(frozenset(rollback), store_of(intents, rollback, before), rounds)


def _fails(
    intent: Intent,
    writers: Mapping[str, Sequence[Intent]],
    rollback: Set[int],
    before: Store,
    clauses: Clauses,
) -> bool:
    """Tells whether a read of a transaction finds another value than the transaction says."""
    for key, value in intent.reads:
        seen = [
            writer
            for writer in writers.get(key, ())
            if clauses.earlier(writer.id, intent.id) and clauses.counts(writer.id in rollback)
        ]
        found = seen[clauses.latest].writes[key] if seen else before.get(key)
        if clauses.differs(value, found):
            return True
    return False


def store_of(intents: Iterable[Intent], rollback: Set[int], before: Store | None = None) -> Store:
    """Returns the view `store`: by key the last write that is not rolled back."""
    store = dict(before or {})
    for intent in intents:
        if intent.id not in rollback:
            store.update(intent.writes)
    return store
