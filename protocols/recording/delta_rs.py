"""Delta tables by delta-rs, for `dvs record`: transactions read pinned versions and commit once per table."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from dvs_model.errors import first_line
from protocols.recording.database import Aborted, Connection, Database, Promise, Read, RecordingError
from protocols.recording.sql import held

T = TypeVar("T")
Rows = dict[int, tuple[object, int]]
"""By key its value and the number of its version: how many it has had."""


class DeltaRsConnection(Connection):
    """A client. A key lies in one of the tables, by its remainder; each is pinned when it is first read."""

    def __init__(self, tables: tuple[str, ...], schema: pa.Schema) -> None:
        """Takes the folders of the tables and the schema of their rows: key, value, number of the version."""
        self.tables, self.schema = tables, schema
        self.begin()

    def begin(self) -> None:
        self.pinned: dict[int, Any] = {}
        self.rows: dict[int, Rows] = {}
        self.changed: dict[int, tuple[object, int] | None] = {}

    def _rows(self, table: int) -> Rows:
        """Returns the rows of a table for this transaction, which has read all of them from now on."""
        if table not in self.rows:
            self.pinned[table], self.rows[table] = self._read(self.tables[table])
        return self.rows[table]

    def _read(self, folder: str) -> tuple[Any, Rows]:
        """Returns the newest version of a table, and its rows."""
        pinned = _checked(lambda: DeltaTable(folder))
        found = _checked(lambda: pinned.to_pyarrow_table().to_pydict())
        return pinned, {k: (v, n) for k, v, n in zip(found["k"], found["v"], found["n"], strict=True)}

    def _row(self, key: int) -> tuple[object, int] | None:
        return self._rows(key % len(self.tables)).get(key)

    def _change(self, key: int, value: object, place: int) -> int:
        self.changed[key] = self.rows.setdefault(key % len(self.tables), {})[key] = (value, place)
        return place

    def read(self, key: int) -> Read:
        row = self._row(key)
        return Read(None if row is None else held(row[0]))

    def append(self, key: int, value: int) -> int:
        row = self._row(key)
        return self._change(key, f"{row[0]},{value}" if row else str(value), row[1] + 1 if row else 1)

    def write(self, key: int, value: int) -> int:
        # Before anything is read, what is written is new: a blind append.
        row = self._row(key) if self.pinned else None
        return self._change(key, value, row[1] + 1 if row else 1)

    def update(self, key: int, value: int) -> int | None:
        row = self._row(key)
        return None if row is None else self._change(key, value, row[1] + 1)

    def delete(self, key: int) -> int | None:
        row = self._row(key)
        if row is None:
            return None
        del self.rows[key % len(self.tables)][key]
        self.changed[key] = None
        return row[1] + 1

    def select(self, modulus: int, remainder: int) -> Mapping[int, int]:
        rows = (row for table in range(len(self.tables)) for row in self._rows(table).items())
        return {key: int(str(v)) for key, (v, _) in rows if int(str(v)) % modulus == remainder}

    def versions(self) -> Mapping[int, int]:
        self.begin()
        rows = (row for table in range(len(self.tables)) for row in self._rows(table).items())
        return {key: n for key, (_, n) in rows}

    def commit(self) -> None:
        for table in range(len(self.tables)):
            changed = {key: row for key, row in self.changed.items() if key % len(self.tables) == table}
            if changed and table not in self.pinned:
                self._append(table, {key: row for key, row in changed.items() if row})
            elif changed:
                self._replace(table, changed)

    def _append(self, table: int, rows: Rows) -> None:
        """Appends rows to a table that was not read."""
        _checked(partial(write_deltalake, self.tables[table], self._arrow(rows), mode="append"))

    def _arrow(self, rows: Rows) -> pa.Table:
        return pa.Table.from_pylist([{"k": key, "v": v, "n": n} for key, (v, n) in rows.items()], self.schema)

    def _replace(self, table: int, changed: Mapping[int, tuple[object, int] | None]) -> None:
        """Changes rows of a table that was read, as a whole, at the pinned version."""
        # No version has the number 0: such a row is deleted.
        source = self._arrow({key: row or (None, 0) for key, row in changed.items()})
        values = {"k": "s.k", "v": "s.v", "n": "s.n"}
        merge = (
            self.pinned[table]
            .merge(source, "t.k = s.k", source_alias="s", target_alias="t")
            .when_matched_delete(predicate="s.n = 0")
            .when_matched_update(values)
            .when_not_matched_insert(values)
        )
        _checked(merge.execute)

    def rollback(self) -> None:
        self.begin()

    def sever(self) -> None:
        """Does nothing: there is no connection."""

    def close(self) -> None:
        self.begin()


@dataclass(slots=True)
class DeltaRs(Database):
    """A new folder with a Delta table of the isolation level of the run; at the level two-tables with two."""

    name: ClassVar[str] = "Delta by delta-rs"
    levels: ClassVar[Mapping[str, Promise]] = MappingProxyType(
        {
            "serializable": Promise.SERIALIZABLE,
            "write-serializable": Promise.SERIALIZABLE,
            # A commit is one table's: two of them are no transaction.
            "two-tables": Promise.UNCOMMITTED,
        }
    )
    schema: pa.Schema = field(default=None, init=False)

    @property
    def tables(self) -> tuple[str, ...]:
        """The folders of the tables."""
        return tuple(f"{self.where}/{name}" for name in "ab"[: 1 + (self.isolation == "two-tables")])

    @contextmanager
    def place(self, *, lists: bool) -> Iterator[None]:
        if Path(self.where).exists():
            raise RecordingError(f"{self.where} is there already, and is not touched; name a new folder")
        text = pa.string() if lists else pa.int64()
        self.schema = pa.schema([("k", pa.int64()), ("v", text), ("n", pa.int64())])
        level = "WriteSerializable" if self.isolation == "write-serializable" else "Serializable"
        try:
            for folder in self.tables:
                properties = {"delta.isolationLevel": level}
                DeltaTable.create(folder, self.schema, configuration=properties)
            yield
        except (DeltaError, OSError) as error:
            raise RecordingError(f"delta-rs makes no table in {self.where}: {first_line(error)}") from None
        finally:
            shutil.rmtree(self.where, ignore_errors=True)

    def session(self) -> DeltaRsConnection:
        return DeltaRsConnection(self.tables, self.schema)


def _checked(does: Callable[[], T]) -> T:
    """Returns what delta-rs answers. Raises Aborted: another commit has changed what was read."""
    try:
        return does()
    except CommitFailedError as error:
        raise Aborted(type(error).__name__) from error
    except DeltaError as error:
        raise RecordingError(f"delta-rs refuses what the recorder asks: {first_line(error)}") from error
