"""Delta logs as a history: every commit is a transaction, every data file an object.

A commit reads the files that it removes; a refresh of this project's engine reads the versions in its
frontier. Commits with one `transaction` in their metadata are one transaction over several tables. What a
commit has read besides is known only in part: with `readVersion` the version, not which rows; without it
nothing. Then verdicts that depend on reads are unknown. A log that begins after version 0 needs a whole
checkpoint before it; files from there count as written by T0.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from dvs_model.draft import Draft, DraftEvent, Name, Special
from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Parsed, Refused
from dvs_model.wellformed import well_formed

COMMIT = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?(?:\.[0-9a-f-]{36})?\.(?:parquet|json)"
)
FILES = 5_000
"""The most files in one version that a stale read or a frontier is written out for."""


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """One commit of one table. `removed` and `added`: paths of data files whose rows changed."""

    table: str
    version: int
    time: int
    operation: str
    info: Mapping[str, Any]
    metadata: Mapping[str, Any]
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def frontier(self) -> Mapping[str, int]:
        """The version of each source that a refresh has consumed; empty for any other commit."""
        refresh = self.metadata.get("refresh")
        sources = refresh["frontier"]["sources"] if isinstance(refresh, Mapping) else {}
        return {name: int(each[0]) for name, each in sources.items()}

    @property
    def read(self) -> int | None:
        """The version that the commit has read by a condition that the log does not say, if any."""
        read = self.info.get("readVersion")
        blind = self.info.get("isBlindAppend") is True
        return read if isinstance(read, int) and not blind and not self.metadata else None

    @property
    def stated(self) -> int | None:
        """The version that the writer says it has read as a whole, by `dvsReadVersion`, if it does."""
        text = str(self.info.get("dvsReadVersion", ""))
        return int(text) if text.isdigit() else None

    @property
    def overwrites(self) -> bool:
        """Whether the commit removes files without reading them."""
        parameters = self.info.get("operationParameters")
        mode = parameters.get("mode") if isinstance(parameters, Mapping) else None
        return self.operation == "WRITE" and str(mode).strip('"').lower() == "overwrite"

    @property
    def states_reads(self) -> bool:
        """Whether the log says what the commit has read, or that it has read nothing."""
        blind = self.info.get("isBlindAppend") is True
        nothing = self.version == 0 or not (self.removed or self.added)
        return (
            blind
            or nothing
            or bool(self.metadata)
            or {"readVersion", "dvsReadVersion"} & {*self.info} != set()
        )


def commits_of(folder: Path) -> Iterator[DeltaCommit]:
    """Yields the commits of a table, oldest first, one file at a time.

    Raises HistoryError: the folder has no Delta log, or the log has a gap, or a commit cannot be decoded.
    """
    log = folder / "_delta_log"
    if not log.is_dir():
        raise HistoryError(f"{folder} is no Delta table: it has no folder _delta_log")
    names = [path.name for path in log.iterdir()]
    versions = sorted(int(found[1]) for found in map(COMMIT.fullmatch, names) if found)
    if not versions:
        raise HistoryError(f"the log of {folder} holds no commit")
    if versions[0] and not _has_checkpoint(names, versions[0]):
        raise HistoryError(
            f"the log of {folder} begins at version {versions[0]}, and no whole checkpoint stands before it"
        )
    for before, after in pairwise(versions):
        if after != before + 1:
            raise HistoryError(f"the log of {folder} has no version {before + 1}, but version {after}")
    for version in versions:
        yield _commit(folder.name, log / f"{version:020d}.json", version)


def _has_checkpoint(names: Sequence[str], first: int) -> bool:
    parts: dict[tuple[int, int], set[int]] = {}
    for found in map(CHECKPOINT.fullmatch, names):
        if found is not None and int(found[1]) >= first - 1:
            parts.setdefault((int(found[1]), int(found[3] or 1)), set()).add(int(found[2] or 1))
    return any(len(seen) == count for (_, count), seen in parts.items())


def _commit(table: str, file: Path, version: int) -> DeltaCommit:
    info: Mapping[str, Any] = {}
    removed: dict[str, None] = {}
    added: dict[str, None] = {}
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.strip():
                continue
            [(kind, body)] = json.loads(line).items()
            if kind == "commitInfo":
                info = body
            elif kind in ("add", "remove") and body.get("dataChange"):
                (added if kind == "add" else removed)[str(body["path"])] = None
        return DeltaCommit(
            table=table,
            version=version,
            time=int(info.get("inCommitTimestamp", info.get("timestamp", 0))),
            operation=str(info.get("operation", "")),
            info=info,
            metadata=_ours(info.get("userMetadata")),
            removed=tuple(removed),
            added=tuple(added),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HistoryError(f"commit {version} of {table} cannot be decoded: {error}") from error


def _ours(text: object) -> Mapping[str, Any]:
    try:
        metadata = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) and metadata.get("dvs") == 1 else {}


@dataclass(slots=True)
class _Tables:
    """Files by table at every version so far.

    `names`: an object for each file. `gone`: by table the objects of files that were removed; a version set
    without them would say that they were not written yet. `at`: the files of those versions that are read.
    """

    draft: Draft
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    gone: dict[str, list[Name]] = field(default_factory=dict)
    now: dict[str, dict[str, Name]] = field(default_factory=dict)
    at: dict[tuple[str, int], tuple[tuple[Name, ...], tuple[Name, ...]]] = field(default_factory=dict)
    unread: str = ""
    kept: frozenset[tuple[str, int]] = frozenset()
    concurrent: frozenset[tuple[str, int]] = frozenset()
    whole: set[str] = field(default_factory=set)

    def object_of(self, table: str, path: str) -> str:
        """Returns the object of a file."""
        label = re.sub(r"\W", "_", table)
        if not label[:1].isalpha():
            label = f"t_{label}"
        if (table, path) not in self.names:
            self.counts[table] += 1
            self.names[table, path] = f"{label}_f{self.counts[table]}"
        return self.names[table, path]

    def reads(self, commit: DeltaCommit, txn: int) -> None:
        """Adds what a commit has read, as far as the log says it."""
        for source, version in commit.frontier.items():
            self._version(txn, source, version, certain=True)
        if commit.stated is not None:
            self._version(txn, commit.table, commit.stated, certain=True)
        elif commit.read is not None and (commit.table, commit.version) in self.concurrent:
            self._version(txn, commit.table, commit.read, certain=False)
        if not commit.states_reads and not self.unread:
            which = f"commit {commit.version} of {commit.table} ({commit.operation})"
            self.unread = f"{which} does not say what it has read"

    def _version(self, txn: int, table: str, version: int, *, certain: bool) -> None:
        state = self.at.get((table, version))
        if state is None:
            return
        names, dead = state
        if len(names) + len(dead) > FILES:
            self.unread = self.unread or f"version {version} of {table} has had more than {FILES:,} files"
            return
        others = names if certain else None
        event = DraftEvent("R", txn, (*names, *dead), others, predicate=f"rows of {table}")
        self.draft.events.append(event)

    def writes(self, commit: DeltaCommit, txn: int) -> None:
        """Adds what a commit has written. Raises HistoryError: it removes a file that is not there."""
        state = self.now.setdefault(commit.table, {})
        self.whole |= {commit.table} if commit.version == 0 else set()
        for path in commit.removed:
            obj = self.object_of(commit.table, path)
            if path not in state and commit.table in self.whole:
                raise HistoryError(
                    f"commit {commit.version} of {commit.table} removes {path}, which is not there: "
                    "another commit has removed it"
                )
            name = state.pop(path, Name(obj, 0))
            if not commit.overwrites:
                self.draft.events.append(DraftEvent("r", txn, (name,)))
            if path not in commit.added:
                dead = Name(obj, Special.DEAD)
                self.draft.events.append(DraftEvent("w", txn, (dead,)))
                self.gone.setdefault(commit.table, []).append(dead)
                # RESTORE may add a file again: then it is another object.
                del self.names[commit.table, path]
        for path in commit.added:
            name = Name(self.object_of(commit.table, path), txn)
            state[path] = name
            self.draft.events.append(DraftEvent("w", txn, (name,), value=path[:40].replace("|", " ")))
        self.now[commit.table] = state
        if (commit.table, commit.version) in self.kept:
            self.at[commit.table, commit.version] = (
                tuple(state.values()),
                tuple(self.gone.get(commit.table, ())),
            )


def read(folders: Sequence[Path], name: str) -> Parsed | Refused:
    """Returns the history of Delta tables, or why there is none. Tables are named by their folders."""
    try:
        commits = [commit for folder in folders for commit in commits_of(folder)]
        commits.sort(key=lambda commit: (commit.time, bool(commit.frontier), commit.table, commit.version))
        commits = list(_in_order(commits))
        concurrent = _concurrent(commits)
        kept = {(table, version) for commit in commits for table, version in commit.frontier.items()}
        kept |= {
            (commit.table, commit.read)
            for commit in commits
            if commit.read is not None and (commit.table, commit.version) in concurrent
        }
        kept |= {(commit.table, commit.stated) for commit in commits if commit.stated is not None}
        draft = Draft(name=name)
        tables = _Tables(draft, kept=frozenset(kept), concurrent=concurrent)
        for txn, group in enumerate(_transactions(commits), start=1):
            for commit in group:
                tables.reads(commit, txn)
            for commit in group:
                tables.writes(commit, txn)
            draft.events.append(DraftEvent("c", txn))
        return Parsed(well_formed(draft), 1, tables.unread)
    except HistoryError as error:
        return Refused(name, error)


def _concurrent(commits: Sequence[DeltaCommit]) -> frozenset[tuple[str, int]]:
    """Returns table and version of the commits that ran beside another one, by the versions that they read.

    What any other commit has read cannot be part of a cycle: all that it depends on is before it, and all
    that depends on it is after it.
    """
    found: set[tuple[str, int]] = set()
    for commit in commits:
        if commit.read is not None and commit.read < commit.version - 1:
            found |= {(commit.table, version) for version in range(commit.read + 1, commit.version + 1)}
    return frozenset(found)


def _in_order(commits: Sequence[DeltaCommit]) -> Iterator[DeltaCommit]:
    """Yields commits in an order of time in which the versions of each table ascend, whatever clocks say."""
    waiting: dict[str, list[DeltaCommit]] = {}
    for commit in commits:
        waiting.setdefault(commit.table, []).append(commit)
    for each in waiting.values():
        each.sort(key=lambda commit: commit.version, reverse=True)
    for commit in commits:
        yield waiting[commit.table].pop()


def _transactions(commits: Sequence[DeltaCommit]) -> Iterator[list[DeltaCommit]]:
    """Yields the commits of each transaction, at the place of its last one."""
    groups: dict[str, list[DeltaCommit]] = {}
    for commit in commits:
        key = commit.metadata.get("transaction")
        if isinstance(key, str):
            groups.setdefault(key, []).append(commit)
    for commit in commits:
        key = commit.metadata.get("transaction")
        if not isinstance(key, str):
            yield [commit]
        elif commit is groups[key][-1]:
            yield groups[key]
