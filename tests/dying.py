"""A process that dies between two steps of giving tables other names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynamic_tables.journal.events import Event
from dynamic_tables.journal.state import Operations
from dynamic_tables.store.log.journal import Journal

Make = Callable[[Operations], Event | None]


class Died(BaseException):
    """The process is dead: nothing that it would do is done any more."""


def dies_after(steps: int, patch: pytest.MonkeyPatch, store: object) -> None:
    """Lets the process die after some renames and events of the journal."""
    rename, append, done = type(store).rename, Journal.append, 0  # type: ignore[attr-defined]

    def counted() -> None:
        nonlocal done
        done += 1
        if done > steps:
            raise Died

    def renamed(self: object, name: str, other: str) -> object:
        counted()
        return rename(self, name, other)

    def appended(self: Journal, make: Make) -> Event | None:
        def made(state: Operations) -> Event | None:
            event = make(state)
            if event is not None:
                counted()
            return event

        return append(self, made)

    patch.setattr(type(store), "rename", renamed)
    patch.setattr(Journal, "append", appended)
