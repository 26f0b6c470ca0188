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

from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Parsed, Refused
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Draft, DraftEvent, Name, Special

COMMIT = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?(?:\.[0-9a-f-]{36})?\.(?:parquet|json)"
)
FILES = 5_000
"""The most files of a version for which a read of the whole version is written out, file by file."""


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """One commit of one table. `removed` and `added`: paths of data files whose rows changed.

    `frontier`: the version of each source that a refresh has consumed; empty for any other commit.
    `compacted`: files whose rows were only written anew, and the files that hold them since.
    """

    table: str
    version: int
    time: int
    operation: str
    info: Mapping[str, Any]
    metadata: Mapping[str, Any]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    frontier: Mapping[str, int]
    compacted: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def refreshes(self) -> bool:
        """Whether the commit is a refresh, which has read its frontier and its own table."""
        return "refresh" in self.metadata

    @property
    def read(self) -> int | None:
        """The version that the commit has read by a condition that the log does not say, if any."""
        read = self.info.get("readVersion")
        blind = self.info.get("isBlindAppend") is True
        whole = isinstance(read, int) and not isinstance(read, bool)
        return read if whole and not blind and not self.refreshes else None

    @property
    def stated(self) -> int | None:
        """The version that the writer says it has read as a whole, by `dvsReadVersion`, if it does."""
        text = str(self.info.get("dvsReadVersion", ""))
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None

    @property
    def elsewhere(self) -> Mapping[str, int] | None:
        """The versions of other tables that the writer says it has read, by `dvsReads`; None: it does not."""
        try:
            found = json.loads(str(self.info.get("dvsReads")))
        except ValueError:
            return None
        whole = isinstance(found, dict) and all(type(version) is int for version in found.values())
        return {str(name): version for name, version in found.items()} if whole else None

    @property
    def sources(self) -> Mapping[str, int]:
        """The versions of tables that the commit has read as a whole, of other tables or by a refresh."""
        return {**(self.elsewhere or {}), **self.frontier}

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
        says_version = self.read is not None or self.stated is not None
        return blind or nothing or self.refreshes or says_version


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
    """Tells whether all parts of a checkpoint are there, of the version before `first` or a later one."""
    parts: dict[tuple[int, int], set[int]] = {}
    for found in map(CHECKPOINT.fullmatch, names):
        if found is not None and int(found[1]) >= first - 1:
            parts.setdefault((int(found[1]), int(found[3] or 1)), set()).add(int(found[2] or 1))
    return any(len(seen) == count for (_, count), seen in parts.items())


def _commit(table: str, file: Path, version: int) -> DeltaCommit:
    """Returns the commit of a file of the log. Raises HistoryError: it cannot be decoded."""
    info: Mapping[str, Any] = {}
    files: dict[tuple[str, bool], dict[str, None]] = {
        (kind, changes): {} for kind in ("add", "remove") for changes in (True, False)
    }
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.strip():
                continue
            [(kind, body)] = json.loads(line).items()
            if kind == "commitInfo":
                info = body
            elif kind in ("add", "remove"):
                changes = bool(body.get("dataChange"))
                files[kind, changes][str(body["path"])] = None
        metadata = _ours(info.get("userMetadata"))
        return DeltaCommit(
            table=table,
            version=version,
            time=int(info.get("inCommitTimestamp", info.get("timestamp", 0))),
            operation=str(info.get("operation", "")),
            info=info,
            metadata=metadata,
            removed=tuple(files["remove", True]),
            added=tuple(files["add", True]),
            frontier=_frontier(metadata),
            compacted=(tuple(files["remove", False]), tuple(files["add", False])),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise HistoryError(f"commit {version} of {table} cannot be decoded: {error}") from error


def _frontier(metadata: Mapping[str, Any]) -> Mapping[str, int]:
    """Returns the version of each source in the metadata of a refresh; empty for another commit."""
    refresh = metadata.get("refresh")
    sources = refresh["frontier"]["sources"] if isinstance(refresh, Mapping) else {}
    return {str(name): int(each[0]) for name, each in sources.items()}


def _ours(text: object) -> Mapping[str, Any]:
    """Returns the metadata that this project's engine writes; empty for those of other writers."""
    try:
        metadata = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) and metadata.get("dvs") == 1 else {}


