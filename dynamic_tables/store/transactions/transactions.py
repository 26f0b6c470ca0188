"""Transactions of users: several statements, several Delta commits, all of them in one tick or none.

Delta commits one table at a time, so each commit is stamped with its part number and the number of parts.
Until the last part is committed no tick holds any part, so no refresh sees it (`ticks.cut`). A transaction
that fails is undone; one that a crash cut off is undone by the next process that writes or refreshes. A
reader who reads the Delta files themselves sees each commit.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dynamic_tables.errors import StoreError, WriteConflict
from dynamic_tables.moment import moment
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.names.statements import Statement, shown
from dynamic_tables.store.spark.commit_settings import commit_settings
from dynamic_tables.store.spark.spark_errors import store_errors
from dynamic_tables.store.ticks.base_log import Stamp, stamp_of
from dynamic_tables.store.transactions.undoing import Undoing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 12
"""How often a statement is run again after another writer was faster."""

LONGEST_PAUSE_S = 1.0
"""The longest pause before a statement is run again; pauses double up to it, about 7 seconds in all."""

MATERIALIZE = "spark.databricks.delta.merge.materializeSource"
"""Delta's setting by which MERGE stores the rows of its source; see `_computed_once`."""


@dataclass(slots=True, kw_only=True)
class Transactions:
    """Writes to base tables.

    `session`: its current database maps the names of tables to their folders. `undoing`: takes back what
    failed or was abandoned. `run_replace`: runs a CREATE OR REPLACE TABLE.
    """

    session: SparkSession
    clock: Clock
    undoing: Undoing
    run_replace: Callable[[Statement], None]

    def end_unfinished(self, *, keep: bool) -> Sequence[int]:
        """Undoes every unfinished transaction, or keeps the parts that were committed; returns their times.

        It is for a process that knows that no other one writes.
        """
        stamps = self.undoing.unfinished()
        for stamp in stamps:
            if keep:
                self._close(stamp)
            else:
                self.undoing.undo(stamp)
        return [stamp.timestamp for stamp in stamps]

    def write(self, statements: Sequence[Statement]) -> Mapping[str, int]:
        """Runs checked statements as one transaction; returns the newest version of each table written.

        A statement that meets another writer's commit is run again.
        Raises StoreError: if a statement fails; the statements before it are undone.
        """
        if not statements:
            return {}
        self.undoing.undo_abandoned()
        # One statement is one commit, which Delta makes whole; several may have to be undone.
        if len(statements) > 1:
            self.undoing.ensure_possible(dict.fromkeys(statement.target for statement in statements))
        stamp = self.begin(dict.fromkeys(statement.target for statement in statements), len(statements))
        try:
            for part, statement in enumerate(statements, 1):
                self.run_part(part, statement, stamp)
            self._close(stamp)
        except BaseException:
            # Also after Ctrl-C: half of a transaction must not stay.
            self._undo_after_failure(stamp)
            raise
        logs = self.undoing.polled()
        return {target: self._last_own(logs[target], stamp) for target in stamp.before}

    def begin(self, targets: Iterable[str], parts: int) -> Stamp:
        """Returns the stamp of a new transaction over some tables, of which nothing is committed yet."""
        logs = self.undoing.polled()
        return Stamp(
            transaction=uuid.uuid4().hex,
            timestamp=self.clock.now(),
            part=0,
            parts=parts,
            before={target: logs[target].newest.version for target in targets},
            owner=self.undoing.owner,
            account=self.undoing.account(),
        )

    def run_part(self, part: int, statement: Statement, stamp: Stamp) -> None:
        """Commits one statement of a transaction, again while another writer is faster. Raises StoreError."""
        numbered = replace(stamp, part=part)
        self.retried(lambda: self._run(statement, numbered))

    def write_one(self, name: str, session: SparkSession, write: Callable[[], object]) -> int:
        """Runs a write of one table as a transaction of its own in a session; returns its version."""
        self.undoing.undo_abandoned()
        stamp = replace(self.begin([name], 1), part=1)

        def run() -> None:
            with store_errors(name), commit_settings(session, json.dumps(stamp.to_metadata())):
                write()

        self.retried(run)
        return self._last_own(self.undoing.polled()[name], stamp)

    def retried(self, write: Callable[[], object]) -> None:
        """Runs a write, again while another writer is faster. Raises StoreError."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                write()
                return
            except WriteConflict:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(min(LONGEST_PAUSE_S, 0.02 * 2**attempt))

    def _run(self, statement: Statement, stamp: Stamp) -> None:
        """Runs a statement once, as the commit of one part, with its stamp and its fence."""
        # A transaction of one part cannot be undone by another process, and needs no fence against it.
        fence = (stamp.transaction, stamp.part) if stamp.parts > 1 else None
        metadata = json.dumps(stamp.to_metadata())
        place = f"statement {stamp.part} of {stamp.parts}, " if stamp.parts > 1 else ""
        named = f"{statement.target}: {place}{shown(statement.text)}"
        with (
            store_errors(named),
            commit_settings(self.session, metadata, fence),
            _computed_once(self.session),
        ):
            if statement.columns is None:
                self.session.sql(statement.text)
            else:
                self.run_replace(statement)

    def _close(self, stamp: Stamp) -> None:
        """Commits an empty part with a closing stamp if the last part is missing.

        It is missing if the last statement changed no row: Delta then makes no commit, and the transaction
        would look unfinished. If no statement changed a row, there is nothing to close.

        Raises StoreError: if another process has undone the transaction meanwhile.
        """
        own = self._own_stamps(stamp)
        if any(each.undone for each in own):
            raise StoreError(
                f"the transaction at {moment(stamp.timestamp)} over {', '.join(stamp.before)} was undone by "
                "another process, which held this one for dead; run it again"
            )
        if not own or any(each.part == stamp.parts for each in own):
            return
        name = next(iter(stamp.before))
        metadata = json.dumps(replace(stamp, part=stamp.parts, closing=True).to_metadata())
        fence = (stamp.transaction, stamp.parts)
        with store_errors(name), commit_settings(self.session, metadata, fence):
            empty = self.session.sql(f"SELECT * FROM {SPARK.identifier(name)} WHERE FALSE")
            empty.write.insertInto(name)

    def _undo_after_failure(self, stamp: Stamp) -> None:
        """Undoes what a transaction committed, unless its last part is committed or no part is."""
        own = self._own_stamps(stamp)
        if own and not any(each.part == stamp.parts for each in own):
            self.undoing.undo(stamp)

    def _own_stamps(self, stamp: Stamp) -> list[Stamp]:
        """Returns the stamps of all commits of a transaction so far."""
        logs = self.undoing.polled()
        stamps = (
            stamp_of(logs[name], commit)
            for name, before in stamp.before.items()
            for commit in logs[name].commits
            if commit.version > before
        )
        return [one for one in stamps if one is not None and one.transaction == stamp.transaction]

    def _last_own(self, log: TableLog, stamp: Stamp) -> int:
        """Returns the newest version of a table that a transaction wrote; the one before it if none."""
        before = stamp.before[log.name]
        own = [
            c.version for c in log.commits if c.version > before and self.undoing.is_of(log, c.version, stamp)
        ]
        return own[-1] if own else before


@contextmanager
def _computed_once(session: SparkSession) -> Iterator[None]:
    """Opens a block in which MERGE computes its source once.

    Delta reads the source twice, first to find the files, then for the rows.

    Without this, a source with CURRENT_TIMESTAMP, which is deterministic to Spark, would be two sets of rows.
    """
    session.conf.set(MATERIALIZE, "all")
    try:
        yield
    finally:
        session.conf.unset(MATERIALIZE)
