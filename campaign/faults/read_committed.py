"""Planted mistakes in the model of `protocols.read_committed`, for `dvs protocol read-committed --fault`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from campaign.faults.fault import ModelFault
from protocols.read_committed.machine import RULES, Rules
from protocols.read_committed.state import Contents, Row, Session, Transaction


def _with_uncommitted(committed: Contents, others: Sequence[Transaction]) -> Contents:
    rows: dict[str, dict[str, Row]] = {table: dict(each) for table, each in committed.items()}
    for other in others:
        for table, changes in other.changes.items():
            rows.setdefault(table, {}).update(changes)
    return rows


def _rolled_back(session: Session, sessions: Iterable[Session]) -> Sequence[tuple[Transaction, bool]]:
    return [(transaction, False) for transaction in reversed(session.open)]


def _everyones(session: Session, sessions: Iterable[Session]) -> Sequence[tuple[Transaction, bool]]:
    idle = [each for each in sessions if each.waiting is None]
    return [(transaction, True) for each in idle for transaction in reversed(each.open)]


READ_COMMITTED_FAULTS: Mapping[str, ModelFault[Rules]] = {
    "dirty-statement-read": ModelFault(
        "A statement sees what other transactions have not committed.", replace(RULES, seen=_with_uncommitted)
    ),
    "no-locks": ModelFault("Writers of one partition do not wait.", replace(RULES, locks=False)),
    "stale-upstream": ModelFault(
        "A refresh reads tables at different times.", replace(RULES, together=False)
    ),
    "ddl-leaves-open": ModelFault(
        "DDL leaves the transaction of its session open.",
        replace(RULES, ended_by_ddl=lambda session, sessions: ()),
    ),
    "ddl-rolls-back": ModelFault(
        "DDL rolls back the transaction of its session.", replace(RULES, ended_by_ddl=_rolled_back)
    ),
    "ddl-commits-others": ModelFault(
        "DDL commits the transactions of all idle sessions.", replace(RULES, ended_by_ddl=_everyones)
    ),
}
"""By name."""
