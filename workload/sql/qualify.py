"""QUALIFY for a dialect that has none, and over groups for Spark, which finds only the outputs there.

OSS Spark 4.2 refuses `SELECT k, SUM(a) AS x FROM t GROUP BY k QUALIFY MAX(SUM(a)) OVER (PARTITION BY k) = 3`,
and takes `QUALIFY MAX(x) OVER (PARTITION BY k) = 3`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workload import query as ir
from workload.types import BOOLEAN


def qualified_outside(select: ir.Select) -> ir.Select:
    """Returns a block with the same rows whose QUALIFY is the WHERE of a block around it.

    A block without QUALIFY is returned as it is.
    """
    if select.qualify is None:
        return select
    names, relation, kept = ir.output_names(select), "g", "kept"
    while kept in names:
        kept += "_"
    tested = ir.Item(select.qualify, kept)
    inner = replace(select, items=(*select.items, tested), qualify=None, distinct=False)
    shown = (ir.Item(ir.ColumnRef(relation, item.name, item.expr.type), item.name) for item in select.items)
    return ir.Select(
        items=tuple(shown),
        source=ir.Derived(inner, relation),
        where=ir.ColumnRef(relation, kept, BOOLEAN),
        distinct=select.distinct,
    )


def reads_only(expr: ir.Expr, outputs: Collection[ir.Expr]) -> bool:
    """Tells whether an expression is made of these outputs and of constants alone."""
    if expr in outputs:
        return True
    if isinstance(expr, ir.ColumnRef | ir.Aggregate | ir.Grouping):
        return False
    return all(reads_only(part, outputs) for part in ir.children(expr) if isinstance(part, ir.Expr))
