"""Mistakes in the view `to_rollback` (document 003): one clause of its definition each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from protocols.data_plane.resolve import CLAUSES, Clauses

INTENT_FAULTS: Mapping[str, Clauses] = {
    "intents-one-pass": replace(CLAUSES, rounds=1),
    "rolled-back-writes-count": replace(CLAUSES, counts=lambda rolled_back: True),
    "reads-see-own-write": replace(CLAUSES, earlier=lambda writer, reader: writer <= reader),
    "reads-see-later-writes": replace(CLAUSES, earlier=lambda writer, reader: writer != reader),
    "oldest-write-is-read": replace(CLAUSES, latest=0),
    "null-equals-nothing": replace(
        CLAUSES, differs=lambda read, found: read is None or found is None or read != found
    ),
    "read-writes-are-collected": replace(CLAUSES, unread=lambda written, last_read: True),
    "last-writes-are-collected": replace(CLAUSES, superseded=lambda written, last: written <= last),
    "absent-is-not-checked": replace(
        CLAUSES, differs=lambda read, found: read is not None and found is not None and read != found
    ),
}
"""By name the clauses with the mistake. `intents-one-pass`: transactions 7 to 9 of the article show it."""
