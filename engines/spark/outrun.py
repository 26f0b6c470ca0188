"""A refresh of another process that began from the same contents and comes too late: it must be refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dynamic_tables.definition import DynamicTable
from dynamic_tables.errors import StoreError
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import Actions, OwnCommit, OwnCommitter, writable
from dynamic_tables.store.port import Action
from engines.adapter import RefreshFailed


@dataclass(slots=True)
class Outrun:
    """The process that comes too late, with a store of its own.

    `open_`: opens the store with a way to write commits. `own_commit`: how the engine writes them. `faster`:
    the refresh that is to commit first.
    """

    open_: Callable[[OwnCommitter], DeltaStore]
    own_commit: OwnCommitter
    store: DeltaStore | None = None
    faster: Callable[[], None] | None = None

    def run(self, table: DynamicTable, timestamp: int, refresh: Callable[[], None]) -> None:
        """Runs `refresh`, which commits while the other process does: just before its file is written.

        Without a first refresh or with nothing to do it is run alone. Raises RefreshFailed: both refreshes
        were committed, so the second one has left out an interval.
        """
        if self.store is None:
            self.store = self.open_(self._late)
        store = self.store
        store.begin()
        store.definitions()[table.name]  # looks whether the table was made anew
        refreshes = store.refreshes(table, edited=True)
        if (
            not refreshes
            or refreshes[-1].frontier.timestamp >= timestamp
            or not writable(store.folder.log(table.name))
        ):
            refresh()
            return
        # One microsecond later, so that only the fence can refuse it.
        frontier = replace(refreshes[-1].frontier, timestamp=timestamp + 1)
        record = replace(refreshes[-1], action=Action.NO_DATA, changed=False, frontier=frontier)
        self.faster = refresh
        try:
            store.touch(table, record)
        except StoreError:
            return
        raise RefreshFailed(f"two refreshes of {table.name} that began from the same contents were committed")

    def _late(
        self,
        log: TableLog,
        own: OwnCommit,
        *,
        actions: Callable[[], Actions],
        check: Callable[[], None],
        write: Callable[[int, str], bool],
    ) -> int:
        """Commits as `own_commit` does, but runs `faster` just before the file of the commit is written."""

        def late(version: int, text: str) -> bool:
            faster, self.faster = self.faster, None
            if faster is not None:
                faster()
            return write(version, text)

        return self.own_commit(log, own, actions=actions, check=check, write=late)
