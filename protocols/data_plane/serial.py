"""Transactions one after the other, as one thread would run them: what `resolve` must equal."""

from __future__ import annotations

from collections.abc import Iterable

from protocols.data_plane.intents import Intent
from protocols.data_plane.resolve import Store


def serial(intents: Iterable[Intent], before: Store | None = None) -> tuple[frozenset[int], Store]:
    """Returns the ids of the rejected transactions, and the store after the others.

    `intents`: in the order of their ids. A transaction is rejected if one of its reads is not what the store
    holds at its turn.
    """
    store = dict(before or {})
    rejected: set[int] = set()
    for intent in intents:
        if all(store.get(key) == value for key, value in intent.reads):
            store.update(intent.writes)
        else:
            rejected.add(intent.id)
    return frozenset(rejected), store
