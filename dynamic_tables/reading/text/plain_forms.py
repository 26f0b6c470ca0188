"""Rewrites forms of SQL that the binder does not read into equal ones that it reads, before binding."""

from __future__ import annotations

from sqlglot import exp

CLAUSES = ("group", "distinct", "limit", "offset", "order", "qualify", "windows", "with_")


def write_having_for_exists(tree: exp.Expr) -> None:
    """Writes `EXISTS (SELECT .. FROM s WHERE .. HAVING COUNT(*) > 1)`, without groups, as a value of one row.

    Such a query has exactly one row, also over no rows, and HAVING keeps it or not: so EXISTS is whether
    HAVING holds. It is `coalesce((SELECT COUNT(*) > 1 FROM s WHERE ..), FALSE)`.
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


def write_plain_forms(tree: exp.Expr) -> None:
    """Gives the NULL of COUNT(NULL) a type, on which its value does not depend, and IN (VALUES ..) a SELECT.

    LIMIT 0 gets an order: whatever it is, no row is kept.
    """
    for query in tree.find_all(exp.Query):
        limit = query.args.get("limit")
        none = isinstance(limit, exp.Limit) and limit.expression == exp.Literal.number(0)
        if none and query.args.get("order") is None:
            query.set(
                "order", exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1), nulls_first=True)])
            )
    for count in tree.find_all(exp.Count):
        counted = count.this.expressions if isinstance(count.this, exp.Distinct) else [count.this]
        for value in counted:
            if isinstance(value, exp.Null):
                value.replace(exp.cast(exp.Null(), "INT"))
    for node in tree.find_all(exp.In):
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
            rows = node.expressions[0].copy()
            node.set("expressions", None)
            node.set("query", exp.Subquery(this=exp.select("*").from_(rows)))
