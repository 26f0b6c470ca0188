"""Faults in version resolution, frontiers and refresh actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, in_protocol
from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.errors import RefreshFailed
from dynamic_tables.refresh.action import Action, Readable, decide
from dynamic_tables.refresh.execute import RefreshProtocol
from dynamic_tables.refresh.frontier import Frontier, SourceVersion
from dynamic_tables.refresh.versions import SourceHistory, resolve
from dynamic_tables.store.port import Store
from workload.results import Check


def newest(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """A base table's newest version, whatever the data timestamp."""
    return resolve(history, timestamp, table) if history.dynamic else history.versions[-1]


def strictly_before(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """Commits before the data timestamp, without those at it."""
    if history.dynamic:
        return resolve(history, timestamp, table)
    earlier = [version for version in history.versions if version.timestamp < timestamp]
    if not earlier:
        raise RefreshFailed(table, timestamp, f"{history.name} did not exist at that time")
    return earlier[-1]


def newest_upstream(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """An upstream table's latest version, instead of the one whose data timestamp it is."""
    return history.versions[-1] if history.dynamic else resolve(history, timestamp, table)


def largest_frontier(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """The largest version of a source that any of its consumers has reached."""
    reached = [before.sources[source]]
    for table in store.definitions().values():
        refreshes = store.refreshes(table) if isinstance(table, DynamicTable) else ()
        if refreshes and source in refreshes[-1].frontier.sources:
            reached.append(refreshes[-1].frontier.sources[source])
    return max(reached, key=lambda version: version.version)


def from_last_rewrite(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """The interval starts anew where a base table's files were rewritten without a change of rows."""
    definition = store.definitions()[source]
    start, end = before.sources[source], after.sources[source]
    if not isinstance(definition, BaseTable):
        return start
    rewrites = [
        version
        for version in store.history(definition).versions
        if start.version < version.version <= end.version and version.content < version.version
    ]
    return rewrites[-1] if rewrites else start


def newest_versions(frontier: Frontier, store: Store) -> Frontier:
    """The newest version of every base table, whatever the data timestamp that is recorded."""
    definitions = store.definitions()
    sources = dict(frontier.sources)
    for name in sources:
        definition = definitions[name]
        if isinstance(definition, BaseTable):
            sources[name] = store.history(definition).versions[-1]
    return replace(frontier, sources=sources)


def one_version_early(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """The interval includes the last applied commit once more."""
    version = before.sources[source]
    return replace(version, version=max(0, version.version - 1))


def always_full(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """An INCREMENTAL refresh runs FULL."""
    action, reason = decide(before, after, incremental, readable)
    return (Action.FULL, reason) if action is Action.INCREMENTAL else (action, reason)


def replacement_ignored(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """A replaced source is refreshed from incrementally."""
    action, reason = decide(before, after, incremental, readable)
    return (Action.INCREMENTAL, "changed") if action is Action.REINITIALIZE else (action, reason)


def upstream_changes_unseen(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """A table over dynamic tables alone sees no change: its sources count as unchanged."""
    action, reason = decide(before, after, incremental, readable)
    moved_alone = all(source.timestamp == after.timestamp for source in after.sources.values())
    return (
        (Action.NO_DATA, "no source changed")
        if action is Action.INCREMENTAL and moved_alone
        else (action, reason)
    )


def _fault(
    name: str,
    wrong: str,
    change: Callable[[RefreshProtocol], RefreshProtocol],
    *checks: Check,
    core: bool = False,
) -> Fault:
    return Fault(
        name=name, area="frontier", wrong=wrong, plant=in_protocol(change), caught_by=checks, core=core
    )


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        _fault(
            "interval-closed-at-both-ends",
            "the interval includes its lower end: the last applied commit is applied again",
            lambda protocol: replace(protocol, interval_start=one_version_early),
            Check.INVARIANT_2,
            Check.INVARIANT_3,
            Check.EQUALITY,
            core=True,
        ),
        _fault(
            "shared-frontier",
            "the interval starts at the largest version any consumer of the source has reached",
            lambda protocol: replace(protocol, interval_start=largest_frontier),
            Check.EQUALITY,
            core=True,
        ),
        _fault(
            "rewrite-resets-interval",
            "after a rewrite of files (OPTIMIZE) the interval starts at the rewritten files",
            lambda protocol: replace(protocol, interval_start=from_last_rewrite),
            Check.EQUALITY,
        ),
        _fault(
            "initialized-off-timestamp",
            "contents written anew are read from the newest versions, though an earlier one is recorded",
            lambda protocol: replace(protocol, contents_at=newest_versions),
            Check.EQUALITY,
            Check.FRONTIER,
        ),
        _fault(
            "read-latest-not-snapshot",
            "the state at t1 is read at the newest version",
            lambda protocol: replace(protocol, resolve=newest),
            Check.FRONTIER,
            Check.EQUALITY,
        ),
        _fault(
            "version-strictly-before",
            "a table at t is its latest version before t, not up to t",
            lambda protocol: replace(protocol, resolve=strictly_before),
            Check.FRONTIER,
            Check.EQUALITY,
        ),
        _fault(
            "upstream-by-commit-time",
            "an upstream dynamic table at t is its latest version, not the one of data timestamp t",
            lambda protocol: replace(protocol, resolve=newest_upstream),
            Check.FRONTIER,
            Check.EQUALITY,
        ),
        _fault(
            "silent-full",
            "a refresh that was due as INCREMENTAL runs FULL",
            lambda protocol: replace(protocol, decide=always_full),
            Check.REFRESH_MODE,
        ),
        _fault(
            "replaced-upstream-incremental",
            "a source was replaced, and the refresh is INCREMENTAL",
            lambda protocol: replace(protocol, decide=replacement_ignored),
            Check.REFRESH_MODE,
        ),
        _fault(
            "full-upstream-silent",
            "a table above dynamic tables sees no change",
            lambda protocol: replace(protocol, decide=upstream_changes_unseen),
            Check.EQUALITY,
            Check.REFRESH_MODE,
        ),
    )
}
