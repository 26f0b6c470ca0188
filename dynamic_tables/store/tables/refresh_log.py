"""The refreshes of a dynamic table, written to and read from its Delta log.

Each refresh is one commit, whose user metadata holds the record with the frontier. So the history of
refreshes is the log of the table itself, and contents and frontier cannot disagree.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log.log import LoggedCommit, TableLog, decoding
from dynamic_tables.store.port import Action, Extent, RefreshRecord
from dynamic_tables.versions import Frontier, SourceVersion

WRITTEN_ANEW = (Action.INITIALIZE, Action.FULL, Action.REINITIALIZE)
"""The actions after which nothing of earlier contents is left."""


@dataclass(frozen=True, slots=True)
class LoggedRefresh:
    """A refresh, and the Delta version and the table id of the commit that holds it; see `to_metadata`."""

    version: int
    record: RefreshRecord
    table_id: str
    number: int


def to_metadata(record: RefreshRecord, number: int) -> dict[str, object]:
    """Returns the metadata of a refresh's commit; the random `nonce` identifies this commit.

    `number`: the version in the commit's txn action, greater than in any refresh before. `dvs` is the mark by
    which the engine knows its own commits.
    """
    refresh = {
        "action": record.action.value,
        "reason": record.reason,
        "changed": record.changed,
        "inserted": record.inserted,
        "deleted": record.deleted,
        "late": record.late,
        "seconds": dict(record.seconds),
        "extents": {name: [each.touched, each.total] for name, each in record.extents.items()},
        "frontier": record.frontier.to_json(),
    }
    return {
        "dvs": 1,
        "nonce": uuid.uuid4().hex,
        "timestamp": record.frontier.timestamp,
        "number": number,
        "refresh": refresh,
    }


@dataclass(slots=True)
class RefreshesOfLog:
    """The refreshes of a log, built commit by commit (a `Fold` of `TableLog`).

    `versions`: the refreshes as versions of a source. `foreign`: the last commit by another writer that
    changed rows, None once a later refresh wrote all rows anew. `numbers`: by table id, the greatest number
    in any txn, even in a commit that `_logged` does not accept, because Delta silently skips a write whose
    number is not greater. The state is kept, because a log grows for years.
    """

    refreshes: list[LoggedRefresh] = field(default_factory=list)
    versions: list[SourceVersion] = field(default_factory=list)
    foreign: LoggedCommit | None = None
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, log: TableLog, commit: LoggedCommit) -> None:
        """Takes in the next commit. Raises CorruptTable: its refresh cannot be read."""
        logged = _logged(log.name, commit)
        fence = commit.transactions.get(commit.table.id)
        if fence is not None:
            self.numbers[commit.table.id] = max(fence, self.numbers.get(commit.table.id, fence))
        if logged is not None:
            unchanged = self.versions and not logged.record.changed
            content = self.versions[-1].content if unchanged else logged.version
            timestamp = logged.record.frontier.timestamp
            self.refreshes.append(logged)
            self.versions.append(SourceVersion(logged.version, timestamp, content, logged.table_id))
            if logged.record.action in WRITTEN_ANEW:
                self.foreign = None
        # A commit that changes no row, such as OPTIMIZE, may follow a refresh.
        elif commit.changes_rows:
            self.foreign = commit


def refreshes(log: TableLog, *, edited: bool = False) -> Sequence[LoggedRefresh]:
    """Returns the refreshes, oldest first. `edited`: also if another writer changed rows since.

    Raises CorruptTable: a refresh cannot be read; or, without `edited`, another writer changed rows and no
    refresh wrote them anew.
    """
    return tuple(_refreshed(log, edited=edited).refreshes)


def versions(log: TableLog) -> Sequence[SourceVersion]:
    """Returns refreshes as versions of a source; `timestamp` is the data timestamp of each refresh.

    Raises CorruptTable as `refreshes` does.
    """
    return tuple(_refreshed(log, edited=False).versions)


def _refreshed(log: TableLog, *, edited: bool) -> RefreshesOfLog:
    """Returns the refreshes of all commits read so far. Raises CorruptTable as `refreshes` does."""
    refreshed = log.folded(RefreshesOfLog)
    if refreshed.foreign is not None and not edited:
        raise CorruptTable(
            f"{log.name}: version {refreshed.foreign.version} ({refreshed.foreign.operation}) is no refresh "
            f'but changed rows; `account.reinitialize("{log.name}")` writes the contents anew'
        )
    return refreshed


def last_number(log: TableLog) -> int | None:
    """Returns the greatest number that a commit of the table has in its txn; None if there is none."""
    numbers = log.folded(RefreshesOfLog).numbers
    return numbers.get(log.newest.table.id) if log.commits else None


def _logged(name: str, commit: LoggedCommit) -> LoggedRefresh | None:
    """Returns the refresh that a commit is; None for one without the metadata or the txn of a refresh.

    Delta's automatic compaction, which a session or the properties of a table switch on, follows a refresh
    and writes the metadata of the refresh into a commit of its own. So metadata alone is no refresh.
    """
    refresh = commit.metadata.get("refresh") if commit.metadata is not None else None
    # The txn action of a refresh is (table id, number); Delta lets each pair commit only once.
    fence = commit.transactions.get(commit.table.id)
    if not isinstance(refresh, Mapping) or fence is None:
        return None
    with decoding(f"{name}: the refresh in version {commit.version}"):
        record = _record(refresh)
        # Older versions of this engine numbered refreshes by their data timestamps. A value of the metadata
        # has the type `object`, which `int` does not accept: hence `int(str(...))`, here and below.
        number = int(str((commit.metadata or {}).get("number", record.frontier.timestamp)))
    return LoggedRefresh(commit.version, record, commit.table.id, number) if fence == number else None


def _record(refresh: Mapping[str, object]) -> RefreshRecord:
    """Returns the record that `to_metadata` wrote. Raises KeyError, TypeError or ValueError."""
    frontier, seconds = refresh["frontier"], refresh["seconds"]
    # Records of older engines have no extents.
    extents = refresh.get("extents", {})
    if not (isinstance(frontier, Mapping) and isinstance(seconds, Mapping) and isinstance(extents, Mapping)):
        raise TypeError("frontier, seconds and extents are objects")
    return RefreshRecord(
        action=Action(refresh["action"]),
        reason=str(refresh["reason"]),
        frontier=Frontier.from_json(frontier),
        changed=bool(refresh["changed"]),
        inserted=_count(refresh["inserted"]),
        deleted=_count(refresh["deleted"]),
        late=int(str(refresh.get("late", 0))),
        seconds={str(phase): float(str(value)) for phase, value in seconds.items()},
        extents={str(name): Extent(*map(int, pair)) for name, pair in extents.items()},
    )


def _count(value: object) -> int | None:
    """Returns a number of rows from the metadata; None for an action that computes no change set."""
    return None if value is None else int(str(value))
