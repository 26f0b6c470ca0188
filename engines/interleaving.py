"""Lets other processes act between two steps of a refresh: before chosen calls of the engine's storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from dynamic_tables.account import Account
from dynamic_tables.store.port import Store

DECIDES = "decide"
"""The call that decides what a data timestamp stands for: calls are counted from this one, which is 0."""

AFTER = frozenset({"release"})
"""Calls that come after the commit and are not counted: a kill there would look like one before."""

Before = Callable[[int], None]
"""Receives the number of a call before it is made; what it raises is raised in place of the call."""


@dataclass(slots=True)
class InterleavedStore:
    """A store that reports each call before it is made. `paused`: calls are made for the harness just now."""

    store: Store
    before: Before
    calls: int = -1
    paused: bool = False

    def __getattr__(self, name: str) -> Any:
        part = getattr(self.store, name)
        if not callable(part) or name in AFTER:
            return part

        def call(*arguments: Any, **named: Any) -> Any:
            if not self.paused and (self.calls >= 0 or name == DECIDES):
                self.calls += 1
                self.before(self.calls)
            return part(*arguments, **named)

        return call


@contextmanager
def interleaved(account: Account, before: Before) -> Iterator[None]:
    """Reports each call that the account makes of its store inside the block."""
    store = account.store
    account.store = cast(Store, InterleavedStore(store, before))
    try:
        yield
    finally:
        account.store = store


@contextmanager
def paused(account: Account) -> Iterator[None]:
    """Reports no calls inside the block, in which the harness looks at what the engine has done."""
    store = account.store
    if not isinstance(store, InterleavedStore):
        yield
        return
    store.paused = True
    try:
        yield
    finally:
        store.paused = False
