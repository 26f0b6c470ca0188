"""The rows of the tables that show an account's state and history; columns as in `operations.watching`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from dynamic_tables.definition import BaseTable, Definition, DynamicTable
from dynamic_tables.errors import CorruptTable, MissingPrivilege
from dynamic_tables.journal.events import (
    Defined,
    Dropped,
    Event,
    LagSet,
    Privilege,
    Refreshed,
    RefreshFailure,
    Renamed,
    Resumed,
    Suspended,
    Undropped,
)
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.lags import lag_summary
from dynamic_tables.operations.missing import kind_of, lacking
from dynamic_tables.operations.rights import allowed
from dynamic_tables.operations.states import inherited, is_held, table_states, timetable_of
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.schedule.due import TableState
from dynamic_tables.schedule.failing import standing
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.schedule.timetable import Timetable
from dynamic_tables.store.transactions.owner import has_ended

Row = dict[str, object]


@dataclass(slots=True)
class Journalled:
    """What the journal says of one table's refreshes: ends by data timestamp, and failures."""

    ends: dict[int, Refreshed] = field(default_factory=dict)
    failures: list[RefreshFailure] = field(default_factory=list)


def watched(account: AccountTables) -> Sequence[DynamicTable]:
    """Returns the dynamic tables that the role of the account may see, in order of dependency."""
    found = []
    for name in account.graph().order:
        try:
            found.append(allowed(account, name, Privilege.MONITOR))
        except MissingPrivilege:
            continue
    return found


def journalled(events: Iterable[Event]) -> Mapping[str, Journalled]:
    """Returns the refreshes in a journal by the name that each table has now."""
    tables: dict[str, Journalled] = {}
    dropped: dict[str, Journalled] = {}
    for event in events:
        match event:
            case Refreshed():
                tables.setdefault(event.table, Journalled()).ends[event.timestamp] = event
            case RefreshFailure():
                tables.setdefault(event.table, Journalled()).failures.append(event)
            case Dropped():
                of_table = tables.pop(event.table, Journalled())
                if not event.for_good:
                    dropped[event.table] = of_table
            case Undropped():
                tables[event.table] = dropped.pop(event.table, Journalled())
            case Renamed() if event.table in tables:
                tables[event.name] = tables.pop(event.table)
            case _:
                pass
    return tables


def refresh_rows(account: AccountTables, tables: Sequence[DynamicTable]) -> Sequence[Row]:
    """Returns the refreshes of tables, those that failed included, in the order of their ends."""
    by_table = journalled(account.store.journal.all_events())
    rows = [row for table in tables for row in _refreshes(account, table, by_table.get(table.name))]
    return sorted(rows, key=lambda row: (row["refresh_end_time"] or row["data_timestamp"], row["name"]))


def _refreshes(account: AccountTables, table: DynamicTable, journal: Journalled | None) -> Iterable[Row]:
    """Yields a row for each committed refresh of a table, then one for each failure."""
    journal = journal or Journalled()
    for record in account.store.refreshes(table, edited=True):
        end = journal.ends.get(record.frontier.timestamp)
        yield {
            "name": table.name,
            "state": "SUCCEEDED",
            "state_message": "",
            "data_timestamp": record.frontier.timestamp,
            "refresh_start_time": None if end is None else end.started,
            "refresh_end_time": None if end is None else end.at,
            "refresh_action": record.action.value,
            "refresh_trigger": None if end is None else end.trigger.value,
            "num_inserted_rows": record.inserted,
            "num_deleted_rows": record.deleted,
            "num_late_rows": record.late,
            "reason": record.reason,
            "process": None if end is None else end.by,
        }
    for failure in journal.failures:
        yield {
            "name": table.name,
            "state": "FAILED",
            "state_message": failure.reason,
            "data_timestamp": failure.timestamp,
            "refresh_start_time": failure.started,
            "refresh_end_time": failure.at,
            "refresh_action": None,
            "refresh_trigger": failure.trigger.value,
            "num_inserted_rows": None,
            "num_deleted_rows": None,
            "num_late_rows": None,
            "reason": f"{failure.fault.value} error",
            "process": failure.by,
        }


