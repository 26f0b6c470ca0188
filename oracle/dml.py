"""DML as functions: each statement becomes a SELECT that yields the table's new contents.

An engine changes tables in place. Here a statement maps contents to contents, by SELECT alone, so that the
two sides of a comparison cannot share a mistake.
"""

from __future__ import annotations

from typing import assert_never

from workload.dml import Delete, Insert, Merge, Overwrite, Replace, Truncate, Update
from workload.query import Expr
from workload.schema import Table
from workload.sql import Dialect, render_expr

Rewriting = Insert | Update | Delete | Merge | Truncate | Overwrite | Replace
"""The statements that make new contents."""

SOURCE = '"$source"'
"""The alias of a MERGE's source rows. No name in a scenario contains `$`."""

MATCHED = '"$source"."$matched"'
"""TRUE in a MERGE where the target row has a source row, else NULL (by the LEFT JOIN)."""


def contents_after(statement: Rewriting, table: Table, before: str, literals: str) -> str:
    """Returns the SELECT for the contents of `table` after the statement.

    `before` and `literals` are FROM items with the table's columns: the contents before, and the statement's
    literal rows. RESTORE and OPTIMIZE compute nothing; `oracle.chain` handles them.
    """
    match statement:
        case Insert():
            return f"{_all(table, before)} UNION ALL {_all(table, literals)}"
        case Update():
            return _update(statement, table, before)
        case Delete(_, where):
            # Only TRUE deletes: where the condition is NULL, the row stays.
            condition = "FALSE" if where is None else f"{_text(where)} IS NOT TRUE"
            return f"{_all(table, before)} WHERE {condition}"
        case Merge():
            return _merge(statement, table, before, literals)
        case Truncate():
            return f"{_all(table, before)} WHERE FALSE"
        case Overwrite() | Replace():
            return _all(table, literals)
        case _:
            assert_never(statement)


def _update(update: Update, table: Table, before: str) -> str:
    values = {assignment.column: _text(assignment.value) for assignment in update.assignments}
    items = []
    for column in table.columns:
        old = f'{table.name}."{column.name}"'
        value = values.get(column.name, old)
        if update.where is not None and value != old:
            # CASE, so that the new value is not computed, and cannot fail, in rows that stay as they are.
            value = f"CASE WHEN {_text(update.where)} IS TRUE THEN {value} ELSE {old} END"
        items.append(f'{value} AS "{column.name}"')
    return f"SELECT {', '.join(items)} FROM {before} AS {table.name}"


def _merge(merge: Merge, table: Table, before: str, literals: str) -> str:
    """Returns target rows left-joined with the source rows, then the source rows without a match."""
    # IS NOT DISTINCT FROM: a NULL key of a MERGE matches a NULL key.
    keys = " AND ".join(f'{table.name}."{key}" IS NOT DISTINCT FROM {SOURCE}."{key}"' for key in merge.keys)
    items = []
    for column in table.columns:
        old, new = f'{table.name}."{column.name}"', f'{SOURCE}."{column.name}"'
        value = old if column.name in merge.keys else f"CASE WHEN {MATCHED} THEN {new} ELSE {old} END"
        items.append(f'{value} AS "{column.name}"')
    marked = f'(SELECT *, TRUE AS "$matched" FROM {literals}) AS {SOURCE}'
    text = f"SELECT {', '.join(items)} FROM {before} AS {table.name} LEFT JOIN {marked} ON {keys}"
    if merge.delete_when is not None:
        text += f" WHERE (CASE WHEN {MATCHED} THEN {_text(merge.delete_when)} END) IS NOT TRUE"
    if merge.insert_unmatched:
        columns = ", ".join(f'{SOURCE}."{column.name}"' for column in table.columns)
        unmatched = f"{literals} AS {SOURCE} ANTI JOIN {before} AS {table.name} ON {keys}"
        text += f" UNION ALL SELECT {columns} FROM {unmatched}"
    return text


def _all(table: Table, relation: str) -> str:
    # Without the names of the columns, which are those of the table: half of such a text is its names, and
    # it takes longer to be parsed than to be run.
    return f"FROM {relation} AS {table.name}"


def _text(expr: Expr) -> str:
    return f"({render_expr(expr, Dialect.DUCKDB)})"
