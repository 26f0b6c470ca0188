"""Statements that change base tables, and the expressions in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from workload.query import Expr
from workload.types import Row


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT of whole rows, in the table's column order."""

    table: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; the value may read the row's old columns (relation = the table's name)."""

    column: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE of the rows for which `where` is true; every row when it is None."""

    table: str
    assignments: tuple[Assignment, ...]
    where: Expr | None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE of the rows for which `where` is true; every row when it is None."""

    table: str
    where: Expr | None


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE of literal rows, matched on `keys` null-safely.

    A matched row is deleted where `delete_when` (over the target row) is true, else its other columns
    are set from the source; a source row without a match is inserted if `insert_unmatched`. The source
    rows have distinct keys, so that at most one of them matches a target row.
    """

    table: str
    keys: tuple[str, ...]
    rows: tuple[Row, ...]
    delete_when: Expr | None
    insert_unmatched: bool


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE TABLE: all rows of the table go."""

    table: str


@dataclass(frozen=True, slots=True)
class Overwrite:
    """INSERT OVERWRITE: all old rows go, the new ones have new identities."""

    table: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Restore:
    """RESTORE to the contents (and row identities) as of logical time `to`, an earlier commit's."""

    table: str
    to: int


@dataclass(frozen=True, slots=True)
class Optimize:
    """OPTIMIZE: files are rewritten, no row changes."""

    table: str


@dataclass(frozen=True, slots=True)
class Replace:
    """CREATE OR REPLACE TABLE with the same columns: another table under the old name."""

    table: str
    rows: tuple[Row, ...]


Dml = Insert | Update | Delete | Merge | Truncate | Overwrite | Restore | Optimize | Replace

WithRows = Insert | Merge | Overwrite | Replace
"""The statements that hold literal rows."""


def statement_expressions(statement: Dml) -> tuple[Expr, ...]:
    """Returns the top expressions of a statement: assigned values first, then its condition."""
    match statement:
        case Update(_, assignments, where):
            return (*(a.value for a in assignments), *_present(where))
        case Delete(_, condition) | Merge(_, _, _, condition, _):
            return _present(condition)
        case Insert() | Truncate() | Overwrite() | Restore() | Optimize() | Replace():
            return ()
        case _:
            assert_never(statement)


def with_expressions(statement: Dml, expressions: Iterable[Expr]) -> Dml:
    """Returns the statement with other expressions, in the order of `statement_expressions` and as many."""
    parts = iter(expressions)
    match statement:
        case Update(table, assignments, _):
            values = tuple(Assignment(a.column, next(parts)) for a in assignments)
            return Update(table, values, next(parts, None))
        case Delete(table, _):
            return Delete(table, next(parts, None))
        case Merge():
            return replace(statement, delete_when=next(parts, None))
        case Insert() | Truncate() | Overwrite() | Restore() | Optimize() | Replace():
            return statement
        case _:
            assert_never(statement)


def _present(condition: Expr | None) -> tuple[Expr, ...]:
    return () if condition is None else (condition,)
