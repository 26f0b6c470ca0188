"""The data files of a table's newest version, read from the whole of its Delta log.

So the engine knows which files to read or to rewrite without Delta's replay of the log for each query. It is
possible only while the log holds every commit from version 0 on; after log cleanup Delta's checkpoints are
needed, and Delta is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.touched import AddAction, adds_again, as_added


@dataclass(slots=True)
class ActiveFiles:
    """The files by path, each with the action that added it; kept up to date by `update`.

    `version`: the version up to which the log has been read.
    """

    log: TableLog
    table_id: str = ""
    version: int = -1
    files: dict[str, AddAction] = field(default_factory=dict)

    def at(self, version: int) -> tuple[AddAction, ...] | None:
        """Returns the files of a version; None if the log does not hold all that is needed."""
        if not self.update():
            return None
        # Backwards from the newest version: each later commit is undone, its `add`s first.
        files = dict(self.files)
        for later in range(self.version, version, -1):
            actions = self.log.actions(later)
            if adds_again(actions):
                # Such an `add` replaces that of an earlier commit, which is not known here.
                return None
            for action in actions:
                if "add" in action:
                    files.pop(action["add"]["path"], None)
            for action in actions:
                if "remove" in action:
                    files[action["remove"]["path"]] = as_added(action["remove"])
        return tuple(files.values())

    def update(self) -> bool:
        """Reads the commits that are new in the log; False if the log does not tell the files.

        It does not where log cleanup has removed a commit, or where a commit removed or added a file in
        another state than that in the table.
        """
        # Another table took the place of this one, under the same path.
        if self.table_id != self.log.newest.table.id:
            self.table_id, self.version = self.log.newest.table.id, -1
            self.files.clear()
        if self.log.commit(self.version + 1) is None and self.version < self.log.newest.version:
            return False
        for version in range(self.version + 1, self.log.newest.version + 1):
            commit = self.log.commit(version)
            if commit is None or not commit.meant:
                return False
            try:
                actions = self.log.actions(version)
            except CorruptTable:
                return False
            for action in actions:
                if "remove" in action:
                    self.files.pop(action["remove"]["path"], None)
            for action in actions:
                if "add" in action:
                    self.files[action["add"]["path"]] = action["add"]
            self.version = version
        return True
