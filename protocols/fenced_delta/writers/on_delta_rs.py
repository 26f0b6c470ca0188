"""Fenced and unfenced writes of real Delta tables with delta-rs, for programs of users (docs/protocols.md).

Every commit states the version that its writer had read, as `dvsReadVersion`, so that `dvs check` can judge
the log of the table. A writer that says which versions of other tables it has read (`reads`, by the names of
their folders) states these as `dvsReads`: then the logs of several tables show write skew between them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltalake import CommitProperties, DeltaTable, write_deltalake

READ_VERSION = "dvsReadVersion"
READ_ELSEWHERE = "dvsReads"

Reads = Mapping[str, int] | None
"""By table the version that was read; None: nothing is said of other tables."""


def _commit_properties(version: int, reads: Reads, retries: int | None = None) -> CommitProperties:
    """Returns what a commit states about its writer: the version that it read, and those of other tables."""
    elsewhere = {} if reads is None else {READ_ELSEWHERE: json.dumps(dict(reads))}
    stated = {READ_VERSION: str(version), **elsewhere}
    return CommitProperties(custom_metadata=stated, max_commit_retries=retries)


class Handle:
    """A table as it was when the handle was taken: what duckrun has for BEGIN TRAN.

    `delete`, `update` and `merge` are pinned to that version, and raise CommitFailedError if a conflicting
    commit has landed since. After a success the handle stands for the newest version, so that it never fails
    on its own write.
    """

    def __init__(self, path: str, reads: Reads = None) -> None:
        self.path = path
        self.reads = reads
        self.version = DeltaTable(path).version()

    def _pinned(self) -> DeltaTable:
        """Returns the table at the version of the handle: a write to it conflicts with all later commits."""
        return DeltaTable(self.path, version=self.version)

    def _take_newest(self) -> None:
        self.version = DeltaTable(self.path).version()

    def delete(self, predicate: str) -> None:
        """Deletes rows."""
        self._pinned().delete(predicate, commit_properties=_commit_properties(self.version, self.reads))
        self._take_newest()

    def update(self, updates: Mapping[str, str], predicate: str | None = None) -> None:
        """Updates rows; `updates`: by column an SQL expression."""
        self._pinned().update(
            updates=dict(updates),
            predicate=predicate,
            commit_properties=_commit_properties(self.version, self.reads),
        )
        self._take_newest()

    def merge(self, rows: Any, predicate: str) -> None:
        """Updates the rows of the table `t` that match rows `s` by a predicate, and inserts the others.

        `rows`: an Arrow table.
        """
        merging = self._pinned().merge(
            rows,
            predicate,
            source_alias="s",
            target_alias="t",
            commit_properties=_commit_properties(self.version, self.reads),
        )
        merging.when_matched_update_all().when_not_matched_insert_all().execute()
        self._take_newest()


def append_if_unchanged(path: str, rows: Any, read_version: int, reads: Reads = None) -> None:
    """Appends rows, or raises CommitFailedError if any commit has landed since a version."""
    pinned = DeltaTable(path, version=read_version)
    stated = _commit_properties(read_version, reads, retries=0)
    write_deltalake(pinned, rows, mode="append", commit_properties=stated)


def overwrite_if_unchanged(path: str, rows: Any, read_version: int, reads: Reads = None) -> None:
    """Replaces all rows, or raises CommitFailedError if any commit has landed since a version."""
    pinned = DeltaTable(path, version=read_version)
    stated = _commit_properties(read_version, reads, retries=0)
    write_deltalake(pinned, rows, mode="overwrite", commit_properties=stated)


def replace_where(path: str, rows: Any, predicate: str, read_version: int, reads: Reads = None) -> None:
    """Replaces the rows that a predicate selects, or raises CommitFailedError as the others do."""
    pinned = DeltaTable(path, version=read_version)
    write_deltalake(
        pinned,
        rows,
        mode="overwrite",
        predicate=predicate,
        commit_properties=_commit_properties(read_version, reads, retries=0),
    )


def append(path: str, rows: Any) -> None:
    """Appends rows to whatever the table is now."""
    write_deltalake(path, rows, mode="append")


def overwrite(path: str, rows: Any, read_version: int | None = None, reads: Reads = None) -> None:
    """Replaces all rows, whatever the table is now.

    `read_version`: the version that the writer had read; it goes into the commit, and nothing is checked by
    it.
    """
    stated = None if read_version is None else _commit_properties(read_version, reads)
    write_deltalake(path, rows, mode="overwrite", commit_properties=stated)