def table_rows(account: AccountTables) -> Sequence[Row]:
    """Returns the state of the tables that the role of the account may see."""
    operations, graph = account.store.journal.poll(), account.graph()
    now = max(account.clock.now(), operations.newest)
    states = table_states(account, graph, now, has_ended)
    table = timetable_of(account, graph)
    waiting = inherited(graph, states)
    by_table = journalled(account.store.journal.recent_events())
    missing, definitions = lacking(account), account.store.definitions()
    return [
        {
            **_definition_columns(each, table, operations, source_keys(each, definitions)),
            **_scheduling(
                account,
                each,
                states[each.name],
                waiting.get(each.name),
                missing.get(each.name, "") or _slower_above(table, each.name),
                operations,
                now,
            ),
            **_lag_columns(account, each, by_table.get(each.name, Journalled()), table, now),
        }
        for each in watched(account)
    ]


def source_keys(table: DynamicTable, definitions: Mapping[str, Definition]) -> Sequence[str]:
    """Returns the primary keys of what a table reads, such as `orders (id)`."""
    found = []
    for source in table.sources:
        # What was dropped, or cannot be read, has no key that is known.
        with suppress(KeyError, CorruptTable):
            read = definitions[source]
            if isinstance(read, BaseTable) and read.key:
                found.append(f"{source} ({', '.join(read.key)})")
    return found


def _definition_columns(
    each: DynamicTable, table: Timetable, operations: Operations, keys: Sequence[str]
) -> Row:
    """Returns the columns about the definition of a table. `keys`: from `source_keys`."""
    lag, period, group = table.lags[each.name], table.periods.get(each.name), operations.group_of(each.name)
    return {
        "name": each.name,
        "target_lag_sec": _seconds(lag),
        "target_lag_type": "DOWNSTREAM" if each.target_lag is None else "USER_DEFINED",
        "period_sec": _seconds(period),
        "refresh_mode": "INCREMENTAL" if each.incremental else "FULL",
        "refresh_mode_reason": each.reason,
        "refresh_group": None if group is None else group.name,
        "source_keys": keys,
        "frozen_where": each.frozen_where or None,
        "query_text": each.text,
    }


def _scheduling(
    account: AccountTables,
    each: DynamicTable,
    state: TableState,
    above: str | None,
    missing: str,
    operations: Operations,
    now: int,
) -> Row:
    """Returns the columns about the schedule of a table: whether it is suspended, why, who refreshes it.

    `above`: the suspended table that it reads, if there is one. `missing`: why a source cannot be read, or is
    read too seldom.
    """
    logged = operations.of(each.name)
    errors = standing(logged.failures, state.own, account.failure_rule).errors
    if logged.suspended:
        shown, why = "SUSPENDED", "suspended by command"
    elif state.suspended:
        shown = "SUSPENDED"
        why = f"{errors} errors in a row" if errors else "its commits cannot be read"
    elif above is not None:
        shown, why = "SUSPENDED", f"{above}, which it reads, is suspended"
    else:
        # Tried again and again: what is missing may come back.
        shown, why = "RUNNING", missing
    claim = logged.claim if is_held(logged.claim, "", now, has_ended) else None
    return {
        "scheduling_state": shown,
        "scheduling_reason": why,
        "consecutive_errors": errors,
        "executing_process": None if claim is None else claim.by,
        "heartbeat_until": None if claim is None else claim.until,
    }


def _slower_above(table: Timetable, name: str) -> str:
    """Returns why no refresh of a table can keep its target lag: a table that it reads has a long period."""
    lag = table.lags[name]
    for up in table.graph.tables[name].upstream:
        period = table.periods.get(up)
        if lag is not None and period is not None and period >= lag:
            return f"{up}, which it reads, is refreshed every {period // SECOND} s"
    return ""


