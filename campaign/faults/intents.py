"""Planted mistakes in the view `to_rollback` of `protocols.data_plane`: one clause of its definition each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.faults.fault import ModelFault
from protocols.data_plane.resolve import CLAUSES, Clauses

INTENT_FAULTS: Mapping[str, ModelFault[Clauses]] = {
    "intents-one-pass": ModelFault(
        "One pass finds who is rolled back, so that whoever read from them stays: transactions 7 to 9 of the "
        "article.",
        replace(CLAUSES, rounds=1),
    ),
    "rolled-back-writes-count": ModelFault(
        "The writes of a transaction that is rolled back are read by later ones.",
        replace(CLAUSES, counts=lambda rolled_back: True),
    ),
    "reads-see-own-write": ModelFault(
        "A transaction's reads are compared with its own writes.",
        replace(CLAUSES, earlier=lambda writer, reader: writer <= reader),
    ),
    "reads-see-later-writes": ModelFault(
        "A transaction's reads are compared with writes of later transactions.",
        replace(CLAUSES, earlier=lambda writer, reader: writer != reader),
    ),
    "oldest-write-is-read": ModelFault(
        "Of the earlier writes of a key the oldest is read, not the newest.",
        replace(CLAUSES, latest=0),
    ),
    "null-equals-nothing": ModelFault(
        "A NULL that is read never agrees with what is stored.",
        replace(CLAUSES, differs=lambda read, found: read is None or found is None or read != found),
    ),
    "read-writes-are-collected": ModelFault(
        "Garbage collection drops writes that a later transaction has still to be compared with.",
        replace(CLAUSES, unread=lambda written, last_read: True),
    ),
    "last-writes-are-collected": ModelFault(
        "Garbage collection drops the newest write of a key.",
        replace(CLAUSES, superseded=lambda written, last: written <= last),
    ),
    "absent-is-not-checked": ModelFault(
        "A read that found no row agrees with whatever is stored.",
        replace(
            CLAUSES, differs=lambda read, found: read is not None and found is not None and read != found
        ),
    ),
}
"""By name."""
