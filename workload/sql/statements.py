"""DML as SQL text: the statements that every engine runs, and those that Delta tables have besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.errors import WorkloadError
from workload.query import Expr
from workload.schema import Column, Table
from workload.sql.dialect import Dialect, column_name, column_type, literal, type_name
from workload.sql.render import render_expr
from workload.types import Row

GIVEN = "given"
"""The alias of a MERGE's literal rows."""


def create_table_text(
    table: Table, dialect: Dialect, verb: str = "CREATE TABLE", *, keyed: bool = False
) -> str:
    """Returns the statement that creates a base table. `keyed`: with the primary key that it promises."""
    key = ""
    if keyed and table.promises.keys:
        names = (column_name(name, dialect) for name in table.promises.keys[0])
        key = f", PRIMARY KEY ({', '.join(names)})"
    return f"{verb} {table.name} ({column_types(table, dialect)}{key})"


def column_types(table: Table, dialect: Dialect) -> str:
    """Returns the columns of a table with their types, as CREATE TABLE lists them."""
    return ", ".join(
        f"{column_name(column.name, dialect)} {column_type(column.type, dialect)}" for column in table.columns
    )


def no_rows(columns: Sequence[Column], dialect: Dialect) -> str:
    """Returns the query that has these columns and no rows: a SELECT of typed NULLs."""
    items = [f"CAST(NULL AS {type_name(c.type, dialect)}) AS {column_name(c.name, dialect)}" for c in columns]
    # Flink evaluates no condition without a FROM clause.
    source = " FROM (VALUES (0)) AS t(n)" if dialect is Dialect.FLINK else ""
    return f"SELECT {', '.join(items)}{source} WHERE FALSE"


def delta_texts(dml: Dml, table: Table, point: Callable[[str, int], str]) -> tuple[str, ...]:
    """Returns the statements that do the same in Spark's SQL on a Delta table; none where nothing is written.

    `point`: (table, logical time) -> what RESTORE goes back to, as `VERSION AS OF 3`.
    """
    name = table.name
    match dml:
        case Overwrite(_, rows):
            if rows:
                return (f"INSERT OVERWRITE {name} VALUES {rows_text(table, rows, Dialect.SPARK)}",)
            nulls = ", ".join(literal(None, column.type, Dialect.SPARK) for column in table.columns)
            return (f"INSERT OVERWRITE {name} SELECT {nulls} WHERE FALSE",)
        case Restore(_, to):
            return (f"RESTORE TABLE {name} TO {point(name, to)}",)
        case Optimize():
            return (f"OPTIMIZE {name}",)
        case Replace(_, rows):
            replaced = create_table_text(table, Dialect.SPARK, "CREATE OR REPLACE TABLE")
            return (replaced, *dml_texts(Insert(name, rows), table, Dialect.SPARK))
        case Insert() | Update() | Delete() | Merge() | Truncate():
            return dml_texts(dml, table, Dialect.SPARK)
        case _:
            assert_never(dml)


def dml_texts(dml: Dml, table: Table, dialect: Dialect) -> tuple[str, ...]:
    """Returns the statements that do the same in any of the dialects; none where nothing is written.

    Raises WorkloadError for a statement without a text that all engines know: RESTORE, OPTIMIZE, replace.
    """
    name = table.name
    match dml:
        case Insert(_, rows):
            return (_insert(table, rows, dialect),) if rows else ()
        case Update(_, assignments, where):
            sets = ", ".join(
                f"{column_name(a.column, dialect)} = {render_expr(a.value, dialect)}" for a in assignments
            )
            return (f"UPDATE {name} SET {sets}{_where(where, dialect)}",)
        case Delete(_, where):
            return (f"DELETE FROM {name}{_where(where, dialect)}",)
        case Merge():
            return _merge(dml, table, dialect)
        case Truncate():
            # MySQL commits before it truncates; SQLite has no such statement.
            deletes = dialect in (Dialect.SQLITE, Dialect.MYSQL)
            return (f"DELETE FROM {name}" if deletes else f"TRUNCATE TABLE {name}",)
        case Overwrite(_, rows):
            return (f"DELETE FROM {name}", *((_insert(table, rows, dialect),) if rows else ()))
        case Restore() | Optimize() | Replace():
            kind = type(dml).__name__.upper()
            raise WorkloadError(f"{kind} of {name}: no SQL for it that every engine knows; leave it out")
        case _:
            assert_never(dml)


def _merge(merge: Merge, table: Table, dialect: Dialect) -> tuple[str, ...]:
    if dialect in (Dialect.SQLITE, Dialect.MYSQL):
        raise WorkloadError(f"MERGE of {table.name} has no text in {dialect.value}; leave it out")
    names = [column_name(column.name, dialect) for column in table.columns]
    keys = [column_name(key, dialect) for key in merge.keys]
    on = " AND ".join(f"{table.name}.{key} IS NOT DISTINCT FROM {GIVEN}.{key}" for key in keys)
    clauses = []
    if merge.delete_when is not None:
        clauses.append(f"WHEN MATCHED AND {render_expr(merge.delete_when, dialect)} THEN DELETE")
    sets = ", ".join(f"{name} = {GIVEN}.{name}" for name in names if name not in keys)
    if sets:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {sets}")
    if merge.insert_unmatched:
        values = ", ".join(f"{GIVEN}.{name}" for name in names)
        clauses.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
    if not (merge.rows and clauses):
        return ()
    listed = f"(VALUES {rows_text(table, merge.rows, dialect)}) AS literals({', '.join(names)})"
    given = f"(SELECT * FROM {listed}) AS {GIVEN}"
    return (f"MERGE INTO {table.name} USING {given} ON {on} {' '.join(clauses)}",)


def _insert(table: Table, rows: tuple[Row, ...], dialect: Dialect) -> str:
    return f"INSERT INTO {table.name} VALUES {rows_text(table, rows, dialect)}"


def rows_text(table: Table, rows: tuple[Row, ...], dialect: Dialect) -> str:
    """Returns rows as VALUES lists them, each value with its column's type."""
    return ", ".join(
        f"({', '.join(literal(v, c.type, dialect) for v, c in zip(row, table.columns, strict=True))})"
        for row in rows
    )


def _where(where: Expr | None, dialect: Dialect) -> str:
    return "" if where is None else f" WHERE {render_expr(where, dialect)}"
