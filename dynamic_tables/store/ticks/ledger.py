"""The ledger of an account: which versions of the base tables each data timestamp stands for.

A base table as of t is "its latest version with commit timestamp <= t" (DVS paper, section 5.3). But the
clocks of several writers disagree, so a commit could appear later with a timestamp that was read already. The
ledger therefore decides once for all which commits belong to a data timestamp: it is an append-only list of
ticks, each in a file of its own that only one process can create. A commit that is in no tick up to t is not
in t.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.numbered import NumberedFiles, decoding_entry
from dynamic_tables.store.spark.spark_errors import store_errors

FOLDER = "_ticks"
"""The folder of the ticks in the folder of an account."""

FORMAT = 1
"""The format of a tick's file; another one is refused."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a base table. `identity`: Delta's table id."""

    version: int
    identity: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A data timestamp in microseconds, and the table versions that are new since the previous tick.

    `fixed`: a refresh may have read at this timestamp, so no later tick has it too. A tick of a write is not
    fixed: in simulated time several transactions may have one timestamp.
    """

    timestamp: int
    fixed: bool
    tables: Mapping[str, TableVersion]

    def to_json(self) -> str:
        """Returns the text of the tick's file."""
        tables = {name: [table.version, table.identity] for name, table in self.tables.items()}
        return json.dumps({"dvs": FORMAT, "timestamp": self.timestamp, "fixed": self.fixed, "tables": tables})

    @staticmethod
    def from_json(text: str) -> Tick:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for any other text."""
        data = json.loads(text)
        if data["dvs"] != FORMAT:
            raise ValueError(f"format {data['dvs']}, and this engine reads format {FORMAT}")
        tables = {name: TableVersion(int(v), str(i)) for name, (v, i) in data["tables"].items()}
        return Tick(int(data["timestamp"]), bool(data["fixed"]), tables)


@dataclass(slots=True)
class Ledger:
    """The ticks in the folder of an account, oldest first, as far as `poll` has read them.

    `vector`: the version of each base table at the newest tick, the sum of all ticks.
    """

    account: str
    files: Files
    ticks: list[Tick] = field(default_factory=list)
    vector: dict[str, TableVersion] = field(default_factory=dict)
    id: str = ""
    entries: NumberedFiles = field(init=False)

    def __post_init__(self) -> None:
        self.entries = NumberedFiles(f"{self.account}/{FOLDER}", self.files, "tick")

    def account_id(self) -> str:
        """Returns the id of the account, which stays the same wherever its folder is moved.

        Raises StoreError: it cannot be written.
        """
        if not self.id:
            path = f"{self.account}/{FOLDER}/account"
            # Several processes may do this at once: one file is created, and all read that.
            self.entries.put(path, uuid.uuid4().hex)
            with store_errors(path):
                self.id = (self.files.read(path) or "").strip()
        return self.id

    @property
    def first(self) -> int | None:
        """The number of the oldest tick that was read; None before anything was read."""
        return self.entries.first

    @property
    def newest(self) -> Tick | None:
        """The newest tick that was read; None if there is none."""
        return self.ticks[-1] if self.ticks else None

    def poll(self) -> None:
        """Reads the ticks that other processes have added. Raises CorruptTable: a tick cannot be read."""
        with decoding_entry(self.entries, "the next refresh writes it anew"):
            for _, text in self.entries.new():
                self._add(Tick.from_json(text))

    def reach_back(self) -> None:
        """Reads the ticks from the first one on, for a data timestamp before those that `poll` has read."""
        if self.entries.reach_back():
            self.ticks, self.vector = [], {}
            self.poll()

    def append(self, make: Callable[[], Tick | None]) -> None:
        """Adds the tick that `make` returns, or none; `make` is called again if another process is faster.

        Raises StoreError: if it cannot be written, or other processes are faster again and again.
        """

        def text(whole: bool) -> str | None:
            tick = make()
            if tick is None:
                return None
            if whole:
                # Readers may begin here, so this tick holds the versions of all tables.
                tick = Tick(tick.timestamp, tick.fixed, {**self.vector, **tick.tables})
            return tick.to_json()

        written = self.entries.append(self.poll, text)
        if written is not None:
            self._add(Tick.from_json(written))

    def _add(self, tick: Tick) -> None:
        """Adds a tick that stands in a file to the ticks and to the vector."""
        self.ticks.append(tick)
        self.vector.update(tick.tables)
