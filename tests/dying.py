"""A process that dies between two steps of giving tables other names."""

from __future__ import annotations

import pytest

from dynamic_tables.journal.events import Event
from dynamic_tables.store.journal import Journal


class Died(BaseException):
    """The process is dead: nothing that it would do is done any more."""


def dies_after(steps: int, patch: pytest.MonkeyPatch, store: object) -> None:
    """Lets the process die after some renames and events of the journal."""
    rename, add, done = type(store).rename, Journal.add, 0  # type: ignore[attr-defined]

    def counted() -> None:
        nonlocal done
        done += 1
        if done > steps:
            raise Died

    def renamed(self: object, name: str, other: str) -> object:
        counted()
        return rename(self, name, other)

    def added(self: Journal, event: Event) -> None:
        counted()
        add(self, event)

    patch.setattr(type(store), "rename", renamed)
    patch.setattr(Journal, "add", added)
