"""DML of the workload as Spark's SQL on Delta tables."""

from __future__ import annotations

from collections.abc import Callable

from workload.dml import Dml, Insert, Optimize, Overwrite, Replace, Restore
from workload.schema import Table
from workload.sql import Dialect, literal, type_name
from workload.sql.statements import dml_texts

VersionAt = Callable[[str, int], int]
"""(table, logical time) -> the table's newest version then."""


def statements(dml: Dml, table: Table, version_at: VersionAt) -> tuple[str, ...]:
    """The statements that do the same; none where nothing is written. Delta has some that others lack."""
    name = table.name
    match dml:
        case Overwrite(_, rows):
            (inserted,) = dml_texts(Insert(name, rows), table, Dialect.SPARK) or (
                f"INSERT INTO {name} {_no_rows(table)}",
            )
            return (inserted.replace("INSERT INTO", "INSERT OVERWRITE", 1),)
        case Restore(_, to):
            return (f"RESTORE TABLE {name} TO VERSION AS OF {version_at(name, to)}",)
        case Optimize():
            return (f"OPTIMIZE {name}",)
        case Replace(_, rows):
            columns = ", ".join(f"{c.name} {type_name(c.type, Dialect.SPARK)}" for c in table.columns)
            replaced = f"CREATE OR REPLACE TABLE {name} ({columns})"
            return (replaced, *statements(Insert(name, rows), table, version_at))
        case _:
            return dml_texts(dml, table, Dialect.SPARK)


def _no_rows(table: Table) -> str:
    nulls = ", ".join(literal(None, column.type, Dialect.SPARK) for column in table.columns)
    return f"SELECT {nulls} WHERE FALSE"
