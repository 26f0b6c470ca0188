"""IN with a list that is written as rows: `x IN (SELECT c FROM VALUES (1), (2) AS v(c))`."""

from __future__ import annotations

from collections.abc import Mapping

from workload import query as ir
from workload.sql.functions import IN
from workload.writing.expression import Clause, Level, Written


def lists_of_rows(clause: Clause, where: ir.Expr | None) -> Mapping[ir.Expr, Written]:
    """Returns conditions of WHERE that are IN with constants, some written as IN with a query over VALUES.

    Only those that AND joins: elsewhere Spark's IN with a query is FALSE where SQL's is NULL.
    """
    written: dict[ir.Expr, Written] = {}
    for part in ir.conjuncts(where):
        match part:
            case ir.Call(function, (value, *listed)) if function == IN and clause.style.chance(15):
                if all(isinstance(each, ir.Literal) and each.value is not None for each in listed):
                    written[part] = _text(clause, value, listed), Level.PREDICATE
            case _:
                pass
    return written


def _text(clause: Clause, value: ir.Expr, listed: list[ir.Expr]) -> str:
    words, style = clause.style.words, clause.style
    if style.chance(50):
        rows = ", ".join(f"({clause.text(each)})" for each in listed)
        inner = f"{words('SELECT')} c {words('FROM VALUES')} {rows} {words('AS')} v(c)"
    else:
        union = words(" UNION ALL SELECT ")
        inner = f"{words('SELECT')} {union.join(clause.text(each) for each in listed)}"
    return f"{clause.operand(value, Level.COMPARISON)} {words('IN')} ({inner})"
