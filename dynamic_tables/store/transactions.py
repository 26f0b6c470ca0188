"""Transactions of users: several statements, several Delta commits, all of them in one tick or none.

Delta commits one table at a time, so each commit is stamped with its part number and the number of parts.
Until the last part is committed no tick holds any part, so no refresh sees it. A transaction that fails is
undone; one that a crash cut off is undone by the next process that writes.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dynamic_tables.errors import StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.base_log import Stamp, stamp_of
from dynamic_tables.store.commit_settings import commit_settings
from dynamic_tables.store.cut import Start, unfinished
from dynamic_tables.store.folder import Folder
from dynamic_tables.store.log import TableLog
from dynamic_tables.store.owner import is_gone, this_process
from dynamic_tables.store.spark_errors import store_errors
from dynamic_tables.store.statements import Statement
from dynamic_tables.store.undo import commit_text, inverse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFLICTS = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "Concurrent", "MetadataChangedException")
"""Words in the errors by which Delta refuses a write because of another one that was faster."""

ATTEMPTS = 12
"""How often a statement is run again after another writer was faster, and how often an undo is."""

LONGEST_PAUSE_S = 1.0


@dataclass(slots=True, kw_only=True)
class Transactions:
    """Writes to base tables.

    `session`: its current database maps the names of tables to their folders. `logs`: returns the logs of
    all base tables by name. `ticked`: returns their versions at the newest tick. `run_replace`: runs a
    CREATE OR REPLACE TABLE.
    """

    session: SparkSession
    clock: Clock
    folder: Folder
    logs: Callable[[], Mapping[str, TableLog]]
    ticked: Callable[[], Start]
    run_replace: Callable[[Statement], None]
    owner: str = field(default_factory=this_process)

    def undo_abandoned(self) -> None:
        """Undoes the transactions whose process has ended. Raises StoreError: if one cannot be undone."""
        for stamp in unfinished(self._polled(), self.ticked()):
            if stamp.owner != self.owner and is_gone(stamp.owner, self._last_commit_ms(stamp)):
                self._undo(stamp)

    def end_unfinished(self, *, keep: bool) -> Sequence[int]:
        """Undoes every unfinished transaction, or keeps the parts that were committed; returns their times.

        It is for a process that knows that no other one writes.
        """
        stamps = unfinished(self._polled(), self.ticked())
        for stamp in stamps:
            if keep:
                self._close(stamp)
            else:
                self._undo(stamp)
        return [stamp.timestamp for stamp in stamps]

    def write(self, statements: Sequence[Statement]) -> Mapping[str, int]:
        """Runs checked statements as one transaction; returns the newest version of each table written.

        A statement that meets another writer's commit is run again.
        Raises StoreError: if a statement fails; the statements before it are undone.
        """
        if not statements:
            return {}
        self.undo_abandoned()
        logs = self._polled()
        targets = tuple(dict.fromkeys(statement.target for statement in statements))
        stamp = Stamp(
            transaction=uuid.uuid4().hex,
            timestamp=self.clock.now(),
            part=0,
            parts=len(statements),
            before={target: logs[target].newest.version for target in targets},
            owner=self.owner,
        )
        try:
            for part, statement in enumerate(statements, 1):
                self._run_until_alone(statement, replace(stamp, part=part))
            self._close(stamp)
        except BaseException:
            self._undo_after_failure(stamp)
            raise
        logs = self._polled()
        return {target: self._last_own(logs[target], stamp) for target in targets}

    def write_one(self, name: str, session: SparkSession, write: Callable[[], object]) -> int:
        """Runs a write of one table as a transaction of its own in a session; returns its version."""
        self.undo_abandoned()
        stamp = Stamp(
            transaction=uuid.uuid4().hex,
            timestamp=self.clock.now(),
            part=1,
            parts=1,
            before={name: self._polled()[name].newest.version},
            owner=self.owner,
        )

        def run() -> None:
            with store_errors(name), commit_settings(session, json.dumps(stamp.to_metadata())):
                write()

        self.retried(run)
        return self._last_own(self._polled()[name], stamp)

    def retried(self, write: Callable[[], object]) -> None:
        """Runs a write, again while another writer is faster. Raises StoreError."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                write()
                return
            except StoreError as error:
                if attempt == ATTEMPTS or not any(word in str(error) for word in CONFLICTS):
                    raise
                time.sleep(min(LONGEST_PAUSE_S, 0.02 * 2**attempt))

    def _run_until_alone(self, statement: Statement, stamp: Stamp) -> None:
        self.retried(lambda: self._run(statement, stamp))

    def _run(self, statement: Statement, stamp: Stamp) -> None:
        # A transaction of one part cannot be undone by another process, and needs no fence against it.
        fence = (stamp.transaction, stamp.part) if stamp.parts > 1 else None
        metadata = json.dumps(stamp.to_metadata())
        with store_errors(statement.target), commit_settings(self.session, metadata, fence):
            if statement.columns is None:
                self.session.sql(statement.text)
            else:
                self.run_replace(statement)

    def _close(self, stamp: Stamp) -> None:
        """Commits a closing stamp if the last part is missing: a statement without effect commits nothing.

        Raises StoreError: if another process has undone the transaction meanwhile.
        """
        own = self._own_stamps(stamp)
        if any(known.undone for known in own):
            raise StoreError(
                f"the transaction at {stamp.timestamp} over {', '.join(stamp.before)} was undone by another "
                "process, which held this one for dead; run it again"
            )
        if not own or any(known.part == stamp.parts for known in own):
            return
        name = next(iter(stamp.before))
        metadata = json.dumps(replace(stamp, part=stamp.parts, closing=True).to_metadata())
        fence = (stamp.transaction, stamp.parts)
        with store_errors(name), commit_settings(self.session, metadata, fence):
            empty = self.session.sql(f"SELECT * FROM {SPARK.identifier(name)} WHERE FALSE")
            empty.write.insertInto(name)

    def _undo_after_failure(self, stamp: Stamp) -> None:
        own = self._own_stamps(stamp)
        if own and not any(known.part == stamp.parts for known in own):
            self._undo(stamp)

    def _undo(self, stamp: Stamp) -> None:
        """Takes all commits of a transaction back. Raises StoreError: another writer built on one of them."""
        last = list(stamp.before)[-1]
        for name in stamp.before:
            # The commit to the last table says that the whole transaction is done with.
            part = stamp.parts if name == last else 0
            self._undo_on(name, replace(stamp, part=part, closing=False, undone=True))

    def _undo_on(self, name: str, stamp: Stamp) -> None:
        metadata, fence = json.dumps(stamp.to_metadata()), (stamp.transaction, stamp.parts)
        for _ in range(ATTEMPTS):
            log = self.folder.polled(name)
            after = [c.version for c in log.commits if c.version > stamp.before[name]]
            own = [version for version in after if self._is_of(log, version, stamp)]
            active = self.folder.active(name)
            if active is None:
                raise StoreError(f"{name}: its log was cleaned up; the transaction cannot be undone")
            try:
                actions = inverse(log, own, active)
            except StoreError as error:
                raise StoreError(
                    f"the transaction at {stamp.timestamp} over {', '.join(stamp.before)} is unfinished and "
                    f"cannot be undone: {error}; `account.end_unfinished(keep=True)` keeps what it committed"
                ) from error
            text = commit_text(log, metadata, fence, actions)
            if self.folder.write_commit(name, log.newest.version + 1, text):
                log.poll()
                return
        raise StoreError(f"{name}: other writers committed {ATTEMPTS} times during an undo; try again later")

    def _is_of(self, log: TableLog, version: int, stamp: Stamp) -> bool:
        commit = log.commit(version)
        assert commit is not None
        known = stamp_of(log, commit)
        return known is not None and known.transaction == stamp.transaction

    def _own_stamps(self, stamp: Stamp) -> list[Stamp]:
        logs = self._polled()
        known = (
            stamp_of(logs[name], commit)
            for name, before in stamp.before.items()
            for commit in logs[name].commits
            if commit.version > before
        )
        return [one for one in known if one is not None and one.transaction == stamp.transaction]

    def _last_own(self, log: TableLog, stamp: Stamp) -> int:
        before = stamp.before[log.name]
        own = [c.version for c in log.commits if c.version > before and self._is_of(log, c.version, stamp)]
        return own[-1] if own else before

    def _last_commit_ms(self, stamp: Stamp) -> int:
        logs = self._polled()
        own = (
            commit.in_commit_ms
            for name in stamp.before
            for commit in logs[name].commits
            if self._is_of(logs[name], commit.version, stamp)
        )
        return max(own, default=0)

    def _polled(self) -> Mapping[str, TableLog]:
        logs = self.logs()
        for log in logs.values():
            log.poll()
        return logs
