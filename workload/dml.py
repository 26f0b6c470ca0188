"""Statements that change base tables."""

from __future__ import annotations

from dataclasses import dataclass

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
    """TRUNCATE TABLE."""

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
