"""The `rules` tier: the engine's own plans and refresh protocol on DuckDB, in memory."""

from __future__ import annotations

from campaign.tiers.applier import Applier, engine_columns
from campaign.tiers.database import own_database
from campaign.tiers.duck_store import DuckRelation, DuckStore
from campaign.tiers.memory_platform import MemoryPlatform
from campaign.tiers.recording import FreshWanted, Recorder
from campaign.tiers.watchdog import LIMIT, cut_after
from dynamic_tables.account import Account
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.refresh.frontier import SourceVersion
from dynamic_tables.schedule.clock import SimulatedClock
from workload.scenario import Scenario
from workload.schema import Table
from workload.trace import Trace


def run(
    scenario: Scenario,
    *,
    rules: Rules = RULES,
    protocol: RefreshProtocol = PROTOCOL,
    fresh_wanted: FreshWanted,
) -> Trace:
    """Runs a well-formed scenario. Raises duckdb.Error only where the DML itself fails, HungQuery."""
    with own_database() as connection, cut_after(LIMIT, connection.interrupt):
        store = DuckStore(connection)
        clock = SimulatedClock()
        applier = base_tables(store, scenario.tables)
        account = Account(store=store, clock=clock, rules=rules, protocol=protocol)
        return Recorder(account, clock, MemoryPlatform(store, applier), fresh_wanted).run(scenario)


def base_tables(store: DuckStore, tables: tuple[Table, ...]) -> Applier:
    """Base tables in a DuckDB store, and what writes them."""
    for table in tables:
        store.create_base_table(BaseTable(table.name, engine_columns(table)))

    def publish(name: str, rows: str, version: SourceVersion) -> None:
        store.add_version(name, DuckRelation(store.connection, rows), version)

    return Applier(store.connection, tables, publish)
