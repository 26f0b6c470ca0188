"""Version resolution: which version of a source a refresh at t reads (DVS paper, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamic_tables.errors import RefreshFailed, ValidationFailed
from dynamic_tables.refresh.frontier import SourceVersion


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """The readable versions of a source, oldest first; `dynamic` if refreshes made them."""

    name: str
    dynamic: bool
    versions: Sequence[SourceVersion]


def resolve(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """The version to read for a data timestamp.

    A base table: its latest version with commit timestamp <= t. A dynamic table: the version whose
    refresh had exactly data timestamp t, whenever it was committed; if there is none, the refresh fails
    (validation 1 of section 6.1), for any other version would be persisted-table semantics.
    """
    if history.dynamic:
        exact = [version for version in history.versions if version.timestamp == timestamp]
        if exact:
            return exact[-1]
        known = ", ".join(str(version.timestamp) for version in history.versions[-3:]) or "none"
        raise ValidationFailed(
            table, timestamp, f"{history.name} has no version with this data timestamp (latest: {known})"
        )
    earlier = [version for version in history.versions if version.timestamp <= timestamp]
    if not earlier:
        raise RefreshFailed(
            table, timestamp, f"{history.name} did not exist at that time, or its log no longer reaches back"
        )
    return earlier[-1]
