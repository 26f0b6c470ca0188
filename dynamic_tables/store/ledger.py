"""The ledger of an account: which versions of the base tables each data timestamp stands for.

Clocks of several writers disagree, so the times of commits cannot tell which commits belong to a data
timestamp. The ledger decides it, once for all: an append-only list of ticks, each in a file of its own that
only one process can create. A commit that is not in a tick is not in its data timestamp, whatever clocks say.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dynamic_tables.errors import CorruptTable, StoreError
from dynamic_tables.store.files import Files
from dynamic_tables.store.log import COMMIT
from dynamic_tables.store.spark_errors import store_errors

FOLDER = "_ticks"
FORMAT = 1
WHOLE_EVERY = 256
"""A tick whose number is a multiple of this names every base table, so that reading can begin there."""

ATTEMPTS = 50
"""How often a tick is tried again after another process has taken its number."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a base table. `identity`: Delta's table id."""

    version: int
    identity: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A data timestamp in microseconds, and the versions that it adds to the tick before.

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

    `first`: the number of the oldest tick that was read. `vector`: the version of each base table at the
    newest tick.
    """

    account: str
    files: Files
    first: int | None = None
    ticks: list[Tick] = field(default_factory=list)
    vector: dict[str, TableVersion] = field(default_factory=dict)
    id: str = ""

    def account_id(self) -> str:
        """Returns the id of the account, which stays the same wherever its folder is moved.

        Raises StoreError: it cannot be written.
        """
        if not self.id:
            path = f"{self.account}/{FOLDER}/account"
            with store_errors(path):
                self._put(path, uuid.uuid4().hex)
                self.id = (self.files.read(path) or "").strip()
        return self.id

    @property
    def newest(self) -> Tick | None:
        """The newest tick that was read; None if there is none."""
        return self.ticks[-1] if self.ticks else None

    def poll(self) -> None:
        """Reads the ticks that other processes have added. Raises CorruptTable: a tick cannot be read."""
        if self.first is None:
            self.first = self._last_whole()
        while (tick := self._read(self.first + len(self.ticks))) is not None:
            self._add(tick)

    def reach_back(self) -> None:
        """Reads the ticks from the first one on, for a data timestamp before those that `poll` has read."""
        if self.first:
            self.first, self.ticks, self.vector = 0, [], {}
            self.poll()

    def append(self, make: Callable[[], Tick | None]) -> None:
        """Adds the tick that `make` returns, or none; `make` is called again if another process is faster.

        Raises StoreError: if it cannot be written, or other processes are faster ATTEMPTS times.
        """
        for _ in range(ATTEMPTS):
            self.poll()
            assert self.first is not None
            # Taken before the decision: a tick that `make` itself comes to read makes this one fail.
            number = self.first + len(self.ticks)
            tick = make()
            if tick is None:
                return
            if number % WHOLE_EVERY == 0:
                tick = Tick(tick.timestamp, tick.fixed, {**self.vector, **tick.tables})
            if self._put(self._path(number), tick.to_json()):
                self._add(tick)
                return
        raise StoreError(f"{self.account}: other processes wrote {ATTEMPTS} ticks meanwhile; try again later")

    def _put(self, path: str, text: str) -> bool:
        with store_errors(f"the tick {path}"):
            return self.files.put(path, text)

    def _add(self, tick: Tick) -> None:
        self.ticks.append(tick)
        self.vector.update(tick.tables)

    def _last_whole(self) -> int:
        names = self.files.files(f"{self.account}/{FOLDER}")
        numbers = [int(match[1]) for match in map(COMMIT.match, names) if match]
        return max(numbers, default=0) // WHOLE_EVERY * WHOLE_EVERY

    def _path(self, number: int) -> str:
        return f"{self.account}/{FOLDER}/{number:020d}.json"

    def _read(self, number: int) -> Tick | None:
        path = self._path(number)
        try:
            text = self.files.read(path)
            return None if text is None else Tick.from_json(text)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise CorruptTable(
                f"{path}: this tick of the account's ledger cannot be read ({reason}); restore the file, or, "
                "if it is the last one, remove it: the next refresh writes it anew"
            ) from error
