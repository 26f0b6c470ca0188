"""The state of an account as its scheduler sees it, read from the tables' commits and from the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from dynamic_tables.errors import CorruptTable, DefinitionError
from dynamic_tables.journal.state import Claim, Operations
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.schedule.due import TableState
from dynamic_tables.schedule.failing import standing
from dynamic_tables.schedule.graph import Graph
from dynamic_tables.schedule.group import RefreshGroup, ensure_ordered
from dynamic_tables.schedule.timetable import Timetable, timetable


def table_states(
    account: AccountTables, graph: Graph, now: int, gone: Callable[[str], bool]
) -> Mapping[str, TableState]:
    """Returns the state of every dynamic table of a graph.

    `gone`: tells whether a process has ended, so that what it claimed is free. A table whose commits cannot
    be read counts as suspended.
    """
    operations = account.store.journal.poll()
    return {name: _state(account, name, operations, now, gone) for name in graph.order}


def _state(
    account: AccountTables,
    name: str,
    operations: Operations,
    now: int,
    gone: Callable[[str], bool],
) -> TableState:
    """Returns the state of one table: its commits, and what the journal knows of it."""
    logged = operations.of(name)
    try:
        table = account.dynamic_table(name)
        stored = account.timestamps(table)
        versions = account.visible(table)
        earliest = None if stored else account.oldest(table)
    except CorruptTable:
        return TableState(suspended=True)
    own = stored[-1] if stored else None
    status = standing(logged.failures, own, account.failure_rule)
    return TableState(
        versions=versions,
        own=own,
        failed=status.failed,
        suspended=logged.suspended or status.suspended,
        busy=is_held(logged.claim, account.process, now, gone),
        retry_at=status.retry_at,
        earliest=earliest,
    )


def is_held(claim: Claim | None, process: str, now: int, gone: Callable[[str], bool]) -> bool:
    """Tells whether another process that lives holds a claim that has not run out."""
    return claim is not None and claim.by != process and claim.until > now and not gone(claim.by)


def timetable_of(account: AccountTables, graph: Graph) -> Timetable:
    """Returns the timetable of an account, with durations as its last refreshes had them.

    A group whose members cannot be ordered any more, because a view in between was replaced, is left out: its
    members wait, and all other tables are refreshed.
    """
    operations = account.store.journal.poll()
    durations = {name: operations.of(name).duration for name in graph.order}
    groups: dict[str, RefreshGroup] = {}
    for name, group in operations.groups.items():
        if all(member in graph.tables for member in group.members):
            with suppress(DefinitionError):
                ensure_ordered(group, graph, groups)
                groups[name] = group
    return timetable(graph, account.rhythm, groups, durations)


def inherited(graph: Graph, states: Mapping[str, TableState]) -> Mapping[str, str]:
    """Returns for each table below a suspended one the name of the suspended table, the nearest one."""
    found: dict[str, str] = {}
    for name in graph.order:
        for up in graph.tables[name].upstream:
            cause = up if up in states and states[up].suspended else found.get(up)
            if cause is not None and name not in found:
                found[name] = cause
    return found
