"""The versions of a base table, read from its Delta log, and transactions that were never finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log import LoggedCommit, TableLog, decoding
from dynamic_tables.versions import SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The part of a commit's metadata about its transaction: part number, number of parts, commit timestamp.

    A transaction is complete when its last part is committed. `before`: the version of each of its tables
    before the transaction; a rollback restores it. `closing`: the commit changes no row.
    """

    transaction: str
    timestamp: int
    part: int
    parts: int
    before: Mapping[str, int]
    closing: bool = False

    def to_metadata(self) -> dict[str, object]:
        """Returns the metadata of the commit."""
        return {
            "dvs": 1,
            "transaction": self.transaction,
            "timestamp": self.timestamp,
            "part": self.part,
            "parts": self.parts,
            "tables": dict(self.before),
            "closing": self.closing,
        }


def stamp_of(log: TableLog, commit: LoggedCommit) -> Stamp | None:
    """Returns the stamp of a commit; None for a commit of another writer.

    Raises CorruptTable: for a stamp that cannot be read.
    """
    data = commit.metadata
    if data is None:
        return None
    with decoding(f"{log.name}: the stamp of version {commit.version}"):
        tables = data["tables"]
        if not isinstance(tables, Mapping):
            raise TypeError("tables is no object")
        return Stamp(
            transaction=str(data["transaction"]),
            timestamp=int(str(data["timestamp"])),
            part=int(str(data["part"])),
            parts=int(str(data["parts"])),
            before={str(name): int(version) for name, version in tables.items()},
            closing=bool(data["closing"]),
        )


def versions(log: TableLog, *, simulated: bool) -> tuple[SourceVersion, ...]:
    """Returns the versions of a base table, oldest first.

    Raises CorruptTable: for a commit of another writer in simulated time, and for times that go back.
    """
    result: list[SourceVersion] = []
    for commit in log.commits:
        stamp = stamp_of(log, commit)
        if stamp is None and simulated:
            raise CorruptTable(
                f"{log.name}: version {commit.version} ({commit.operation}) was written from outside and has "
                "no place in simulated time; write through the account, or open it with a wall clock"
            )
        # Delta's commit time of another writer is in milliseconds. Its last microsecond counts, so that a
        # refresh earlier in that millisecond did not have to see the commit.
        timestamp = commit.in_commit_ms * 1000 + 999 if stamp is None else stamp.timestamp
        changed = commit.changes_rows and not (stamp is not None and stamp.closing)
        same = result and result[-1].identity == commit.table.id
        content = result[-1].content if same and not changed else commit.version
        if result and timestamp < result[-1].timestamp:
            raise CorruptTable(
                f"{log.name}: version {commit.version} is of {timestamp}, "
                f"before version {commit.version - 1} of {result[-1].timestamp}"
            )
        result.append(SourceVersion(commit.version, timestamp, content, commit.table.id))
    return tuple(result)


def unfinished(logs: Mapping[str, TableLog]) -> Stamp | None:
    """Returns the newest stamp of a transaction whose last part is in no table; None if all are complete."""
    for log in logs.values():
        # The account writes nothing while a transaction is unfinished: its stamp is the newest of its table.
        stamp = next(_newest_first(log), None)
        if stamp is not None and stamp.part < stamp.parts and not _finished(stamp, logs):
            return stamp
    return None


def _finished(stamp: Stamp, logs: Mapping[str, TableLog]) -> bool:
    for name in stamp.before:
        if name not in logs:
            # The table was dropped later, which no account does in the middle of a transaction.
            return True
        for other in takewhile(lambda other: other.timestamp >= stamp.timestamp, _newest_first(logs[name])):
            if other.transaction == stamp.transaction and other.part == other.parts:
                return True
    return False


def _newest_first(log: TableLog) -> Iterator[Stamp]:
    for commit in reversed(log.commits):
        stamp = stamp_of(log, commit)
        if stamp is not None:
            yield stamp
