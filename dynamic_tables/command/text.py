"""State and history of an account as text for a terminal."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from dynamic_tables.refresh.choice import CHOSEN

Row = Mapping[str, object]

WIDTH = 140
"""Columns of a terminal that the tables are laid out for."""


def status_text(rows: Sequence[Row]) -> str:
    """Returns one line for each dynamic table, in order of dependency."""
    if not rows:
        return "no dynamic tables\n"
    table = Table(
        "table", "state", "lag / target", "p95", "within", "period", "mode", "last refresh", "group"
    )
    for row in rows:
        state = str(row["scheduling_state"])
        if row["executing_process"]:
            state += f", refreshed by {row['executing_process']}"
        elif row["scheduling_reason"]:
            state += f": {row['scheduling_reason']}"
        last = str(row["last_completed_refresh_state"] or "none yet")
        # What AUTO has chosen, and by which seconds; any other reason is in the history.
        chosen = str(row["last_completed_refresh_reason"] or "").partition(CHOSEN)
        last += f", {chosen[1]}{chosen[2]}" if chosen[1] else ""
        target = "DOWNSTREAM" if row["target_lag_sec"] is None else seconds(row["target_lag_sec"])
        table.add_row(
            str(row["name"]),
            state,
            f"{seconds(row['lag_sec'])} / {target}",
            seconds(row["p95_lag_sec"]),
            share(row["time_within_target_lag_ratio"]),
            seconds(row["period_sec"]),
            _mode(row),
            last,
            str(row["refresh_group"] or ""),
        )
    return _rendered(table)


def _mode(row: Row) -> str:
    """Returns the refresh mode, by which keys sources are read, and which rows stay as they are."""
    keys, frozen = row["source_keys"], row["frozen_where"]
    assert isinstance(keys, Sequence)
    parts = (
        str(row["refresh_mode"]),
        f"by {', '.join(keys)}" if keys else "",
        f"frozen: {frozen}" if frozen else "",
    )
    return "; ".join(filter(None, parts))


def history_text(rows: Sequence[Row]) -> str:
    """Returns one line for each refresh, the oldest first."""
    if not rows:
        return "no refreshes\n"
    table = Table("ended", "table", "state", "action", "rows", "data timestamp", "trigger", "message")
    for row in rows:
        changed = (
            ""
            if row["num_inserted_rows"] is None
            else f"+{row['num_inserted_rows']} -{row['num_deleted_rows']}"
        )
        changed += f", {row['num_late_rows']} late" if row["num_late_rows"] else ""
        table.add_row(
            moment(row["refresh_end_time"]),
            str(row["name"]),
            str(row["state"]),
            str(row["refresh_action"] or ""),
            changed,
            moment(row["data_timestamp"]),
            str(row["refresh_trigger"] or ""),
            str(row["state_message"] or row["reason"] or ""),
        )
    return _rendered(table)


def seconds(value: object) -> str:
    """Returns a number of seconds as a person reads it; '-' for none."""
    if not isinstance(value, int | float):
        return "-"
    if value < 120:
        return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"
    if value < 7_200:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.1f} h"


def share(value: object) -> str:
    """Returns a share as percent; '-' for none."""
    return f"{100 * value:.1f} %" if isinstance(value, int | float) else "-"


def moment(value: object) -> str:
    """Returns a time without its date's zone; '-' for none."""
    return str(value)[:19] if value is not None else "-"


def _rendered(table: Table) -> str:
    """Returns a table as text, WIDTH characters wide, without colours."""
    out = io.StringIO()
    Console(file=out, width=WIDTH, force_terminal=False).print(table)
    return out.getvalue()
