"""The elements of an array beside the rows of a relation, in each dialect."""

from __future__ import annotations

from workload import query as ir
from workload.errors import WorkloadError
from workload.sql.dialect import Dialect


def exploded_text(node: ir.Exploded, relation: str, array: str, dialect: Dialect) -> str:
    """The text of a FROM item; `relation` and `array` are the texts of its parts.

    Raises WorkloadError: for PostgreSQL, whose names the nested types do not have here.
    """
    join, condition = ("LEFT JOIN", " ON TRUE") if node.outer else ("CROSS JOIN", "")
    match dialect:
        case Dialect.SPARK:
            function, names = ("posexplode", "pos, col") if node.position else ("explode", "col")
            return f"{relation} {join} LATERAL {function}({array}) AS {node.alias}({names}){condition}"
        case Dialect.DUCKDB:
            position = f", CAST(generate_subscripts({array}, 1) - 1 AS INTEGER) AS pos"
            inner = f"SELECT unnest({array}) AS col{position if node.position else ''}"
            return f"{relation} {join} LATERAL ({inner}) AS {node.alias}{condition}"
        case _:
            raise WorkloadError(f"no arrays are exploded in the dialect {dialect.value}")
