"""The data files that the commits between two versions of a table touched, read from its Delta log alone.

Delta never changes a data file. A row leaves because its file is removed, or because the file gets another
deletion vector (a set of positions that are deleted); a row comes with a file that is added. So the rows that
differ between two versions lie in the files that the `add` and `remove` actions between them name. Net of
these, a refresh reads no other file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynamic_tables.store.log.live_files import vector_id
from dynamic_tables.store.log.log import TableLog

AddAction = Mapping[str, Any]
"""The body of an `add` action: a data file and the rows of it that are deleted."""


FileStates = dict[str, tuple[AddAction | None, AddAction | None]]
"""By the path of a data file: its states before the first and after the last of some commits.

None: the file was not part of the table then."""


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A data file at both ends of an interval; None where the file is no part of the table."""

    before: AddAction | None
    after: AddAction | None

    @property
    def path(self) -> str:
        """The path of the file as the log writes it."""
        state = self.after if self.before is None else self.before
        assert state is not None
        return str(state["path"])


def touched_files(log: TableLog, start: int, end: int) -> tuple[TouchedFile, ...] | None:
    """Returns the files that differ between the versions `start` and `end`, with their states at both.

    None where a commit does not name the files that the table has, or of a partitioned table removes one
    without the values of its partition: then only Delta can tell its versions. A file that is removed and
    comes back (RESTORE) is no change.

    Commits at either end that change no rows (OPTIMIZE, REORG) are left out: their files hold the rows of the
    files that they removed, under the same row ids. Such a commit between others counts. Example: INSERT adds
    file a, OPTIMIZE replaces a and an old file b by c. Without the OPTIMIZE, a would be a file at the end,
    which the table no longer has, and a later change of c would find a file that nobody added.

    Raises CorruptTable: if a commit of the interval is not in the log.
    """
    commits = [log.actions(version) for version in range(start + 1, end + 1)]
    logged = [commit for version in range(start + 1, end + 1) if (commit := log.commit(version)) is not None]
    if len(logged) != len(commits) or not all(commit.meant for commit in logged):
        # Also where not every commit was polled: then the places below would be those of other commits.
        return None
    if log.newest.table.partitions and not all(map(_has_partition_values, commits)):
        return None
    changing = [place for place, commit in enumerate(logged) if commit.changes_rows]
    files: FileStates = {}
    for actions in commits[changing[0] : changing[-1] + 1] if changing else ():
        if adds_again(actions):
            continue
        follow(files, actions)
    pairs = (TouchedFile(before, after) for before, after in files.values())
    return tuple(pair for pair in pairs if not same_rows(pair.before, pair.after))


def follow(files: FileStates, actions: Sequence[Mapping[str, Mapping[str, Any]]]) -> None:
    """Adds one commit to `files`: a file's first state stays, its last state is that after this commit."""
    # A commit names a file twice when its deletion vector changes: `remove` with the old vector, `add` with
    # the new one, in any order. The old state must be seen first.
    for action in actions:
        if "remove" in action:
            body = action["remove"]
            before, _ = files.get(body["path"], (as_added(body), None))
            files[body["path"]] = (before, None)
    for action in actions:
        if "add" in action:
            body = action["add"]
            before, _ = files.get(body["path"], (None, None))
            files[body["path"]] = (before, body)


def same_rows(one: AddAction | None, other: AddAction | None) -> bool:
    """Tells whether two states of one data file hold the same rows; None: the file is not in the table."""
    if one is None or other is None:
        return one is other
    return vector_id(one) == vector_id(other)


def adds_again(actions: Sequence[Mapping[str, Mapping[str, Any]]]) -> bool:
    """Tells whether a commit only adds files that the table has already, for new statistics or tags."""
    added = any("add" in action for action in actions)
    return added and not any("remove" in action or _changes_data(action) for action in actions)


def as_added(removed: Mapping[str, Any]) -> AddAction:
    """Returns the state of a file before its removal, as the action that would add it."""
    passed_on = ("path", "size", "stats", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    return {
        **{name: removed[name] for name in passed_on if removed.get(name) is not None},
        "partitionValues": removed.get("partitionValues") or {},
        "size": removed.get("size") or 0,
        "modificationTime": 0,
        "dataChange": False,
    }


def removed(file: AddAction) -> Mapping[str, object]:
    """Returns the body of the action that removes a file, in the state given."""
    passed_on = (
        *("path", "partitionValues", "size", "stats", "tags"),
        *("deletionVector", "baseRowId", "defaultRowCommitVersion"),
    )
    return {
        **{name: file[name] for name in passed_on if name in file},
        "deletionTimestamp": time.time_ns() // 1_000_000,
        "dataChange": True,
        "extendedFileMetadata": True,
    }


def records(file: AddAction) -> int:
    """Returns the number of rows in a data file, deleted ones included. Raises KeyError: it is not known."""
    return int(json.loads(file["stats"])["numRecords"])


def live_rows(file: AddAction) -> int:
    """Returns the number of rows of a data file that are not deleted. Raises KeyError: it is not known."""
    return records(file) - int((file.get("deletionVector") or {}).get("cardinality", 0))


def _has_partition_values(actions: Sequence[Mapping[str, Mapping[str, Any]]]) -> bool:
    """Tells whether a commit says of each file that it removes in which partition it is.

    A writer need not, and Delta's own leaves out values that are NULL.
    """
    return all(
        action["remove"].get("partitionValues") is not None for action in actions if "remove" in action
    )


def _changes_data(action: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tells whether an action says that it changes the rows of the table."""
    return any(bool(body.get("dataChange")) for kind, body in action.items() if kind in ("add", "remove"))