@dataclass(slots=True)
class _Tables:
    """Files by table at every version so far.

    `names`: an object for each file. `labels`: the beginning of these names, by table; `counts`: how many
    objects a table has. `gone`: by table the objects of files that were removed; a version set without them
    would say that they were not written yet. `now`: by table and path the objects that a file stands for.
    `at`: the files, and the removed ones, of the versions in `kept`: those that some commit reads.
    `concurrent`: see `_concurrent`. `whole`: the tables whose log begins with version 0. `unread`: why reads
    are missing; the first reason.
    """

    draft: Draft
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    gone: dict[str, list[Name]] = field(default_factory=dict)
    now: dict[str, dict[str, tuple[Name, ...]]] = field(default_factory=dict)
    at: dict[tuple[str, int], tuple[tuple[Name, ...], tuple[Name, ...]]] = field(default_factory=dict)
    unread: str = ""
    kept: frozenset[tuple[str, int]] = frozenset()
    concurrent: frozenset[tuple[str, int]] = frozenset()
    whole: set[str] = field(default_factory=set)

    def object_of(self, table: str, path: str) -> str:
        """Returns the object of a file."""
        if table not in self.labels:
            label = re.sub(r"[^A-Za-z0-9]", "_", table)
            label = label if label[:1].isalpha() else f"t_{label}"
            in_use, number = set(self.labels.values()), len(self.labels)
            candidates = (label, *(f"{label}_{number + more}" for more in range(number + 1)))
            # One of them is free, because fewer labels are in use.
            self.labels[table] = next(each for each in candidates if each not in in_use)
        label = self.labels[table]
        if (table, path) not in self.names:
            self.counts[table] += 1
            self.names[table, path] = f"{label}_f{self.counts[table]}"
        return self.names[table, path]

    def reads(self, commit: DeltaCommit, txn: int) -> None:
        """Adds what a commit has read, as far as the log says it."""
        for source, version in commit.sources.items():
            self._version(txn, source, version, certain=True)
        if commit.stated is not None:
            self._version(txn, commit.table, commit.stated, certain=True)
        elif commit.read is not None and (commit.table, commit.version) in self.concurrent:
            self._version(txn, commit.table, commit.read, certain=False)
        if not commit.states_reads and not self.unread:
            which = f"commit {commit.version} of {commit.table} ({commit.operation})"
            self.unread = f"{which} does not say what it has read"

    def _version(self, txn: int, table: str, version: int, *, certain: bool) -> None:
        """Adds the read of a version. `certain`: all its rows were read; else nobody knows which."""
        state = self.at.get((table, version))
        if state is None or table not in self.whole:
            self.unread = self.unread or f"the files of version {version} of {table} are not all in its log"
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
        self._compact(commit, state)
        for path in commit.removed:
            for name in self._files(commit, state, path):
                if not commit.overwrites:
                    self.draft.events.append(DraftEvent("r", txn, (name,)))
                if path not in commit.added:
                    dead = Name(name.obj, Special.DEAD)
                    self.draft.events.append(DraftEvent("w", txn, (dead,)))
                    self.gone.setdefault(commit.table, []).append(dead)
                    # RESTORE may add a file again: then it is another object.
                    self.names.pop((commit.table, path), None)
        for path in commit.added:
            name = Name(self.object_of(commit.table, path), txn)
            state[path] = (name,)
            shown = re.sub(r"[()\[\]:;,|]", " ", path[:40])
            self.draft.events.append(DraftEvent("w", txn, (name,), value=shown))
        if (commit.table, commit.version) in self.kept:
            self.at[commit.table, commit.version] = (
                tuple(name for names in state.values() for name in names),
                tuple(self.gone.get(commit.table, ())),
            )

    def _files(self, commit: DeltaCommit, state: dict[str, tuple[Name, ...]], path: str) -> tuple[Name, ...]:
        """Takes a file out of a table; returns the objects that it stands for."""
        if path not in state and commit.table in self.whole:
            raise HistoryError(
                f"commit {commit.version} of {commit.table} removes {path}, which is not there: "
                "another commit has removed it"
            )
        return state.pop(path, (Name(self.object_of(commit.table, path), 0),))

    def _compact(self, commit: DeltaCommit, state: dict[str, tuple[Name, ...]]) -> None:
        """Lets a file that holds the rows of others stand for their objects."""
        removed, added = commit.compacted
        if not added:
            return
        names = tuple(name for path in removed for name in self._files(commit, state, path))
        state.update(dict.fromkeys(added, ()))
        state[added[0]] = names
        if len(added) > 1:
            which = f"commit {commit.version} of {commit.table}"
            self.unread = self.unread or f"{which} ({commit.operation}) wrote rows anew into several files"


