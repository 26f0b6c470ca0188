"""What a statement sees: what was committed when it began, and its own transaction's writes."""

from __future__ import annotations

from typing import TypeAlias

from protocols.read_committed.recording import TableView
from protocols.read_committed.rows import Evaluator
from protocols.read_committed.script import Statement
from protocols.read_committed.state import Contents, Row, Transaction

Known: TypeAlias = dict[str, dict[str, Row]]
"""Rows by table and id."""


def visible(transaction: Transaction, seen: Contents, table: str) -> dict[str, Row]:
    """Returns the rows of a table that a statement sees: committed ones and its transaction's own."""
    rows = {**seen.get(table, {}), **transaction.changes.get(table, {})}
    return {identity: row for identity, row in rows.items() if not row.dead}


def views_of(
    evaluator: Evaluator, transaction: Transaction, statement: Statement, seen: Contents, tables: Known
) -> list[TableView]:
    """Returns what a statement sees of each table, for the history."""
    views: list[TableView] = []
    for name, rows in tables.items():
        condition = evaluator.condition(statement.text, name)
        values = {identity: row.values for identity, row in rows.items()}
        matched = evaluator.matching(condition, name, values)
        everything = {**seen.get(name, {}), **transaction.changes.get(name, {})}
        dead = tuple(row.version for row in everything.values() if row.dead)
        names = tuple(row.version for row in rows.values())
        chosen = tuple(rows[identity].version for identity in matched)
        views.append(TableView(name, condition, (*names, *dead), chosen))
    return views
