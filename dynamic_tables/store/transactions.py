"""Transactions of users: several statements, several Delta commits, one commit timestamp.

Delta commits one table at a time, so each commit is stamped with its part number and the number of parts. As
long as the last part is missing, no version at or after the transaction's timestamp can be read. A
transaction that a crash cut off is rolled back.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dynamic_tables.errors import StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.base_log import Stamp, unfinished, versions
from dynamic_tables.store.commit_settings import commit_settings
from dynamic_tables.store.log import TableLog
from dynamic_tables.store.spark_errors import store_errors
from dynamic_tables.store.statements import Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 5.0
"""How long a write waits for a wall clock that is behind the commit of another writer."""


@dataclass(slots=True, kw_only=True)
class Transactions:
    """Writes to base tables.

    `session`: its current database maps the names of tables to their folders. `logs`: returns the logs of
    all base tables by name. `run_replace`: runs a CREATE OR REPLACE TABLE.
    """

    session: SparkSession
    clock: Clock
    logs: Callable[[], Mapping[str, TableLog]]
    run_replace: Callable[[Statement], None]

    def ensure_finished(self) -> None:
        """Raises StoreError while the last part of a transaction is missing."""
        stamp = unfinished(self._polled())
        if stamp is not None:
            tables = ", ".join(stamp.before)
            raise StoreError(
                f"the transaction at {stamp.timestamp} over {tables} is unfinished: part {stamp.part} of "
                f"{stamp.parts} is its last; roll it back, or wait if it is still running"
            )

    def rollback_unfinished(self) -> int | None:
        """Rolls an unfinished transaction back and returns its timestamp; None if there is none."""
        stamp = unfinished(self._polled())
        if stamp is None:
            return None
        self._rollback(stamp)
        return stamp.timestamp

    def write(self, statements: Sequence[Statement]) -> Mapping[str, int]:
        """Runs checked statements as one transaction; returns the newest version of each table written.

        Raises StoreError: if a statement fails; the statements before it are rolled back.
        """
        if not statements:
            return {}
        logs = self._polled()
        self.ensure_finished()
        targets = tuple(dict.fromkeys(statement.target for statement in statements))
        stamp = Stamp(
            transaction=uuid.uuid4().hex,
            timestamp=self._timestamp(logs),
            part=0,
            parts=len(statements),
            before={target: logs[target].newest.version for target in targets},
        )
        try:
            for part, statement in enumerate(statements, 1):
                self._run(statement, replace(stamp, part=part))
        except StoreError:
            self._polled()
            if any(logs[name].newest.version > old for name, old in stamp.before.items()):
                self._rollback(stamp)
            raise
        self._polled()
        self._close(stamp)
        return {target: logs[target].newest.version for target in targets}

    def _polled(self) -> Mapping[str, TableLog]:
        logs = self.logs()
        for log in logs.values():
            log.poll()
        return logs

    def _timestamp(self, logs: Mapping[str, TableLog]) -> int:
        last = max(versions(log, simulated=self.clock.simulated)[-1].timestamp for log in logs.values())
        start = time.monotonic()
        while (now := self.clock.now()) < last:
            if self.clock.simulated or time.monotonic() - start > PATIENCE_S:
                raise StoreError(f"the clock says {now}, but there is a commit of {last}; set it forward")
            time.sleep(0.001)
        return now

    def _run(self, statement: Statement, stamp: Stamp) -> None:
        with store_errors(statement.target), commit_settings(self.session, json.dumps(stamp.to_metadata())):
            if statement.columns is None:
                self.session.sql(statement.text)
            else:
                self.run_replace(statement)

    def _close(self, stamp: Stamp) -> None:
        """Commits a closing stamp if the last part is missing: a statement without effect commits nothing."""
        if unfinished(self._polled()) is None:
            return
        name = next(iter(stamp.before))
        metadata = json.dumps(replace(stamp, part=stamp.parts, closing=True).to_metadata())
        with store_errors(name), commit_settings(self.session, metadata, (stamp.transaction, 1)):
            empty = self.session.sql(f"SELECT * FROM {SPARK.identifier(name)} WHERE FALSE")
            empty.write.insertInto(name)

    def _rollback(self, stamp: Stamp) -> None:
        logs = self._polled()
        for name, version in stamp.before.items():
            if logs[name].newest.version > version:
                metadata = json.dumps(replace(stamp, part=0).to_metadata())
                with store_errors(name), commit_settings(self.session, metadata):
                    self.session.sql(f"RESTORE TABLE {SPARK.identifier(name)} TO VERSION AS OF {version}")
        self._close(stamp)
