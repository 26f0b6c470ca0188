"""State and history of an account as tables; their columns are those that users of Snowflake know.

Each method returns a `pyarrow.Table`: `spark.createDataFrame(table)` and `FROM table` of DuckDB take it.
"""

from __future__ import annotations

import pyarrow as pa

from dynamic_tables.definition import DynamicTable
from dynamic_tables.journal.events import Privilege
from dynamic_tables.operations.missing import unreadable
from dynamic_tables.operations.rights import allowed
from dynamic_tables.operations.rows import dependency_rows, graph_rows, refresh_rows, table_rows, watched
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.script import script

TIME = pa.timestamp("us", tz="UTC")

REFRESH_HISTORY = pa.schema(
    [
        ("name", pa.string()),
        ("state", pa.string()),
        ("state_message", pa.string()),
        ("data_timestamp", TIME),
        ("refresh_start_time", TIME),
        ("refresh_end_time", TIME),
        ("refresh_action", pa.string()),
        ("refresh_trigger", pa.string()),
        ("num_inserted_rows", pa.int64()),
        ("num_deleted_rows", pa.int64()),
        ("num_late_rows", pa.int64()),
        ("reason", pa.string()),
        ("process", pa.string()),
    ]
)
DYNAMIC_TABLES = pa.schema(
    [
        ("name", pa.string()),
        ("scheduling_state", pa.string()),
        ("scheduling_reason", pa.string()),
        ("target_lag_sec", pa.float64()),
        ("target_lag_type", pa.string()),
        ("period_sec", pa.float64()),
        ("refresh_mode", pa.string()),
        ("refresh_mode_reason", pa.string()),
        ("refresh_group", pa.string()),
        ("source_keys", pa.list_(pa.string())),
        ("frozen_where", pa.string()),
        ("latest_data_timestamp", TIME),
        ("last_completed_refresh_state", pa.string()),
        ("last_completed_refresh_action", pa.string()),
        ("last_completed_refresh_reason", pa.string()),
        ("lag_sec", pa.float64()),
        ("mean_lag_sec", pa.float64()),
        ("median_lag_sec", pa.float64()),
        ("p95_lag_sec", pa.float64()),
        ("maximum_lag_sec", pa.float64()),
        ("time_within_target_lag_ratio", pa.float64()),
        ("consecutive_errors", pa.int64()),
        ("executing_process", pa.string()),
        ("heartbeat_until", TIME),
        ("query_text", pa.string()),
    ]
)
DEPENDENCIES = pa.schema(
    [("name", pa.string()), ("input", pa.string()), ("input_kind", pa.string()), ("diamond", pa.bool_())]
)
GRAPH_HISTORY = pa.schema(
    [
        ("name", pa.string()),
        ("valid_from", TIME),
        ("valid_to", TIME),
        ("inputs", pa.list_(pa.string())),
        ("target_lag_sec", pa.float64()),
        ("target_lag_type", pa.string()),
        ("scheduling_state", pa.string()),
        ("query_text", pa.string()),
    ]
)


class Watching(AccountTables):
    """The methods of an account that show the state and the history of its dynamic tables."""

    def refresh_history(self, name: str | None = None) -> pa.Table:
        """Returns every refresh of a dynamic table, or of all on which the role has MONITOR, by end.

        A refresh that was committed by a process that died right afterwards has no end. Raises
        DefinitionError, MissingPrivilege.
        """
        with self.lock:
            tables = [allowed(self, name, Privilege.MONITOR)] if name else watched(self)
            return pa.Table.from_pylist(refresh_rows(self, tables), REFRESH_HISTORY)

    def dynamic_tables(self) -> pa.Table:
        """Returns the state of all dynamic tables on which the role has MONITOR, in order of dependency."""
        with self.lock:
            return pa.Table.from_pylist(table_rows(self), DYNAMIC_TABLES)

    def unreadable(self) -> tuple[str, ...]:
        """Returns why tables and views of the account cannot be read, one sentence each."""
        with self.lock:
            return tuple(unreadable(self))

    def script(self) -> str:
        """Returns the definitions as a SQL script, without rows: `dvs fuzz --definitions` takes it.

        Raises MissingPrivilege: the role has no MONITOR on a dynamic table.
        """
        with self.lock:
            definitions = self.store.definitions()
            for name, definition in definitions.items():
                if isinstance(definition, DynamicTable):
                    allowed(self, name, Privilege.MONITOR)
            return script(definitions.values())

    def dependencies(self) -> pa.Table:
        """Returns what each dynamic table reads, views expanded.

        `diamond`: the table reads the input, or something below it, by two or more ways.
        """
        with self.lock:
            return pa.Table.from_pylist(dependency_rows(self), DEPENDENCIES)

    def graph_history(self) -> pa.Table:
        """Returns what each dynamic table was, and when: its inputs, target lag, state and text."""
        with self.lock:
            return pa.Table.from_pylist(graph_rows(self), GRAPH_HISTORY)