def _lag_columns(
    account: AccountTables, each: DynamicTable, journal: Journalled, table: Timetable, now: int
) -> Row:
    """Returns the columns about the newest contents of a table, its last refresh and its lag."""
    try:
        records = account.store.refreshes(each)
        newest = account.shown(each)
    except CorruptTable:
        records, newest = (), None
    ends = sorted((end.at, timestamp) for timestamp, end in journal.ends.items())
    summary = lag_summary(ends, now, table.lags[each.name])
    failed = max((failure.at for failure in journal.failures), default=None)
    done = max((end.at for end in journal.ends.values()), default=None)
    last = "FAILED" if failed is not None and (done is None or failed > done) else "SUCCEEDED"
    return {
        "latest_data_timestamp": newest,
        "last_completed_refresh_state": last if records or journal.failures else None,
        "last_completed_refresh_action": records[-1].action.value if records else None,
        "last_completed_refresh_reason": records[-1].reason if records else None,
        "lag_sec": None if newest is None else _seconds(max(now - newest, 0)),
        "mean_lag_sec": None if summary is None else summary.mean / SECOND,
        "median_lag_sec": None if summary is None else summary.median / SECOND,
        "p95_lag_sec": None if summary is None else summary.percentile_95 / SECOND,
        "maximum_lag_sec": None if summary is None else summary.maximum / SECOND,
        "time_within_target_lag_ratio": None if summary is None else summary.within,
    }


def dependency_rows(account: AccountTables) -> Sequence[Row]:
    """Returns what each dynamic table reads."""
    graph, definitions = account.graph(), account.store.definitions()
    arms = {(diamond.bottom, arm) for diamond in graph.diamonds() for arm in diamond.arms}
    return [
        {
            "name": table.name,
            "input": source,
            "input_kind": kind_of(definitions, source),
            "diamond": (table.name, source) in arms,
        }
        for table in watched(account)
        for source in table.sources
    ]


def graph_rows(account: AccountTables) -> Sequence[Row]:
    """Returns each state of the definition of each dynamic table, with its beginning and end."""
    rows: list[Row] = []
    current: dict[str, Row] = {}
    dropped: dict[str, Row] = {}

    def change(name: str, at: int, **columns: object) -> None:
        before = current.get(name, {})
        if before:
            before["valid_to"] = at
        current[name] = {**before, **columns, "name": name, "valid_from": at, "valid_to": None}
        rows.append(current[name])

    for event in account.store.journal.all_events():
        match event:
            case Defined():
                change(
                    event.table,
                    event.at,
                    inputs=list(event.sources),
                    query_text=event.text,
                    scheduling_state="RUNNING",
                    **_lag(event.target_lag),
                )
            case LagSet():
                change(event.table, event.at, **_lag(event.target_lag))
            case Suspended():
                change(event.table, event.at, scheduling_state="SUSPENDED")
            case Resumed():
                change(event.table, event.at, scheduling_state="RUNNING")
            case Renamed() if event.table in current:
                before = current.pop(event.table)
                before["valid_to"] = event.at
                change(event.name, event.at, **{k: v for k, v in before.items() if k != "name"})
            case Dropped() if event.table in current:
                before = current.pop(event.table)
                before["valid_to"] = event.at
                if not event.for_good:
                    dropped[event.table] = before
            case Undropped() if event.table in dropped:
                before = dropped.pop(event.table)
                change(event.table, event.at, **{k: v for k, v in before.items() if k != "name"})
            case _:
                pass
    hidden = set(account.graph().order) - {table.name for table in watched(account)}
    return [row for row in rows if row["name"] not in hidden]


def _lag(lag: int | None) -> Row:
    """Returns the columns about a target lag; None: DOWNSTREAM."""
    kind = "DOWNSTREAM" if lag is None else "USER_DEFINED"
    return {"target_lag_sec": _seconds(lag), "target_lag_type": kind}


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / SECOND
