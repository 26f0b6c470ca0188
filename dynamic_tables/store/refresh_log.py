"""Refreshes as they stand in a dynamic table's Delta log."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dynamic_tables.errors import CorruptTable
from dynamic_tables.refresh.action import Action
from dynamic_tables.refresh.frontier import Frontier, SourceVersion
from dynamic_tables.store.log import LoggedCommit, TableLog
from dynamic_tables.store.port import RefreshRecord


@dataclass(frozen=True, slots=True)
class LoggedRefresh:
    """A refresh and the Delta version that holds it."""

    version: int
    record: RefreshRecord
    table_id: str


def to_metadata(record: RefreshRecord) -> dict[str, object]:
    """The metadata of a refresh's commit; `nonce` tells this very commit from every other."""
    refresh = {
        "action": record.action.value,
        "reason": record.reason,
        "changed": record.changed,
        "inserted": record.inserted,
        "deleted": record.deleted,
        "seconds": dict(record.seconds),
        "frontier": record.frontier.to_json(),
    }
    return {"dvs": 1, "nonce": uuid.uuid4().hex, "timestamp": record.frontier.timestamp, "refresh": refresh}


def refreshes(log: TableLog) -> Sequence[LoggedRefresh]:
    """The refreshes, oldest first. Raises CorruptTable where somebody else wrote the table."""
    return tuple(_refreshes(log))


def _refreshes(log: TableLog) -> Iterator[LoggedRefresh]:
    for commit in log.commits:
        refresh = commit.metadata.get("refresh") if commit.metadata is not None else None
        if isinstance(refresh, Mapping):
            yield _logged(log.name, commit, refresh)
        elif commit.changes_rows:
            raise CorruptTable(
                f"{log.name}: version {commit.version} ({commit.operation}) is no refresh but changed rows; "
                "restore the version before it, or drop the table and create it again"
            )


def _logged(name: str, commit: LoggedCommit, refresh: Mapping[str, object]) -> LoggedRefresh:
    try:
        record = _record(refresh)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptTable(
            f"{name}: the refresh in version {commit.version} cannot be read "
            f"({type(error).__name__}: {error})"
        ) from error
    fence = commit.transactions.get(commit.table.id)
    if fence != record.frontier.timestamp:
        raise CorruptTable(
            f"{name}: version {commit.version} says data timestamp {record.frontier.timestamp}, "
            f"its txn says {fence}"
        )
    return LoggedRefresh(commit.version, record, commit.table.id)


def _record(refresh: Mapping[str, object]) -> RefreshRecord:
    frontier, seconds = refresh["frontier"], refresh["seconds"]
    if not isinstance(frontier, Mapping) or not isinstance(seconds, Mapping):
        raise TypeError("frontier and seconds are objects")
    return RefreshRecord(
        action=Action(refresh["action"]),
        reason=str(refresh["reason"]),
        frontier=Frontier.from_json(frontier),
        changed=bool(refresh["changed"]),
        inserted=_count(refresh["inserted"]),
        deleted=_count(refresh["deleted"]),
        seconds={str(phase): float(str(value)) for phase, value in seconds.items()},
    )


def _count(value: object) -> int | None:
    return None if value is None else int(str(value))


def versions(logged: Sequence[LoggedRefresh]) -> tuple[SourceVersion, ...]:
    """The same as versions of a source: data timestamps, and the newest version that changed rows."""
    result: list[SourceVersion] = []
    for refresh in logged:
        content = refresh.version if refresh.record.changed or not result else result[-1].content
        result.append(
            SourceVersion(refresh.version, refresh.record.frontier.timestamp, content, refresh.table_id)
        )
    return tuple(result)
