"""Sessions in SQL: one table of keys, and the statements in which databases agree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from protocols.recording.database import Connection, Read

PLACE = "dvs_recording"
"""The name of the schema or database that a run makes for itself."""

Row = Sequence[Any]


def table(*, lists: bool) -> str:
    """Returns the statement that makes the table. `n`: how many versions a key has had."""
    return f"CREATE TABLE items (k BIGINT PRIMARY KEY, v {'TEXT' if lists else 'BIGINT'}, n BIGINT NOT NULL)"


class SqlConnection(Connection):
    """A session of a database that has ON CONFLICT and RETURNING; a list is a text such as 3,1,7."""

    begins: Sequence[str] = ("BEGIN",)
    mark = "?"
    appends = (
        "INSERT INTO items (k, v, n) VALUES (?, ?, 1) "
        "ON CONFLICT (k) DO UPDATE SET v = items.v || ',' || excluded.v, n = items.n + 1 RETURNING n"
    )
    writes = (
        "INSERT INTO items (k, v, n) VALUES (?, ?, 1) "
        "ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = items.n + 1 RETURNING n"
    )
    updates = "UPDATE items SET v = ?, n = n + 1 WHERE k = ? RETURNING n"
    deletes = "DELETE FROM items WHERE k = ? RETURNING n + 1"

    @abstractmethod
    def execute(self, text: str, values: Sequence[object] = ()) -> Sequence[Row]:
        """Runs a statement and returns its rows. Raises Aborted, NoAnswer or RecordingError."""

    def _asked(self, text: str, *values: object) -> Sequence[Row]:
        return self.execute(text if self.mark == "?" else text.replace("?", self.mark), values)

    def begin(self) -> None:
        for text in self.begins:
            self._asked(text)

    def read(self, key: int) -> Read:
        rows = self._asked("SELECT v FROM items WHERE k = ?", key)
        return Read(held(rows[0][0]) if rows else None)

    def append(self, key: int, value: int) -> int:
        return int(self._asked(self.appends, key, str(value))[0][0])

    def write(self, key: int, value: int) -> int:
        return int(self._asked(self.writes, key, value)[0][0])

    def update(self, key: int, value: int) -> int | None:
        rows = self._asked(self.updates, value, key)
        return int(rows[0][0]) if rows else None

    def delete(self, key: int) -> int | None:
        rows = self._asked(self.deletes, key)
        return int(rows[0][0]) if rows else None

    def select(self, modulus: int, remainder: int) -> Mapping[int, int]:
        # In numbers, not parameters: `%` is a mark of parameters for some drivers.
        text = f"SELECT k, v FROM items WHERE MOD(v, {int(modulus)}) = {int(remainder)}"
        return {int(key): int(value) for key, value in self.execute(text)}

    def versions(self) -> Mapping[int, int]:
        return {int(key): int(count) for key, count in self.execute("SELECT k, n FROM items")}

    def commit(self) -> None:
        self._asked("COMMIT")

    def rollback(self) -> None:
        self._asked("ROLLBACK")


def held(value: object) -> int | tuple[int, ...]:
    """Returns what a key holds: a number, or the elements of a list."""
    return tuple(map(int, value.split(","))) if isinstance(value, str) else int(str(value))
