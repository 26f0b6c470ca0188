"""The `rules` tier: the engine's own plans and refresh protocol on DuckDB, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count

import duckdb

from campaign.tiers.applier import Applier
from campaign.tiers.duck_store import DuckStore, Operation
from campaign.tiers.recording import FreshWanted, Recorder, workload_row
from campaign.tiers.watchdog import LIMIT, cut_after
from dynamic_tables import definition as engine
from dynamic_tables.account import Account
from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.schedule.clock import SimulatedClock
from workload.scenario import Commit, Scenario
from workload.trace import Action, SourceWritten, StoredRow, Trace

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    "ieee_floating_point_ops": False,
    "threads": 1,
    "memory_limit": "1GB",
}
"""NULL order and division by zero as in Spark."""

NUMBERS = count()


@cache
def instance() -> duckdb.DuckDBPyConnection:
    """The DuckDB of this process: opening one takes as long as a scenario's refreshes.

    Nothing outside the process can be read. DuckDB 2.0.0's statistics propagation gives wrong sums over
    outer joins (and no optimizer is of use on a dozen rows): a wrong judge would look like a wrong engine.
    """
    opened = duckdb.connect(":memory:", config=CONFIGURATION)
    optimizers = opened.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    opened.execute(f"SET GLOBAL disabled_optimizers = '{','.join(name for (name,) in optimizers)}'")
    opened.execute("SET enable_external_access = false")
    opened.execute("SET lock_configuration = true")
    return opened


@contextmanager
def own_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty database of its own, which is gone afterwards."""
    name = f"scenario_{next(NUMBERS)}"
    connection = instance().cursor()
    try:
        connection.execute(f"ATTACH ':memory:' AS {name}")
        connection.execute(f"USE {name}")
        yield connection
    finally:
        connection.close()
        instance().execute(f"DETACH DATABASE IF EXISTS {name}")


@dataclass(slots=True)
class DuckPlatform:
    """Base tables by the applier, stored rows straight from DuckDB."""

    store: DuckStore
    applier: Applier

    def commit(self, step: int, commit: Commit) -> Sequence[SourceWritten]:
        """Applies a transaction."""
        return [
            SourceWritten(
                step,
                name,
                len(self.store.tables[name].physical) - 1,
                self.applier.tables[name].columns,
                self.applier.rows(name),
            )
            for name in self.applier.commit(commit)
        ]

    def stored(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """A version's rows."""
        rows = self.store.connection.execute(
            f'SELECT * FROM "{self.store.tables[table.name].physical[version]}"'
        ).fetchall()
        if not table.incremental:
            return tuple(StoredRow(None, workload_row(row)) for row in rows)
        return tuple(StoredRow(row[-1], workload_row(row[:-1])) for row in rows)

    def newest(self, name: str) -> int | None:
        """The last version."""
        table = self.store.tables.get(name)
        return len(table.physical) - 1 if table is not None and table.physical else None

    def effective(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """The action the commit shows."""
        match self.store.tables[table.name].operations[version]:
            case Operation.MERGE:
                return Action.INCREMENTAL
            case Operation.TOUCH:
                return reported if reported in (Action.NO_DATA, Action.INCREMENTAL) else Action.NO_DATA
            case Operation.OVERWRITE:
                return (
                    reported
                    if reported in (Action.FULL, Action.INITIALIZE, Action.REINITIALIZE)
                    else Action.FULL
                )


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
        applier = Applier(store, scenario.tables)
        account = Account(store=store, clock=clock, rules=rules, protocol=protocol)
        return Recorder(account, clock, DuckPlatform(store, applier), fresh_wanted).run(scenario)
