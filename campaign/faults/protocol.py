"""Faults in the refresh protocol: version resolution, frontiers and refresh actions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

from campaign.faults.fault import Fault, in_protocol, part_fault
from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.errors import RefreshFailed
from dynamic_tables.refresh.action import Readable, decide
from dynamic_tables.refresh.versions import resolve
from dynamic_tables.store.port import Action, RefreshRecord, Store
from dynamic_tables.versions import Frontier, SourceHistory, SourceVersion
from engines.memory.base_logs import BaseLogs
from workload.outcomes.results import Check


def newest(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """A base table is read at its newest version, whatever the data timestamp."""
    return resolve(history, timestamp, table) if history.dynamic else history.versions[-1]


def strictly_before(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """A base table is read as of the last commit before the data timestamp, without a commit at it."""
    if history.dynamic:
        return resolve(history, timestamp, table)
    earlier = [version for version in history.versions if version.timestamp < timestamp]
    if not earlier:
        raise RefreshFailed(table, timestamp, f"{history.name} did not exist at that time")
    return earlier[-1]


def newest_upstream(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """An upstream dynamic table is read at its latest version, not at the one of the data timestamp."""
    return history.versions[-1] if history.dynamic else resolve(history, timestamp, table)


def largest_frontier(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """The interval of a source starts at the largest version that any of its consumers has reached."""
    reached = [before.sources[source]]
    for table in store.definitions().values():
        refreshes = store.refreshes(table) if isinstance(table, DynamicTable) else ()
        if refreshes and source in refreshes[-1].frontier.sources:
            reached.append(refreshes[-1].frontier.sources[source])
    return max(reached, key=lambda version: version.version)


def from_last_rewrite(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """The interval starts again where OPTIMIZE rewrote the files of a base table."""
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


def past_a_killed_attempt(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """A refresh notes how far it has read before it commits: one that was killed leaves its interval out."""
    logs = getattr(store, "base_logs", None)
    if not isinstance(logs, BaseLogs):
        return before.sources[source]
    noted, table = NOTED.setdefault(logs, {}), (after.definition, source)
    start = max(before.sources[source], noted.get(table, before.sources[source]), key=_version)
    noted[table] = after.sources[source]
    return start


NOTED: WeakKeyDictionary[BaseLogs, dict[tuple[str, str], SourceVersion]] = WeakKeyDictionary()
"""For each database in memory what `past_a_killed_attempt` has noted of (table, source)."""


def _version(version: SourceVersion) -> int:
    return version.version


def newest_versions(frontier: Frontier, store: Store) -> Frontier:
    """Contents written anew are read from the newest versions, though the frontier records earlier ones."""
    definitions = store.definitions()
    sources = dict(frontier.sources)
    for name in sources:
        definition = definitions[name]
        if isinstance(definition, BaseTable):
            sources[name] = store.history(definition).versions[-1]
    return replace(frontier, sources=sources)


def one_version_early(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """The interval includes its lower end: the last applied commit is applied again."""
    version = before.sources[source]
    return replace(version, version=max(0, version.version - 1))


def always_full(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """A refresh that is due as INCREMENTAL runs FULL."""
    action, reason = decide(before, after, incremental, readable)
    return (Action.FULL, reason) if action is Action.INCREMENTAL else (action, reason)


def replacement_ignored(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """A refresh after a source was replaced is INCREMENTAL."""
    action, reason = decide(before, after, incremental, readable)
    return (Action.INCREMENTAL, "changed") if action is Action.REINITIALIZE else (action, reason)


def definition_change_unseen(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """A table goes on incrementally after its query, or a view in it, was replaced."""
    known = None if before is None else replace(before, definition=after.definition)
    return decide(known, after, incremental, readable)


def upstream_changes_unseen(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """A table over dynamic tables alone takes its sources for unchanged."""
    action, reason = decide(before, after, incremental, readable)
    moved_alone = all(source.timestamp == after.timestamp for source in after.sources.values())
    if action is Action.INCREMENTAL and moved_alone:
        return Action.NO_DATA, "no source changed"
    return action, reason


def frontier_moved(store: Store, table: DynamicTable, record: RefreshRecord) -> None:
    """A refresh that failed moves the frontier, so the next one leaves its interval out."""
    if record.action is not Action.INITIALIZE:
        store.touch(table, replace(record, action=Action.NO_DATA, changed=False, inserted=0, deleted=0))


_fault = partial(part_fault, area="frontier", replacing=in_protocol, core=False)
_start = partial(_fault, core=True)

FAULTS = (
    _start(
        *("interval-closed-at-both-ends", "interval_start", one_version_early),
        *(Check.INVARIANT_2, Check.INVARIANT_3, Check.EQUALITY),
    ),
    _start("shared-frontier", "interval_start", largest_frontier, Check.EQUALITY),
    _fault("frontier-before-contents", "interval_start", past_a_killed_attempt, Check.EQUALITY),
    _fault("rewrite-resets-interval", "interval_start", from_last_rewrite, Check.EQUALITY),
    _fault("initialized-off-timestamp", "contents_at", newest_versions, Check.EQUALITY, Check.FRONTIER),
    _fault("read-latest-not-snapshot", "resolve", newest, Check.FRONTIER, Check.EQUALITY),
    _fault("version-strictly-before", "resolve", strictly_before, Check.FRONTIER, Check.EQUALITY),
    _fault("upstream-by-commit-time", "resolve", newest_upstream, Check.FRONTIER, Check.EQUALITY),
    _fault("silent-full", "decide", always_full, Check.REFRESH_MODE),
    _fault("replaced-upstream-incremental", "decide", replacement_ignored, Check.REFRESH_MODE),
    _fault(
        "replaced-view-incremental", "decide", definition_change_unseen, Check.REFRESH_MODE, Check.EQUALITY
    ),
    _fault("failed-refresh-moves-frontier", "give_up", frontier_moved, Check.REFRESH_MODE, Check.EQUALITY),
    Fault(
        name="failing-term-fails-refresh",
        area="frontier",
        wrong="A refresh fails where a term of the change query fails, though the query itself does not.",
        plant=in_protocol(evaluates_anew=False),
        caught_by=(Check.REFRESH_ERROR,),
        core=False,
    ),
    _fault("full-upstream-silent", "decide", upstream_changes_unseen, Check.EQUALITY, Check.REFRESH_MODE),
)
