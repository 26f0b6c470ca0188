"""Texts of Spark's SQL, as sqlglot reads them, in DuckDB's SQL: a second opinion on what they mean.

sqlglot translates the words. What differs in meaning, and is known, is added here; where a difference
remains, the campaign says that two engines differ, and blames neither.
"""

from __future__ import annotations

from sqlglot import exp


def duckdb_text(tree: exp.Expr) -> str:
    """The text of a query or an expression for DuckDB."""
    translated = tree.copy()
    for select in translated.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            # In Spark the set of no keys has no row over no rows.
            some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
            select.having(some, copy=False)
    for counted in list(translated.find_all(exp.CountIf)):
        # DuckDB's COUNT_IF of nothing but NULL is NULL, and Spark's is 0.
        counted.replace(exp.Count(this=exp.Case().when(counted.this.copy(), exp.Literal.number(1))))
    return translated.sql("duckdb", comments=False)
