"""A Delta table's log, read as the protocol describes it: JSON lines, one file per version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from oracle.errors import OracleError


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMetadata:
    """One commit: what it says about itself, and the data files it added and removed.

    `data_change`: whether any of its files declares a change of data; OPTIMIZE has none. `transactions`:
    its `txn` actions, application id -> version. A file whose deletion vector changes is in both lists.
    """

    version: int
    operation: str
    user_metadata: str | None
    data_change: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    transactions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DeletionVectorDescriptor:
    """Where a deletion vector lies: `storage` u (file by id), p (file by path) or i (inline)."""

    storage: str
    path_or_inline: str
    offset: int
    size_in_bytes: int
    cardinality: int


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of a snapshot, its path relative to the table; no `base_row_id` without row tracking."""

    path: str
    deletion_vector: DeletionVectorDescriptor | None
    base_row_id: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The live files of one version, in the order they were added, and the table's properties."""

    files: tuple[LiveFile, ...]
    properties: Mapping[str, str]
    partition_columns: tuple[str, ...]


def commit_metadata(path: Path) -> tuple[CommitMetadata, ...]:
    """Every commit in the log, oldest first. Raises OracleError: no log there, or a version is missing."""
    return tuple(_commit(version, actions) for version, actions in _versions(path))


def snapshot(path: Path, version: int) -> Snapshot:
    """The table at a version, replayed from version 0. Raises OracleError: the log does not reach that far.

    Checkpoints are not read: the harness keeps every commit of its tables.
    """
    replay = _Replay()
    for number, actions in _versions(path):
        if number <= version:
            replay.commit(actions)
            last = number
    if last < version:
        raise OracleError(f"{path}: no version {version} in the log; the last one is {last}")
    return Snapshot(tuple(replay.files.values()), replay.properties, replay.partition_columns)


Action = Mapping[str, Any]


@dataclass(slots=True)
class _Replay:
    files: dict[tuple[str, str], LiveFile] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()

    def commit(self, actions: list[Action]) -> None:
        # A file may be removed with one deletion vector and added with another in one commit: the two
        # are different keys, and their order in the file means nothing.
        for action in actions:
            if "remove" in action:
                self.files.pop(_key(action["remove"]), None)
            if "metaData" in action:
                self.properties = dict(action["metaData"].get("configuration", {}))
                self.partition_columns = tuple(action["metaData"].get("partitionColumns", ()))
        for action in actions:
            if "add" in action:
                add = action["add"]
                file = LiveFile(unquote(add["path"]), _descriptor(add), add.get("baseRowId"))
                self.files[_key(add)] = file


def _key(file: Action) -> tuple[str, str]:
    vector = file.get("deletionVector")
    return file["path"], "" if vector is None else f"{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _descriptor(add: Action) -> DeletionVectorDescriptor | None:
    vector = add.get("deletionVector")
    if vector is None:
        return None
    return DeletionVectorDescriptor(
        vector["storageType"],
        vector["pathOrInlineDv"],
        vector.get("offset", 0),
        vector["sizeInBytes"],
        vector["cardinality"],
    )


def _commit(version: int, actions: list[Action]) -> CommitMetadata:
    info: Action = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    added = [action["add"] for action in actions if "add" in action]
    removed = [action["remove"] for action in actions if "remove" in action]
    return CommitMetadata(
        version=version,
        operation=info.get("operation", ""),
        user_metadata=info.get("userMetadata"),
        data_change=any(file.get("dataChange", False) for file in (*added, *removed)),
        added=tuple(unquote(file["path"]) for file in added),
        removed=tuple(unquote(file["path"]) for file in removed),
        transactions={a["txn"]["appId"]: a["txn"]["version"] for a in actions if "txn" in a},
    )


def _versions(path: Path) -> Iterator[tuple[int, list[Action]]]:
    """Version and actions of every commit, oldest first."""
    files = sorted(file for file in (path / "_delta_log").glob("*.json") if file.stem.isdigit())
    if not files:
        raise OracleError(f"{path}: no Delta log")
    for number, file in enumerate(files):
        if int(file.stem) != number:
            raise OracleError(f"{path}: the log lacks version {number}")
        lines = file.read_text(encoding="utf-8").splitlines()
        try:
            actions = [json.loads(line) for line in lines if line.strip()]
        except json.JSONDecodeError as error:
            raise OracleError(f"{file}: cut short or no Delta log: {error}") from error
        yield number, actions
