"""The `spark` tier: the engine's plans and refresh protocol on real Spark, over snapshots in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from campaign.engine import Engine
from campaign.tiers.applier import Applier, engine_columns
from campaign.tiers.database import own_database
from campaign.tiers.interrupting import interruptible
from campaign.tiers.memory_platform import MemoryPlatform
from campaign.tiers.recording import FreshWanted, Recorder
from campaign.tiers.spark_store import SparkStore
from campaign.tiers.watchdog import LIMIT
from dynamic_tables.account import Account
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.refresh.frontier import SourceVersion
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.session import Settings, open_session
from dynamic_tables.session.dead import answers
from dynamic_tables.store.delta import copy_of
from oracle.delayed_view import DelayedView
from workload.scenario import Scenario
from workload.schema import Table
from workload.sql import Dialect
from workload.trace import Refreshed, Trace
from workload.types import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkTier:
    """One Spark that several threads may share; each scenario has a session of its own."""

    spark: SparkSession

    @staticmethod
    def start(settings: Settings = Settings.TUNED) -> SparkTier:
        """The tier on this process's Spark."""
        return SparkTier(open_session(settings=settings))

    def alive(self) -> bool:
        """Whether the JVM still answers."""
        return answers(self.spark.sparkContext)

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """The trace of a well-formed scenario."""
        return run(
            scenario,
            spark=self.spark,
            rules=engine.rules,
            protocol=engine.protocol,
            fresh_wanted=fresh_wanted,
        )

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        """Spark on the scenario's own text over the oracle's rows: no plan and no frontier of the engine."""
        text = truth.sql(refreshed.table, refreshed.timestamp, Dialect.SPARK)
        return tuple(tuple(row) for row in copy_of(self.spark).sql(text).collect())


def run(
    scenario: Scenario,
    *,
    spark: SparkSession,
    rules: Rules = RULES,
    protocol: RefreshProtocol = PROTOCOL,
    fresh_wanted: FreshWanted,
) -> Trace:
    """Runs a well-formed scenario.

    Raises duckdb.Error where the DML fails, StoreError where Spark does, HungQuery where the time is up.
    """
    store = SparkStore(copy_of(spark))
    # Else Spark walks the stack for every step of every query, an eighth of all its work here.
    for form in ("short", "long"):
        spark.sparkContext.setLocalProperty(f"callSite.{form}", "dvs")
    try:
        with own_database() as connection, interruptible(spark, LIMIT, connection.interrupt):
            clock = SimulatedClock()
            applier = base_tables(store, connection, scenario.tables)
            account = Account(store=store, clock=clock, rules=rules, protocol=protocol)
            return Recorder(account, clock, MemoryPlatform(store, applier), fresh_wanted).run(scenario)
    finally:
        store.close()


def base_tables(
    store: SparkStore, connection: duckdb.DuckDBPyConnection, tables: tuple[Table, ...]
) -> Applier:
    """Base tables in a Spark store, each version copied from where DuckDB's DML made it."""
    schemas = {}
    for table in tables:
        columns = engine_columns(table)
        store.create_base_table(BaseTable(table.name, columns))
        schemas[table.name] = ", ".join(
            f"{SPARK.identifier(name)} {type_}" for name, type_ in (*columns, (ROW_ID, "STRING"))
        )

    def publish(name: str, rows: str, version: SourceVersion) -> None:
        arrow = connection.sql(f'SELECT * FROM "{rows}"').to_arrow_table()
        store.add_version(name, store.literal(arrow, schemas[name]), version)

    return Applier(connection, tables, publish)
