"""The logs of base tables and the ledger of their ticks, in memory, read by the engine's own code.

Rows are elsewhere (`Applier`); here is only what the engine decides data timestamps by. Each process has its
own view, as processes on one folder have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.log import TableLog, TableMetadata
from dynamic_tables.store.log.own_commit import Actions
from dynamic_tables.store.ticks.base_log import Stamp
from dynamic_tables.store.ticks.cut import Start
from dynamic_tables.store.ticks.data_time import DataTime
from dynamic_tables.store.ticks.ledger import Ledger
from dynamic_tables.store.ticks.version_rules import VersionRules
from dynamic_tables.versions import SourceVersion

ACCOUNT = "account"
"""The folder of the account among the files in memory."""


class FilesInMemory(Files):
    """Text files in a dictionary, by their path."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def folders(self, folder: str) -> Sequence[str]:
        return [name for name in self._below(folder) if f"{folder}/{name}" not in self.texts]

    def files(self, folder: str) -> Sequence[str]:
        return [name for name in self._below(folder) if f"{folder}/{name}" in self.texts]

    def read(self, file: str) -> str | None:
        return self.texts.get(file)

    def read_bytes(self, file: str) -> bytes:
        return self.texts[file].encode()

    def exists(self, path: str) -> bool:
        return path in self.texts or bool(self._below(path))

    def put(self, file: str, text: str) -> bool:
        return self.texts.setdefault(file, text) is text

    def rename(self, folder: str, other: str, *, over: bool = False) -> None:
        if not over and self.exists(other):
            raise FileExistsError(f"{other} is there already")
        start, end = f"{folder}/", f"{other}/"
        kept = {path: text for path, text in self.texts.items() if not path.startswith(end)}
        self.texts = {
            end + path[len(start) :] if path.startswith(start) else path: text for path, text in kept.items()
        }

    def remove(self, folder: str) -> None:
        self.texts = {path: text for path, text in self.texts.items() if not path.startswith(f"{folder}/")}

    def _below(self, folder: str) -> list[str]:
        start = f"{folder}/"
        return list(dict.fromkeys(p[len(start) :].split("/")[0] for p in self.texts if p.startswith(start)))


@dataclass(slots=True, eq=False, weakref_slot=True)
class BaseLogs:
    """What all processes share: the files, and for each base table the number of its versions."""

    files: FilesInMemory = field(default_factory=FilesInMemory)
    versions: dict[str, int] = field(default_factory=dict)

    def commit(
        self,
        name: str,
        actions: Actions,
        *,
        at: int,
        stamp: Stamp | None = None,
        identity: str | None = None,
    ) -> None:
        """Adds a version to a table's log. `at`: what the writer's clock shows. `identity`: if it is new.

        Delta's log has milliseconds there; in memory they stand for logical microseconds.
        """
        info: dict[str, object] = {"operation": "WRITE", "inCommitTimestamp": at}
        if stamp is not None:
            info["userMetadata"] = json.dumps(stamp.to_metadata())
        lines: list[Mapping[str, object]] = [{"commitInfo": info}]
        if identity is not None:
            lines.append({"metaData": {"id": identity, "schemaString": "{}", "configuration": {}}})
        self.put(name, "".join(f"{json.dumps(line)}\n" for line in (*lines, *actions)))

    def put(self, name: str, text: str) -> None:
        """Adds a version to a table's log, as the text of its commit."""
        version = self.versions.get(name, 0)
        self.versions[name] = version + 1
        self.files.put(f"{ACCOUNT}/{name}/_delta_log/{version:020d}.json", text)

    def process(
        self, clock: Clock, rules: VersionRules, undo_abandoned: Callable[[], None] = lambda: None
    ) -> LogProcess:
        """Returns the view of a process that begins now."""
        return LogProcess(self, clock, rules, undo_abandoned)


class LogProcess:
    """One process: what it has read of the logs and of the ledger, and its clock.

    `known`: the logs by table. `read`: by table the lengths of log and ledger, and its versions at these.
    """

    def __init__(
        self, shared: BaseLogs, clock: Clock, rules: VersionRules, undo_abandoned: Callable[[], None]
    ) -> None:
        self.shared = shared
        self.rules = rules
        self.known: dict[str, TableLog] = {}
        self.read: dict[str, tuple[tuple[int, int], tuple[SourceVersion, ...]]] = {}
        self.ledger = Ledger(ACCOUNT, shared.files)
        self.time = DataTime(
            clock=clock, ledger=self.ledger, logs=self.logs, undo_abandoned=undo_abandoned, rules=rules
        )

    def logs(self) -> Mapping[str, TableLog]:
        """Returns the logs of all base tables, not read to their ends yet."""
        for name in self.shared.versions:
            if name not in self.known:
                folder = f"{ACCOUNT}/{name}"
                self.known[name] = TableLog(name, folder, self.shared.files, _no_metadata)
        return self.known

    def polled(self, name: str) -> TableLog:
        """Returns the log of a table as it is now."""
        log = self.logs()[name]
        log.poll()
        return log

    def versions(self, name: str) -> tuple[SourceVersion, ...]:
        """Returns the versions of a base table that ticks name, oldest first."""
        log = self.polled(name)
        self.ledger.poll()
        state = (len(log.commits), len(self.ledger.ticks))
        if name not in self.read or self.read[name][0] != state:
            self.read[name] = (state, self.rules.at_ticks(log, self.ledger.ticks))
        return self.read[name][1]

    def ticked(self) -> Start:
        """Returns the versions of the newest tick."""
        self.ledger.poll()
        return self.ledger.vector

    def active(self, name: str) -> ActiveFiles:
        """Returns the data files of a table's newest version."""
        files = ActiveFiles(self.polled(name))
        files.update()
        return files


def _no_metadata(folder: str, version: int) -> TableMetadata:
    raise AssertionError(f"the log of {folder} begins with version 0")
