"""Mistakes in the model of read committed (document 002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from protocols.read_committed.machine import RULES, Rules
from protocols.read_committed.state import Contents, Row, Transaction


def _with_uncommitted(committed: Contents, others: Sequence[Transaction]) -> Contents:
    rows: dict[str, dict[str, Row]] = {table: dict(each) for table, each in committed.items()}
    for other in others:
        for table, changes in other.changes.items():
            rows.setdefault(table, {}).update(changes)
    return rows


READ_COMMITTED_FAULTS: Mapping[str, Rules] = {
    "dirty-statement-read": replace(RULES, seen=_with_uncommitted),
    "no-locks": replace(RULES, locks=False),
    "stale-upstream": replace(RULES, together=False),
}
"""By name the rules with the mistake."""
