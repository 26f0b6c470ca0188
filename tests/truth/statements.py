"""What a DML statement means on plain rows; row identities are not modelled, contents are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from tests.truth.bag_evaluator import Scoped, holds, row_value
from tests.truth.values import canonical, fit
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.schema import Table
from workload.types import Row

Restored = Callable[[int], Sequence[Row]]
"""The table's contents after the commit of that logical time."""


def apply_statement(statement: Dml, table: Table, rows: Sequence[Row], restore: Restored) -> tuple[Row, ...]:
    """The contents of the table after the statement."""
    match statement:
        case Insert(_, new):
            return (*rows, *new)
        case Update():
            return tuple(_updated(statement, table, row) for row in rows)
        case Delete(_, where):
            return tuple(row for row in rows if not holds(where, scoped(table, row)))
        case Merge():
            return _merged(statement, table, rows)
        case Truncate():
            return ()
        case Overwrite(_, new) | Replace(_, new):
            return new
        case Restore(_, to):
            return tuple(restore(to))
        case Optimize():
            return tuple(rows)
        case _:
            assert_never(statement)


def scoped(table: Table, row: Row) -> Scoped:
    """The row under the table's own name, as conditions and assignments read it."""
    return {(table.name, column.name): value for column, value in zip(table.columns, row, strict=True)}


def _updated(update: Update, table: Table, row: Row) -> Row:
    """All assignments read the old row."""
    old = scoped(table, row)
    if not holds(update.where, old):
        return row
    new = {a.column: row_value(a.value, old) for a in update.assignments}
    return tuple(
        fit(new[column.name], column.type) if column.name in new else value
        for column, value in zip(table.columns, row, strict=True)
    )


def _merged(merge: Merge, table: Table, rows: Sequence[Row]) -> tuple[Row, ...]:
    positions = [table.position(key) for key in merge.keys]

    def key(row: Row) -> Row:
        return tuple(canonical(row[i]) for i in positions)

    source = {key(row): row for row in merge.rows}
    if len(source) != len(merge.rows):
        raise ValueError("MERGE: source rows share a key")
    result: list[Row] = []
    for row in rows:
        new = source.get(key(row))
        if new is None:
            result.append(row)
        elif merge.delete_when is None or not holds(merge.delete_when, scoped(table, row)):
            # The key columns keep the target's values: equal, but perhaps another zero.
            result.append(tuple(row[i] if i in positions else value for i, value in enumerate(new)))
    if merge.insert_unmatched:
        present = {key(row) for row in rows}
        result += [row for row in merge.rows if key(row) not in present]
    return tuple(result)
