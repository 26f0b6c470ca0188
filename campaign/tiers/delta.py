"""The `delta` tier: the whole engine on real Delta tables, one folder per scenario."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.engine import Engine
from campaign.tiers.interrupting import interruptible
from campaign.tiers.recording import FreshWanted, Recorder
from campaign.tiers.spark_dml import statements
from dynamic_tables import definition as engine
from dynamic_tables.account import Account
from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.session import Settings, open_session
from dynamic_tables.session.dead import answers
from dynamic_tables.store.delta import DeltaStore
from oracle.delayed_view import DelayedView
from oracle.delta_log import commit_metadata
from oracle.delta_reader import read_rows
from workload.scenario import Commit, Scenario
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.trace import Action, Refreshed, SourceWritten, StoredRow, Trace
from workload.types import STRING, Row, parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTIES: Mapping[str, str] = {"delta.checkpointInterval": "1000"}
"""A scenario has tens of commits: checkpoints would cost more than they save."""

BEFORE_ALL = -1
"""When base tables are created: no scenario's step is that early."""

LIMIT = 1800.0
"""Seconds that one scenario may take: a refresh takes a second, and a long scenario has hundreds."""

WRITTEN_ANEW = (Action.INITIALIZE, Action.REINITIALIZE, Action.FULL)


@dataclass(slots=True)
class DeltaPlatform:
    """Base tables written with Spark's SQL, everything read back with delta-rs.

    `written`: each base table's newest version after each commit, read from the log and not asked of the
    engine: an engine that overlooks a version must not make the judge overlook it.
    """

    account: Account
    path: Path
    tables: Mapping[str, Table]
    written: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def commit(self, step: int, commit: Commit) -> Sequence[SourceWritten]:
        """Applies a transaction. Raises StoreError where a statement fails."""
        names = tuple(dict.fromkeys(dml.table for dml in commit.statements))
        texts = chain.from_iterable(
            statements(dml, self.tables[dml.table], self._version_at) for dml in commit.statements
        )
        self.account.execute(*texts)
        return [self._written(step, commit.at, self.tables[name]) for name in names]

    def stored(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """A version's rows."""
        columns = tuple(Column(name, parse_type(str(type_))) for name, type_ in table.columns)
        if not table.incremental:
            return tuple(StoredRow(None, row) for row in read_rows(self.path / table.name, version, columns))
        rows = read_rows(self.path / table.name, version, (*columns, Column(ROW_ID, STRING)))
        return tuple(StoredRow(None if row[-1] is None else str(row[-1]), row[:-1]) for row in rows)

    def newest(self, name: str) -> int | None:
        """The last version in the log."""
        path = self.path / name
        return commit_metadata(path)[-1].version if (path / "_delta_log").is_dir() else None

    def effective(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """The action that Delta's own record of the commit shows.

        A MERGE is incremental, an overwrite is one of the three that write anew; a commit that neither
        adds a row nor takes a file out has left the contents alone, as NO_DATA and an INCREMENTAL
        refresh with nothing to do both should. Anything else is none of what was reported, so FULL.
        """
        actions = self._actions(table.name, version)
        info = next(body for kind, body in actions if kind == "commitInfo")
        if info["operation"] == "MERGE":
            return Action.INCREMENTAL
        if any(kind == "remove" for kind, _ in actions) or _rows_added(actions):
            return reported if _is_overwrite(info) and reported in WRITTEN_ANEW else Action.FULL
        if _is_overwrite(info):
            return reported if reported in WRITTEN_ANEW else Action.FULL
        return reported if reported in (Action.NO_DATA, Action.INCREMENTAL) else Action.NO_DATA

    def _written(self, step: int, at: int, table: Table) -> SourceWritten:
        version = commit_metadata(self.path / table.name)[-1].version
        self.written.setdefault(table.name, []).append((version, at))
        rows = read_rows(self.path / table.name, version, table.columns)
        return SourceWritten(step, table.name, version, table.columns, rows)

    def _version_at(self, name: str, to: int) -> int:
        return max((version for version, at in self.written.get(name, ()) if at <= to), default=0)

    def _actions(self, name: str, version: int) -> list[tuple[str, dict[str, object]]]:
        log = self.path / name / "_delta_log" / f"{version:020d}.json"
        lines = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
        return [(kind, body) for line in lines for kind, body in line.items()]


def _is_overwrite(info: Mapping[str, object]) -> bool:
    parameters = info["operationParameters"]
    return isinstance(parameters, dict) and parameters.get("mode") == "Overwrite"


def _rows_added(actions: list[tuple[str, dict[str, object]]]) -> bool:
    stats = (json.loads(str(body["stats"])) for kind, body in actions if kind == "add")
    return any(stat["numRecords"] > 0 for stat in stats)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTier:
    """Real Delta tables below a folder, by one Spark session that several threads may share."""

    spark: SparkSession
    folder: Path
    keep: bool = False
    properties: Mapping[str, str] = field(default_factory=lambda: PROPERTIES)

    @staticmethod
    def start(settings: Settings = Settings.TUNED) -> DeltaTier:
        """The tier on a session of its own, in a temporary folder that goes with the process."""
        folder = Path(tempfile.mkdtemp(prefix="dvs-delta-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return DeltaTier(spark=open_session(settings=settings), folder=folder)

    def alive(self) -> bool:
        """Whether the JVM still answers."""
        return answers(self.spark.sparkContext)

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """The trace of a well-formed scenario, in a folder of its own."""
        return run(
            scenario,
            spark=self.spark,
            path=self.folder / uuid.uuid4().hex,
            rules=engine.rules,
            protocol=engine.protocol,
            fresh_wanted=fresh_wanted,
            keep=self.keep,
            properties=self.properties,
        )

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> tuple[Row, ...]:
        """Spark on the scenario's own text over the oracle's rows: no plan, no frontier, no Delta."""
        text = truth.sql(refreshed.table, refreshed.timestamp, Dialect.SPARK)
        return tuple(tuple(row) for row in self.spark.newSession().sql(text).collect())


def run(
    scenario: Scenario,
    *,
    spark: SparkSession,
    path: Path,
    rules: Rules = RULES,
    protocol: RefreshProtocol = PROTOCOL,
    fresh_wanted: FreshWanted,
    keep: bool = False,
    properties: Mapping[str, str] = PROPERTIES,
) -> Trace:
    """Runs a well-formed scenario in `path`, a folder that does not exist yet; it is removed unless `keep`.

    Where `protocol` has the validations off, MERGE does not refuse either. Runs of several threads may
    share `spark`. Raises StoreError where the DML fails, CorruptTable where the platform does, HungQuery
    where the time is up.
    """
    path.mkdir(parents=True)
    clock = SimulatedClock(BEFORE_ALL)
    store = DeltaStore(str(path), spark, clock, strict_merge=protocol.validations, properties=properties)
    try:
        with interruptible(spark, LIMIT):
            account = Account(store=store, clock=clock, rules=rules, protocol=protocol)
            for table in scenario.tables:
                account.create_base_table(
                    table.name, [(column.name, str(column.type)) for column in table.columns]
                )
            platform = DeltaPlatform(account, path, {table.name: table for table in scenario.tables})
            return Recorder(account, clock, platform, fresh_wanted).run(scenario)
    finally:
        store.close()
        if not keep:
            shutil.rmtree(path, ignore_errors=True)
