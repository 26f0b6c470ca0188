"""The journal of an account: a list of events, each in a file that only one process can create.

It holds what happens beside the contents of tables: claims, failures, suspensions, lags, groups, privileges.
Its state is a fold of the events. A file whose number is a multiple of `WHOLE_EVERY` also holds the state
before it, so that a new process need not read the events from the first one on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import RLock
from typing import Any

from dynamic_tables.journal.events import Event, from_json, text_of
from dynamic_tables.journal.state import Operations
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.numbered import WHOLE_EVERY, NumberedFiles, decoding_entry

FOLDER = "_operations"

KEPT = 20_000
"""How many of the newest events are kept in memory, some 10 MB: twelve tables with a lag of one minute have
as many in seven hours. The status of tables reads no more, so that it takes as long after a year."""


@dataclass(slots=True)
class Journal:
    """The newest events in the folder of an account, and the state after all that `poll` has read.

    Its methods may be called by several threads: one refreshes, another one renews the claim.
    """

    account: str
    files: Files
    state: Operations = field(default_factory=Operations)
    events: list[Event] = field(default_factory=list)
    entries: NumberedFiles = field(init=False)
    lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        self.entries = NumberedFiles(f"{self.account}/{FOLDER}", self.files, "event")

    def poll(self) -> Operations:
        """Reads the events that other processes have added, and returns the state.

        Raises CorruptTable: an event cannot be read.
        """
        with self.lock, decoding_entry(self.entries, "the event is lost"):
            for _, text in self.entries.new():
                self._add(text)
            self._forget()
            return self.state

    def append(self, make: Callable[[Operations], Event | None]) -> Event | None:
        """Adds the event that `make` returns for the newest state, or none, and returns it.

        `make` is called again if another process is faster, so that what it decides is true when the event is
        written. Raises StoreError: if it cannot be written.
        """
        attempts: list[Event | None] = []

        def text(whole: bool) -> str | None:
            event = make(self.state)
            attempts.append(event)
            return None if event is None else text_of(event, self.state.to_json() if whole else None)

        with self.lock:
            written = self.entries.append(self.poll, text)
            if written is not None:
                self._add(written)
            return attempts[-1]

    def add(self, event: Event) -> None:
        """Adds an event whatever others have added. Raises StoreError."""
        self.append(lambda state: event)

    def recent_events(self) -> list[Event]:
        """Returns the newest KEPT events, or a few more, for the state of tables."""
        with self.lock:
            self.poll()
            if self.entries.reach_back(self.entries.next - KEPT):
                self.events, self.state = [], Operations()
                self.poll()
            return list(self.events)

    def all_events(self) -> list[Event]:
        """Returns all events from the first one on, for a history; old ones are read from their files."""
        with self.lock:
            self.poll()
            files = replace(self.entries, first=0, next=0)
            with decoding_entry(files, "the event is lost"):
                older = [_event(text)[0] for _, text in islice(files.new(), self.entries.first or 0)]
            return [*older, *self.events]

    def _add(self, text: str) -> None:
        """Adds the event in the text of a file to the events and to the state.

        The state that some files hold is used only in the first file that is read; later ones repeat it.
        """
        event, before = _event(text)
        if before is not None and not self.events:
            self.state = Operations.from_json(before)
        self.events.append(event)
        self.state.apply(event)

    def _forget(self) -> None:
        """Drops the oldest events of too many, as many as there are from one whole state to the next."""
        while len(self.events) > KEPT + WHOLE_EVERY and self.entries.first is not None:
            del self.events[:WHOLE_EVERY]
            self.entries.first += WHOLE_EVERY


def _event(text: str) -> tuple[Event, Mapping[str, Any] | None]:
    """Returns the event in the text of a file, and the state before it where the file holds it."""
    data = json.loads(text)
    before = data.pop("before", None)
    return from_json(data), before