def read(folders: Sequence[Path], name: str) -> Parsed | Refused:
    """Returns the history of Delta tables, or why there is none. Tables are named by their folders."""
    try:
        names = [folder.name for folder in folders]
        for each in names:
            if names.count(each) > 1:
                raise HistoryError(f"two tables are named {each}; give each folder another name")
        commits = list(_in_order([list(commits_of(folder)) for folder in folders]))
        concurrent = _concurrent(commits)
        kept = {(table, version) for commit in commits for table, version in commit.sources.items()}
        kept |= {
            (commit.table, commit.read)
            for commit in commits
            if commit.read is not None and (commit.table, commit.version) in concurrent
        }
        kept |= {(commit.table, commit.stated) for commit in commits if commit.stated is not None}
        draft = Draft(name=name)
        tables = _Tables(draft, kept=frozenset(kept), concurrent=concurrent)
        numbers: dict[str, int] = {}
        commits_left = Counter(_transaction(commit) for commit in commits)
        for commit in commits:
            key = _transaction(commit)
            txn = numbers.setdefault(key, len(numbers) + 1)
            tables.reads(commit, txn)
            tables.writes(commit, txn)
            commits_left[key] -= 1
            if not commits_left[key]:
                draft.events.append(DraftEvent("c", txn))
        unread = tables.unread or _other_tables(commits)
        return Parsed(well_formed(draft), 1, unread)
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


def _other_tables(commits: Sequence[DeltaCommit]) -> str:
    """Returns why verdicts on several tables are open: a log does not say what its writer read elsewhere."""
    if len({commit.table for commit in commits}) == 1:
        return ""
    for commit in commits:
        silent = not commit.frontier and commit.elsewhere is None
        if commit.version and (commit.removed or commit.added) and silent:
            which = f"commit {commit.version} of {commit.table} ({commit.operation})"
            return f"{which} does not say what it has read of the other tables"
    return ""


def _in_order(tables: Sequence[Sequence[DeltaCommit]]) -> Iterator[DeltaCommit]:
    """Yields commits by time, but versions of a table ascend, and sources come before their refreshes."""
    following = {commits[0].table: list(reversed(commits)) for commits in tables if commits}

    def due(table: str, version: int) -> Iterator[DeltaCommit]:
        while following.get(table) and following[table][-1].version <= version:
            commit = following[table].pop()
            for source, needed in commit.sources.items():
                if source != table:
                    yield from due(source, needed)
            yield commit

    by_time = sorted(
        (commit for commits in tables for commit in commits),
        key=lambda commit: (commit.time, bool(commit.frontier), commit.table, commit.version),
    )
    for commit in by_time:
        yield from due(commit.table, commit.version)


def _transaction(commit: DeltaCommit) -> str:
    """Returns what tells a transaction from others: its id in the metadata, else the commit itself."""
    key = commit.metadata.get("transaction")
    return f"id {key}" if isinstance(key, str) else f"{commit.table} {commit.version}"
