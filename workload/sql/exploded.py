"""The elements of an array beside the rows of a relation, in each dialect."""

from __future__ import annotations

from typing import assert_never

from workload import query as ir
from workload.errors import WorkloadError
from workload.sql.dialect import Dialect


def exploded_text(node: ir.Exploded, relation: str, array: str, dialect: Dialect) -> str:
    """The text of a FROM item; `relation` and `array` are the texts of its parts."""
    join, condition = ("LEFT JOIN", " ON TRUE") if node.outer else ("CROSS JOIN", "")
    match dialect:
        case Dialect.SPARK:
            function, names = ("posexplode", "pos, col") if node.position else ("explode", "col")
            return f"{relation} {join} LATERAL {function}({array}) AS {node.alias}({names}){condition}"
        case Dialect.DUCKDB:
            place = f", CAST(GENERATE_SUBSCRIPTS({array}, 1) - 1 AS INTEGER) AS pos"
            inner = f"SELECT unnest({array}) AS col{place if node.position else ''}"
            return f"{relation} {join} LATERAL ({inner}) AS {node.alias}{condition}"
        case Dialect.POSTGRES:
            position = ", CAST(u.n - 1 AS INTEGER) AS pos" if node.position else ""
            inner = f"SELECT u.col{position} FROM unnest({array}) WITH ORDINALITY AS u(col, n)"
            return f"{relation} {join} LATERAL ({inner}) AS {node.alias}{condition}"
        case Dialect.SQLITE | Dialect.MYSQL:
            raise WorkloadError(f"explode has no text in {dialect.value}")
        case _:
            assert_never(dialect)
