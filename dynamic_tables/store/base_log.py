"""Versions of a base table as they stand in its Delta log, and transactions that were never finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from dynamic_tables.errors import CorruptTable
from dynamic_tables.refresh.frontier import SourceVersion
from dynamic_tables.store.log import LoggedCommit, TableLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What one commit says of the transaction it belongs to: its part of how many, at which time.

    A transaction is complete when its last part is in. `before`: the version of each of its tables
    before it began, which is where an unfinished one goes back to. `closing`: the commit changes no row.
    """

    transaction: str
    timestamp: int
    part: int
    parts: int
    before: Mapping[str, int]
    closing: bool = False

    def to_metadata(self) -> dict[str, object]:
        """The metadata of the commit."""
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
    """The stamp of a commit; None in a commit of a foreign writer. Raises CorruptTable."""
    data = commit.metadata
    if data is None:
        return None
    try:
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
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptTable(
            f"{log.name}: the stamp of version {commit.version} cannot be read "
            f"({type(error).__name__}: {error})"
        ) from error


def versions(log: TableLog, *, simulated: bool) -> tuple[SourceVersion, ...]:
    """The versions, oldest first.

    A foreign commit has no stamp: it counts at the end of the millisecond that Delta gave it, so that no
    refresh that ran before it in that millisecond can be said to have missed it. In simulated time it has
    no place. Raises CorruptTable for that, and for times that go back.
    """
    result: list[SourceVersion] = []
    for commit in log.commits:
        stamp = stamp_of(log, commit)
        if stamp is None and simulated:
            raise CorruptTable(
                f"{log.name}: version {commit.version} ({commit.operation}) was written from outside and has "
                "no place in simulated time; write through the account, or open it with a wall clock"
            )
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
    """The newest stamp of a transaction whose last part is in no table; None if all are complete.

    Nobody writes through the account while there is one, so it is the newest stamped commit of its table.
    """
    for log in logs.values():
        stamp = next((stamp for stamp in _newest_first(log)), None)
        if stamp is not None and stamp.part < stamp.parts and not _finished(stamp, logs):
            return stamp
    return None


def _finished(stamp: Stamp, logs: Mapping[str, TableLog]) -> bool:
    for name in stamp.before:
        if name not in logs:
            return True  # a table dropped since cannot be asked, and nobody drops one in between
        for other in takewhile(lambda other: other.timestamp >= stamp.timestamp, _newest_first(logs[name])):
            if other.transaction == stamp.transaction and other.part == other.parts:
                return True
    return False


def _newest_first(log: TableLog) -> Iterator[Stamp]:
    for commit in reversed(log.commits):
        stamp = stamp_of(log, commit)
        if stamp is not None:
            yield stamp
