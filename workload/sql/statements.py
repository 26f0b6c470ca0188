"""DML as text that Spark, DuckDB and PostgreSQL all run: what every engine can be given."""

from __future__ import annotations

from typing import assert_never

from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.errors import WorkloadError
from workload.query import Expr
from workload.schema import Table
from workload.sql.dialect import Dialect, literal, type_name
from workload.sql.render import render_expr
from workload.types import Row

GIVEN = "given"
"""The alias of a MERGE's literal rows."""


def create_table_text(table: Table, dialect: Dialect) -> str:
    """The CREATE TABLE statement of a base table."""
    columns = ", ".join(f"{column.name} {type_name(column.type, dialect)}" for column in table.columns)
    return f"CREATE TABLE {table.name} ({columns})"


def dml_texts(dml: Dml, table: Table, dialect: Dialect) -> tuple[str, ...]:
    """The statements that do the same; none where nothing is written.

    Raises WorkloadError for a statement that SQL has no common text for: RESTORE, OPTIMIZE, replace.
    """
    name = table.name
    match dml:
        case Insert(_, rows):
            return (_insert(table, rows, dialect),) if rows else ()
        case Update(_, assignments, where):
            sets = ", ".join(f"{a.column} = {render_expr(a.value, dialect)}" for a in assignments)
            return (f"UPDATE {name} SET {sets}{_where(where, dialect)}",)
        case Delete(_, where):
            return (f"DELETE FROM {name}{_where(where, dialect)}",)
        case Merge():
            return _merge(dml, table, dialect)
        case Truncate():
            return (f"TRUNCATE TABLE {name}",)
        case Overwrite(_, rows):
            return (f"DELETE FROM {name}", *((_insert(table, rows, dialect),) if rows else ()))
        case Restore() | Optimize() | Replace():
            kind = type(dml).__name__.upper()
            raise WorkloadError(f"{kind} of {name}: no SQL for it that every engine knows; leave it out")
        case _:
            assert_never(dml)


def _merge(merge: Merge, table: Table, dialect: Dialect) -> tuple[str, ...]:
    names = [column.name for column in table.columns]
    on = " AND ".join(f"{table.name}.{key} IS NOT DISTINCT FROM {GIVEN}.{key}" for key in merge.keys)
    clauses = []
    if merge.delete_when is not None:
        clauses.append(f"WHEN MATCHED AND {render_expr(merge.delete_when, dialect)} THEN DELETE")
    sets = ", ".join(f"{name} = {GIVEN}.{name}" for name in names if name not in merge.keys)
    if sets:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {sets}")
    if merge.insert_unmatched:
        values = ", ".join(f"{GIVEN}.{name}" for name in names)
        clauses.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
    if not (merge.rows and clauses):
        return ()
    listed = f"(VALUES {_rows(table, merge.rows, dialect)}) AS literals({', '.join(names)})"
    given = f"(SELECT * FROM {listed}) AS {GIVEN}"
    return (f"MERGE INTO {table.name} USING {given} ON {on} {' '.join(clauses)}",)


def _insert(table: Table, rows: tuple[Row, ...], dialect: Dialect) -> str:
    return f"INSERT INTO {table.name} VALUES {_rows(table, rows, dialect)}"


def _rows(table: Table, rows: tuple[Row, ...], dialect: Dialect) -> str:
    return ", ".join(
        f"({', '.join(literal(v, c.type, dialect) for v, c in zip(row, table.columns, strict=True))})"
        for row in rows
    )


def _where(where: Expr | None, dialect: Dialect) -> str:
    return "" if where is None else f" WHERE {render_expr(where, dialect)}"
