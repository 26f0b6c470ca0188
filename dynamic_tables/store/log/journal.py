"""The journal of an account: a list of events, each in a file that only one process can create.

It holds what happens beside the contents of tables: claims, failures, suspensions, lags, groups, privileges.
Its state is a fold of the events. A file whose number is a multiple of `WHOLE_EVERY` also holds the state
before it, so that a new process need not read the events from the first one on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock

from dynamic_tables.journal.events import Event, from_json, text_of
from dynamic_tables.journal.state import Operations
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.numbered import NumberedFiles, decoding_entry

FOLDER = "_operations"


@dataclass(slots=True)
class Journal:
    """The events in the folder of an account, as far as `poll` has read them, and the state after them.

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

    def all_events(self) -> list[Event]:
        """Returns all events from the first one on, for a history."""
        with self.lock:
            self.poll()
            if self.entries.reach_back():
                self.events, self.state = [], Operations()
                self.poll()
            return list(self.events)

    def _add(self, text: str) -> None:
        """Adds the event in the text of a file to the events and to the state.

        The state that some files hold is used only in the first file that is read; later ones repeat it.
        """
        data = json.loads(text)
        before = data.pop("before", None)
        if before is not None and not self.events:
            self.state = Operations.from_json(before)
        event = from_json(data)
        self.events.append(event)
        self.state.apply(event)
