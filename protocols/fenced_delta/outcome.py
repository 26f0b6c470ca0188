"""The two tables of duckrun's page on snapshot isolation: which writes fail after which commits of others.

The tests of the writers (`tests/e2e/test_fenced_delta.py`) expect what stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Operation(Enum):
    """A write, as duckrun names it."""

    DELETE = "delete"
    UPDATE = "update"
    MERGE = "merge"
    APPEND_IF_UNCHANGED = "append_if_unchanged"
    OVERWRITE_IF_UNCHANGED = "overwrite_if_unchanged"
    REPLACE_WHERE = "replace_where"
    APPEND = "append"
    OVERWRITE = "overwrite"


class Fence(Enum):
    """How a write is protected from commits that landed since the version that was read."""

    CONFLICTS = "native optimistic concurrency: fails if a conflicting commit landed"
    ANY = "strict compare-and-swap: fails if any commit landed"
    NONE = "unfenced: never fails"


FENCES = {
    Operation.DELETE: Fence.CONFLICTS,
    Operation.UPDATE: Fence.CONFLICTS,
    Operation.MERGE: Fence.CONFLICTS,
    Operation.APPEND_IF_UNCHANGED: Fence.ANY,
    Operation.OVERWRITE_IF_UNCHANGED: Fence.ANY,
    Operation.REPLACE_WHERE: Fence.ANY,
    Operation.APPEND: Fence.NONE,
    Operation.OVERWRITE: Fence.NONE,
}


class Landed(Enum):
    """What another writer has committed since, for the rows that a write reads."""

    UNRELATED = "rows that the write does not read"
    CONFLICT = "rows or files that the write reads"


def fails(operation: Operation, landed: Sequence[Landed]) -> bool:
    """Tells whether a write must fail. `landed`: the commits of others since the version that was read."""
    match FENCES[operation]:
        case Fence.CONFLICTS:
            return Landed.CONFLICT in landed
        case Fence.ANY:
            return bool(landed)
        case Fence.NONE:
            return False
