"""Rewrites EXISTS over an aggregate without GROUP BY as the condition of its HAVING.

Such a query has exactly one row, also over no rows, and HAVING keeps it or not: so EXISTS is whether HAVING
holds, which a scalar subquery can compute.
"""

from __future__ import annotations

from sqlglot import exp

CLAUSES = ("group", "distinct", "limit", "offset", "order", "qualify", "windows", "with_")


def write_having_for_exists(tree: exp.Expr) -> None:
    """Writes `EXISTS (SELECT .. FROM s WHERE .. HAVING COUNT(*) > 1)`, without groups, as a value of one row.

    It is `coalesce((SELECT COUNT(*) > 1 FROM s WHERE ..), FALSE)`.
    """
    for node in list(tree.find_all(exp.Exists)):
        query = node.this
        having = query.args.get("having") if isinstance(query, exp.Select) else None
        if having is None or any(query.args.get(name) for name in CLAUSES):
            continue
        outputs = {item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias)}
        names_output = any(
            not each.table and each.name.lower() in outputs for each in having.find_all(exp.Column)
        )
        if any(item.find(exp.Query) for item in query.expressions):
            # The tables that it reads must stay among the sources.
            continue
        if names_output or having.find(exp.AggFunc) is None or having.find(exp.Query, exp.Window):
            continue
        query.set("having", None)
        query.set("expressions", [having.this])
        value = exp.Subquery(this=query)
        node.replace(exp.Coalesce(this=value, expressions=[exp.false()]))
