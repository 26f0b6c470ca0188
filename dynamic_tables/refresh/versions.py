"""Version resolution: which version of a source a refresh to data timestamp t reads (DVS paper, section 5.3).

Delayed view semantics: the table at t is its query with every source as of t. For a base table that is its
newest version up to t; for a dynamic table the version whose own data timestamp is t, however late that
refresh was committed.
"""

from __future__ import annotations

from dynamic_tables.errors import RefreshFailed, ValidationFailed
from dynamic_tables.moment import moment
from dynamic_tables.versions import SourceHistory, SourceVersion


def resolve(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """Returns the version of a source that a refresh of `table` to data timestamp `timestamp` reads.

    A base table: its latest version with commit timestamp <= t. A dynamic table: the version whose refresh
    had exactly data timestamp t, whenever it was committed; any other version would give persisted-table
    semantics (validation 1 of the DVS paper, section 6.1).

    Raises ValidationFailed: when the dynamic table has no version at t.
    Raises RefreshFailed: when the base table has no version as old as t.
    """
    if history.dynamic:
        exact = [version for version in history.versions if version.timestamp == timestamp]
        if exact:
            return exact[-1]
        latest = ", ".join(moment(version.timestamp) for version in history.versions[-3:]) or "none"
        raise ValidationFailed(
            table, timestamp, f"{history.name} has no version with this data timestamp (latest: {latest})"
        )
    earlier = [version for version in history.versions if version.timestamp <= timestamp]
    if not earlier:
        raise RefreshFailed(
            table, timestamp, f"{history.name} did not exist at that time, or its log no longer reaches back"
        )
    return earlier[-1]
