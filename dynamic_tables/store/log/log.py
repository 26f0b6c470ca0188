"""The Delta log of a table, read from its folder: one JSON file per commit, each read once.

Version n of a Delta table is the commit file `_delta_log/n.json` (20 digits), whose lines are actions: `add`
and `remove` of data files, `metaData` (schema, properties), `protocol` (what a writer must understand), `txn`
(application id and number, which admit a write only once) and `commitInfo`. The engine reads the log itself
because a question to Spark is a job, and the answer is a few lines of JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.live_files import LiveFiles

COMMIT = re.compile(r"^(\d{20})\.json$")
CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint\..*parquet$")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetadata:
    """Delta's description of a table: its id, its properties, and its schema as Delta's JSON.

    `partitions`: the columns whose values are not in the data files.
    """

    id: str
    properties: Mapping[str, str]
    schema: str
    partitions: tuple[str, ...] = ()

    @property
    def row_ids(self) -> bool:
        """Whether rows keep the ids that Delta gives them (row tracking) where a commit rewrites them."""
        return self.properties.get("delta.enableRowTracking", "false").lower() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCommit:
    """One commit of a Delta log.

    `in_commit_ms`: Delta's commit time in milliseconds. `metadata`: what this engine wrote, None in a commit
    of another writer. `features`: what Delta demands of a writer of this version, None if it is not known.
    `changes_rows`: it adds or removes rows; OPTIMIZE does not. `meant`: each `add` and `remove` names a file
    in the state that the table has; if not, only Delta can tell the files of this version and the next ones.
    `transactions`: the txn actions, application id -> version. `removed`: the data files that the commit
    removed, each with the kind and the place of its deletion vector, as the log writes them.
    """

    version: int
    operation: str
    in_commit_ms: int
    metadata: Mapping[str, object] | None
    table: TableMetadata
    features: frozenset[str] | None
    changes_rows: bool
    meant: bool
    transactions: Mapping[str, int]
    removed: tuple[tuple[str, tuple[str, str] | None], ...]


class Fold(Protocol):
    """A state that a reader builds from the commits of a log, one by one, such as the list of refreshes."""

    def add(self, log: TableLog, commit: LoggedCommit) -> None:
        """Takes in the next commit. Raises CorruptTable, before anything is changed: it cannot be read."""


Folded = TypeVar("Folded", bound=Fold)


@dataclass(slots=True)
class TableLog:
    """The commits of one table, oldest first, as far as `poll` has read them.

    Log cleanup removes old commits. Reading then starts at the oldest commit that remains, and
    `metadata_at(folder, version)` gives the table's metadata at that version.
    """

    name: str
    folder: str
    files: Files
    metadata_at: Callable[[str, int], TableMetadata]
    commits: list[LoggedCommit] = field(default_factory=list)
    account: str = ""
    """The id of the account that an attached table belongs to here; what other accounts say in its log counts
    as a foreign writer's. Empty for a table in the account's own folder."""

    decoded: dict[int, object] = field(default_factory=dict)
    """By version what readers of the log have decoded from a commit's metadata."""

    folds: dict[type[Fold], tuple[int, Fold]] = field(default_factory=dict)
    """By kind of fold: how many commits it has taken in, and the fold itself."""

    live: LiveFiles | None = None
    """The files of the newest version that was read."""

    @property
    def log_folder(self) -> str:
        """The path of the folder that holds the log."""
        return f"{self.folder}/_delta_log"

    @property
    def newest(self) -> LoggedCommit:
        """The newest commit that was read."""
        return self.commits[-1]

    def poll(self) -> Sequence[LoggedCommit]:
        """Reads and returns the commits after the newest one known. Raises CorruptTable: unreadable log."""
        count = len(self.commits)
        version = self.commits[-1].version + 1 if self.commits else self._first()
        while (text := self._text(version)) is not None:
            self.commits.append(self._commit(version, text))
            version += 1
        return self.commits[count:]

    def folded(self, kind: type[Folded]) -> Folded:
        """Returns the fold of all commits read so far. It is kept, so each commit is given to it only once.

        Raises CorruptTable: what `kind` raises; that commit is given to it again in the next call.
        """
        # The count is stored after each commit, so that an error leaves the fold where it stands.
        done, fold = self.folds.get(kind, (0, None))
        if not isinstance(fold, kind):
            fold = kind()
        for commit in self.commits[done:]:
            fold.add(self, commit)
            done += 1
            self.folds[kind] = done, fold
        return fold

    def commit(self, version: int) -> LoggedCommit | None:
        """Returns the commit of a version; None if the log does not hold it."""
        position = version - self.commits[0].version if self.commits else -1
        return self.commits[position] if 0 <= position < len(self.commits) else None

    def kept_row_ids(self, version: int) -> bool:
        """Tells whether every commit from a version on kept the ids of rows: row tracking was always on."""
        return all(commit.table.row_ids for commit in self.commits if commit.version >= version)

    def actions(self, version: int) -> list[Mapping[str, Mapping[str, Any]]]:
        """Returns the actions of a commit as the log writes them. Raises CorruptTable: it is not there."""
        text = self._text(version)
        if text is None:
            raise CorruptTable(f"{self.name}: commit {version} of its Delta log is not there any more")
        with decoding(f"{self.name}: commit {version} of its Delta log"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]

    def reaches(self, version: int) -> bool:
        """Tells whether Delta can rebuild a version: from version 0, or from a checkpoint before it.

        A checkpoint holds the state at its version; the commits after it must all be there.
        """
        first = self._first()
        if first == 0:
            return self.commit(version) is not None
        names = self.files.files(self.log_folder)
        checkpoints = [int(match[1]) for match in map(CHECKPOINT.match, names) if match]
        return any(first - 1 <= checkpoint <= version for checkpoint in checkpoints)

    def _first(self) -> int:
        """Returns the oldest version whose commit the log still holds. Raises CorruptTable: there is none."""
        with decoding(f"{self.name}: its Delta log in {self.log_folder}"):
            names = self.files.files(self.log_folder)
        versions = [int(match[1]) for match in map(COMMIT.match, names) if match]
        if not versions:
            # The folder of an attached table is not the account's to remove.
            remedy = "" if self.account else "; remove the folder"
            raise CorruptTable(
                f"{self.name}: {self.folder} is no Delta table, its log holds no commit{remedy}"
            )
        return min(versions)

    def _text(self, version: int) -> str | None:
        """Returns the text of a commit; None if its file is not there. Raises CorruptTable."""
        with decoding(f"{self.name}: commit {version} of its Delta log"):
            return self.files.read(f"{self.log_folder}/{version:020d}.json")

    def _commit(self, version: int, text: str) -> LoggedCommit:
        """Returns the commit that a text holds, after the commits read so far. Raises CorruptTable."""
        with decoding(f"{self.name}: commit {version} of its Delta log"):
            actions = [json.loads(line) for line in text.splitlines() if line.strip()]
            before = self.commits[-1].table if self.commits else None
            return self._parsed(version, actions, before)

    def _parsed(
        self, version: int, actions: list[dict[str, dict[str, object]]], table: TableMetadata | None
    ) -> LoggedCommit:
        """Returns a commit from its actions; `table`: the description before it, None if not known."""
        info: Mapping[str, object] = {}
        transactions: dict[str, int] = {}
        removed: list[Mapping[str, Any]] = []
        added: list[Mapping[str, Any]] = []
        features = self.commits[-1].features if self.commits else None
        for action in actions:
            [(kind, body)] = action.items()
            match kind:
                case "commitInfo":
                    info = body
                case "metaData":
                    table = _table(body)
                case "protocol":
                    features = _features(body)
                case "txn":
                    # `int(str(...))`, here and below: `int` does not accept the type `object`.
                    transactions[str(body["appId"])] = int(str(body["version"]))
                case "add":
                    added.append(body)
                case "remove":
                    removed.append(body)
                case _:
                    pass
        if self.live is None:
            self.live = LiveFiles(whole=version == 0)
        # Only the first commit that remains after log cleanup has no description before it.
        described = table or self.metadata_at(self.folder, version)
        # `dataChange` is false for OPTIMIZE, but it is only the word of the writer: a commit that leaves
        # another number of rows, or names files in another state, counts as a change in any case.
        claimed = any(body.get("dataChange") for body in (*added, *removed))
        other_number, meant = self.live.follow(removed, added)
        return LoggedCommit(
            version=version,
            operation=str(info.get("operation", "")),
            in_commit_ms=int(str(info.get("inCommitTimestamp", info.get("timestamp", 0)))),
            metadata=_ours(info.get("userMetadata")),
            table=described,
            features=features,
            changes_rows=claimed or other_number or not meant,
            meant=meant,
            transactions=transactions,
            removed=tuple((str(body["path"]), _vector(body)) for body in removed),
        )


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Opens a block that reads and decodes stored text; an error in it is raised as CorruptTable.

    `what` names the text in the message.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        lines = f"{type(error).__name__}: {error}".splitlines()
        raise CorruptTable(f"{what} cannot be read ({lines[0]})") from error


