"""Forms that people write, as the forms that the binder reads."""

from __future__ import annotations

from sqlglot import exp


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
