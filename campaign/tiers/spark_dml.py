"""DML of the workload as Spark's SQL on Delta tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.query import Expr
from workload.schema import Table
from workload.sql import Dialect, literal, render_expr, type_name
from workload.types import Row

SOURCE = "given"
"""The alias of a MERGE's literal rows."""

VersionAt = Callable[[str, int], int]
"""(table, logical time) -> the table's newest version then."""


def statements(dml: Dml, table: Table, version_at: VersionAt) -> tuple[str, ...]:
    """The statements that do the same; none where nothing is written."""
    name = table.name
    match dml:
        case Insert(_, rows):
            return (f"INSERT INTO {name} {_values(table, rows)}",) if rows else ()
        case Update(_, assignments, where):
            sets = ", ".join(f"{a.column} = {_text(a.value)}" for a in assignments)
            return (f"UPDATE {name} SET {sets}{_where(where)}",)
        case Delete(_, where):
            return (f"DELETE FROM {name}{_where(where)}",)
        case Merge():
            return _merge(dml, table)
        case Truncate():
            return (f"TRUNCATE TABLE {name}",)
        case Overwrite(_, rows):
            return (f"INSERT OVERWRITE {name} {_values(table, rows) if rows else _no_rows(table)}",)
        case Restore(_, to):
            return (f"RESTORE TABLE {name} TO VERSION AS OF {version_at(name, to)}",)
        case Optimize():
            return (f"OPTIMIZE {name}",)
        case Replace(_, rows):
            columns = ", ".join(f"{c.name} {type_name(c.type, Dialect.SPARK)}" for c in table.columns)
            replaced = f"CREATE OR REPLACE TABLE {name} ({columns})"
            return (replaced, *statements(Insert(name, rows), table, version_at))
        case _:
            assert_never(dml)


def _merge(merge: Merge, table: Table) -> tuple[str, ...]:
    names = [column.name for column in table.columns]
    on = " AND ".join(f"{table.name}.{key} <=> {SOURCE}.{key}" for key in merge.keys)
    clauses = []
    if merge.delete_when is not None:
        clauses.append(f"WHEN MATCHED AND {_text(merge.delete_when)} THEN DELETE")
    sets = ", ".join(f"{name} = {SOURCE}.{name}" for name in names if name not in merge.keys)
    if sets:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {sets}")
    if merge.insert_unmatched:
        values = ", ".join(f"{SOURCE}.{name}" for name in names)
        clauses.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
    if not (merge.rows and clauses):
        return ()
    # MERGE takes no column aliases on its source.
    given = f"(SELECT * FROM {_values(table, merge.rows)} AS literals({', '.join(names)})) AS {SOURCE}"
    return (f"MERGE INTO {table.name} USING {given} ON {on} {' '.join(clauses)}",)


def _values(table: Table, rows: tuple[Row, ...]) -> str:
    def row_text(row: Row) -> str:
        values = (literal(v, c.type, Dialect.SPARK) for v, c in zip(row, table.columns, strict=True))
        return f"({', '.join(values)})"

    return "VALUES " + ", ".join(map(row_text, rows))


def _no_rows(table: Table) -> str:
    nulls = ", ".join(literal(None, column.type, Dialect.SPARK) for column in table.columns)
    return f"SELECT {nulls} WHERE FALSE"


def _text(expr: Expr) -> str:
    return render_expr(expr, Dialect.SPARK)


def _where(where: Expr | None) -> str:
    return "" if where is None else f" WHERE {_text(where)}"