def _table(body: Mapping[str, object]) -> TableMetadata:
    """Returns the description in a `metaData` action. Raises KeyError or TypeError: it is damaged."""
    properties = body.get("configuration") or {}
    if not isinstance(properties, dict):
        raise TypeError("configuration is no object")
    partitions = body.get("partitionColumns") or []
    if not isinstance(partitions, list):
        raise TypeError("partitionColumns is no list")
    return TableMetadata(
        id=str(body["id"]),
        properties=properties,
        schema=str(body["schemaString"]),
        partitions=tuple(map(str, partitions)),
    )


def _features(body: Mapping[str, object]) -> frozenset[str]:
    """Returns what a `protocol` action demands of a writer. Raises KeyError: it names no version."""
    # Tables with table features list them by name (writer version 7); older ones have only a version.
    named = body.get("writerFeatures")
    if isinstance(named, list):
        return frozenset(map(str, named))
    return frozenset({f"writer version {body['minWriterVersion']}"})


def _vector(body: Mapping[str, object]) -> tuple[str, str] | None:
    """Returns kind and place of a deletion vector that is a file; an inline one ("i") cannot go missing."""
    vector = body.get("deletionVector")
    if not isinstance(vector, dict) or vector.get("storageType") not in ("u", "p"):
        return None
    return str(vector["storageType"]), str(vector["pathOrInlineDv"])


def _ours(text: object) -> Mapping[str, object] | None:
    """Returns the metadata of a commit if this engine wrote it, else None."""
    if not isinstance(text, str) or not text.startswith("{"):
        return None
    try:
        metadata = json.loads(text)
    except ValueError:
        return None
    return metadata if isinstance(metadata, dict) and metadata.get("dvs") == 1 else None
