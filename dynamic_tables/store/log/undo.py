"""Takes a transaction's commits on one table back, and leaves alone what other writers committed since.

RESTORE would bring back a whole old version, and lose the commits of others. Here only the data files that
the transaction changed go back to their old state. That is possible because Delta keeps removed files until
VACUUM.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from dynamic_tables.errors import StoreError
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import Actions
from dynamic_tables.store.log.touched import FileStates, as_added, follow, removed, same_rows

Action = Mapping[str, Mapping[str, Any]]
"""One action of a Delta commit: its kind, such as `add`, and its body."""


def inverse(log: TableLog, own: Sequence[int], active: ActiveFiles) -> Actions:
    """Returns the actions that undo the commits `own` of one transaction at the newest version of a table.

    Each data file goes back to what it was before the transaction, with its rows and their row ids.
    Raises StoreError: if another writer has changed one of these files since, or the commits changed more
    than rows.
    """
    files = _changed_by(log, own)
    undone: list[Action] = []
    for path, (before, after) in files.items():
        if same_rows(before, after):
            continue
        # The file must still be as the transaction left it: otherwise somebody built on its rows.
        if not same_rows(active.files.get(path), after):
            raise StoreError(f"another writer has changed the same rows of {log.name} since")
        if after is not None:
            undone.append({"remove": removed(after)})
        if before is not None:
            undone.append({"add": {**before, "modificationTime": _now(), "dataChange": True}})
    return undone


def _changed_by(log: TableLog, own: Sequence[int]) -> FileStates:
    """Returns each data file that the commits changed, before the first and after the last of them.

    Raises StoreError: if another writer changed a file between two of them.
    """
    files: FileStates = {}
    for version in own:
        actions = log.actions(version)
        if any("metaData" in action or "protocol" in action for action in actions):
            raise StoreError(f"version {version} of {log.name} changed the table itself, not only its rows")
        for action in actions:
            body = action.get("remove")
            if body and body["path"] in files and not same_rows(files[body["path"]][1], as_added(body)):
                raise StoreError(f"another writer has changed the same rows of {log.name} meanwhile")
        follow(files, actions)
    return files


def commit_text(log: TableLog, metadata: str, fence: tuple[str, int], actions: Actions) -> str:
    """Returns the text of the commit that undoes; `fence`: the pair (application, version) of its `txn`.

    Delta skips a later write of the same application with the same or a lower version, so the transaction
    cannot go on after it was undone.
    """
    # With in-commit timestamps Delta demands that they grow from version to version, whatever clocks say.
    now = max(_now(), log.newest.in_commit_ms + 1)
    info: dict[str, object] = {
        "inCommitTimestamp": now,
        "timestamp": now,
        "operation": "ROLLBACK",
        "operationParameters": {},
        "isBlindAppend": False,
        "userMetadata": metadata,
        "engineInfo": "dynamic-tables",
    }
    if log.newest.table.properties.get("delta.enableInCommitTimestamps") != "true":
        del info["inCommitTimestamp"]
    txn = {"appId": fence[0], "version": fence[1], "lastUpdated": now}
    return "".join(f"{json.dumps(line)}\n" for line in ({"commitInfo": info}, {"txn": txn}, *actions))


def _now() -> int:
    """Returns the time since the epoch in milliseconds, the unit of Delta's log."""
    return time.time_ns() // 1_000_000
