"""Commits that the engine writes into a table's Delta log itself, without a Spark job.

A MERGE or an empty append is a chain of Spark jobs, whatever it changes: 0.7 to 1.5 s. A change of a few
thousand rows is one Parquet file with the new rows, deletion vectors for the old ones, and one file of the
log. Delta's protocol makes the log the only truth: the commit exists as soon as its file `n.json` does, and
that file is created only if no other writer has created it. A data file that no commit names is no part of
the table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dynamic_tables.errors import StoreError
from dynamic_tables.store.log.log import LoggedCommit, TableLog

Actions = Sequence[Mapping[str, Mapping[str, Any]]]
"""Actions of a Delta commit, as its JSON lines."""

UNDERSTOOD = frozenset({"appendOnly", "invariants", "deletionVectors", "timestampNtz", "writer version 2"})
"""The table features, or the writer version of old tables, that this engine's commits respect.

A table with any other one, say row tracking or column mapping, is written by Spark."""

ATTEMPTS = 20
"""How often a commit is tried again after another writer took its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommit:
    """What a commit says about itself: operation, metadata, and the pair (application, version) of its `txn`.

    `overwrites`: the rows that it adds take the place of all that were there.
    """

    operation: str
    metadata: str
    application: str
    version: int
    overwrites: bool = False

    def text(self, actions: Actions) -> str:
        """Returns the commit as the lines of its file in the log."""
        now = time.time_ns() // 1_000_000
        info = {
            "timestamp": now,
            "operation": self.operation,
            "operationParameters": {"mode": "Overwrite"} if self.overwrites else {},
            "isBlindAppend": False,
            "userMetadata": self.metadata,
            "engineInfo": "dynamic-tables",
        }
        txn = {"appId": self.application, "version": self.version, "lastUpdated": now}
        # One action a line, `commitInfo` first, as Delta writes it.
        lines = [{"commitInfo": info}, {"txn": txn}, *actions]
        return "".join(f"{json.dumps(line)}\n" for line in lines)


class OwnCommitter(Protocol):
    """A function such as `own_commit`."""

    def __call__(
        self,
        log: TableLog,
        own: OwnCommit,
        *,
        actions: Callable[[], Actions],
        check: Callable[[], None],
        write: Callable[[int, str], bool],
    ) -> int:
        """Writes the next version of a table and returns its number. Raises StoreError."""


def writable(log: TableLog) -> bool:
    """Tells whether this engine knows all that Delta demands of a writer of the newest version."""
    newest: LoggedCommit = log.newest
    properties = newest.table.properties
    return (
        newest.features is not None
        and newest.features <= UNDERSTOOD
        and properties.get("delta.appendOnly") != "true"
    )


def own_commit(
    log: TableLog,
    own: OwnCommit,
    *,
    actions: Callable[[], Actions],
    check: Callable[[], None],
    write: Callable[[int, str], bool],
) -> int:
    """Writes the next version of a table and returns its number.

    `actions` is called for each attempt, because another writer may have moved rows to other files. `check`
    raises StoreError if a commit that came in between forbids this one. `write` writes the text of a version;
    False if another writer has written that version.
    Raises StoreError: if other writers are faster ATTEMPTS times.
    """
    # Optimistic: read the log, decide on that state, and write the next version. If another writer took that
    # version, the decision may be out of date, so all of it is done again.
    for _ in range(ATTEMPTS):
        log.poll()
        check()
        version = log.newest.version + 1
        if write(version, own.text(actions())):
            log.poll()
            return version
    raise StoreError(f"{log.name}: other writers committed {ATTEMPTS} times meanwhile; try again later")
